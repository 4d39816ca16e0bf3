# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Bind a process to one core, then count how many calls of a map run at once, on both kinds of pools. Linux only."""

# --8<-- [start:bound]
import os
import threading
import time

import tensorflow as tf

core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {core})  # as taskset, Slurm and cpusets do
lock, running, peak = threading.Lock(), [0], [0]


def wait(n):
    """Sleep, and note how many sleep at once."""
    with lock:
        running[0] += 1
        peak[0] = max(peak[0], running[0])
    time.sleep(0.05)
    with lock:
        running[0] -= 1
    return n


def calls_at_once(threads=None):
    """Return how many of 8 calls ran at once, on the shared pool or on threads of the pipeline's own."""
    chosen, peak[0] = tf.data.Options(), 0
    if threads:
        chosen.threading.private_threadpool_size = threads
    data = tf.data.Dataset.range(48).map(
        lambda n: tf.numpy_function(wait, [n], tf.int64, stateful=False),
        num_parallel_calls=8,
    )
    list(data.with_options(chosen))
    return peak[0]


shared, own = calls_at_once(), calls_at_once(threads=8)
print("bound to one core, on the shared pool:", shared, "call at once")
print("with 8 threads of its own:", own, "calls at once")
# --8<-- [end:bound]

claims = {
    "shared_pool_follows_the_affinity": shared == 1,
    "threads_of_its_own_do_not": own == 8,
}
