# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# alone = true
# ///
"""Transform elements one after the other and several at once: functions that wait, and functions that compute."""

import os
import threading
import time

import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:functions]
# WAIT and STEP are seconds: of one wait, and of a training step.
WAIT, STEP, BATCH, CALLS, ROWS = 0.006, 0.006, 8, 8, 96
lock, running, peak, spans = threading.Lock(), [0], [0], []


def wait(row):
    """Sleep as a call to another machine would, and note when and how many sleep at once."""
    with lock:
        running[0] += 1
        peak[0] = max(peak[0], running[0])
    start = time.perf_counter()
    time.sleep(WAIT)
    spans.append((int(row) % CALLS, start, time.perf_counter(), "map"))
    with lock:
        running[0] -= 1
    return row


def waiting(row, png):
    """Return the row after a wait; `stateful=False` says that calls may overlap or be left out."""
    return tf.ensure_shape(tf.numpy_function(wait, [row], tf.int64, stateful=False), [])


def stateful(row, png):
    """Return the row after a wait in a function that is said to have a state: the default of `numpy_function`."""
    return tf.ensure_shape(tf.numpy_function(wait, [row], tf.int64), [])


def computing(row, png):
    """Return the row after decoding and shrinking its image, which is work for a processor."""
    large = tf.io.decode_png(png, channels=3)
    small = tf.image.resize(large, (96, 96), "lanczos5", antialias=True)
    # This adds zero, and needs the image.
    return row + tf.cast(tf.reduce_mean(small) < 0, tf.int64)


# --8<-- [end:functions]

# --8<-- [start:options]
digits = load_digits().images[:ROWS, :, :, None] * 15
pngs = [
    tf.io.encode_png(tf.cast(tf.image.resize(image, (512, 512)), tf.uint8))
    for image in digits
]
source = tf.data.Dataset.zip(
    tf.data.Dataset.range(ROWS), tf.data.Dataset.from_tensor_slices(pngs)
)


def options(*, naive=False, threads=None):
    """Return options: without any rewriting, or with threads of the pipeline's own."""
    made = tf.data.Options()
    if naive:
        made.experimental_optimization.apply_default_optimizations = False
        made.autotune.enabled = False
    if threads:
        made.threading.private_threadpool_size = threads
    return made


def run(function, calls, chosen, step=0.0, **more):
    """Return seconds, those on a processor, rows, spans and the largest number of waits at once, for one pass."""
    spans.clear()
    peak[0] = 0
    data = source.map(function, num_parallel_calls=calls, **more).batch(BATCH)
    data = data.with_options(chosen)
    begin, cpu, rows = time.perf_counter(), time.process_time(), []
    for batch in data:
        start = time.perf_counter()
        time.sleep(step)  # the accelerator is at work
        spans.append((CALLS, start, time.perf_counter(), "train"))
        rows += batch.numpy().tolist()
    found = [(lane, a - begin, b - begin, group) for lane, a, b, group in spans]
    return time.perf_counter() - begin, time.process_time() - cpu, rows, found, peak[0]


def best(*arguments):
    """Return the fastest of three runs: other programs on the machine can only slow a run down."""
    return min((run(*arguments) for _ in range(3)), key=lambda result: result[0])


# --8<-- [end:options]

# --8<-- [start:compare]
ways = {
    "naive": (None, options(naive=True)),
    "8 calls": (CALLS, options(threads=16)),
    "AUTOTUNE": (tf.data.AUTOTUNE, options(threads=16)),
    "AUTOTUNE, shared pool": (tf.data.AUTOTUNE, options()),
}
results = {}
for function in (waiting, computing):
    # They take turns, so that a busy moment of the machine meets all.
    passes = [[run(function, *way) for way in ways.values()] for _ in range(5)]
    for how, found in zip(ways, zip(*passes, strict=True), strict=True):
        results[function.__name__, how] = min(found, key=lambda result: result[0])
for name in ("waiting", "computing"):
    seconds, processor, *_ = results[name, "naive"]
    print(f"{name}, naive: {seconds:.2f} s, {processor:.2f} s of processor time")
ratio = {
    key: results[key[0], "naive"][0] / result[0] for key, result in results.items()
}
for (name, how), value in ratio.items():
    print(f"{name:9} {how:21} {value:.1f}x")
may_use = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count()))
cores = len(may_use(0))  # those that this process may use
autotuned, on_shared = (
    results["waiting", how][4] for how in ("AUTOTUNE", "AUTOTUNE, shared pool")
)
print("AUTOTUNE, waits: more than 8 calls at once:", autotuned > CALLS)
print("on the shared pool: more calls at once than cores:", on_shared > cores)
# --8<-- [end:compare]

# --8<-- [start:pool]
threads = {}
for size in (2, 4, 16):
    passes = [run(waiting, CALLS, options(threads=size)) for _ in range(3)]
    threads[size] = max(one[4] for one in passes)
    print(
        f"num_parallel_calls={CALLS}, {size} threads: at most {threads[size]} at once"
    )
passes = [
    run(waiting, CALLS, options(threads=2), use_unbounded_threadpool=True)
    for _ in range(3)
]
unbounded = max(one[4] for one in passes)
print(f"the same, 2 threads, unbounded: at most {unbounded} at once")
shared = run(waiting, CALLS, options())
print(
    "the shared pool has no more threads than the process may use cores:",
    shared[4] <= cores,
)
# --8<-- [end:pool]


# --8<-- [start:defaults]
def made_ahead(chosen, seconds):
    """Take one element; return how many are made when there is a second one, or after so long."""
    spans.clear()
    iterator = iter(source.map(stateful).with_options(chosen))
    next(iterator)
    until = time.monotonic() + seconds
    while len(spans) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    return len(spans)


unwritten = best(waiting, None, options(threads=8))
said_stateful = run(stateful, None, options(threads=8))
naive_ahead = made_ahead(options(naive=True), seconds=0.5)
default_ahead = made_ahead(options(), seconds=20)
print("no num_parallel_calls, default options: several at once:", unwritten[4] > 1)
print("the same, function said to be stateful: at most", said_stateful[4], "at once")
print("elements made for one taken, naive:", naive_ahead)
print("elements made for one taken, default options: more than one:", default_ahead > 1)
# --8<-- [end:defaults]


def timeline(title, calls, chosen):
    """Return the figure of a pass with training steps."""
    _, _, _, drawn, _ = run(waiting, calls, chosen, STEP)
    return {
        "kind": "timeline",
        "title": title,
        "xlabel": "seconds",
        "lanes": [f"map, call {call}" for call in range(CALLS)] + ["train"],
        "spans": [
            {"lane": lane, "start": round(a, 4), "end": round(b, 4), "group": group}
            for lane, a, b, group in sorted(drawn)
        ],
    }


claims = {
    "parallel_waits_are_faster": ratio["waiting", "8 calls"] > 2,
    "autotune_is_faster": ratio["waiting", "AUTOTUNE"] > 1.5,
    "autotune_takes_the_threads": CALLS < autotuned <= 16,
    "autotune_takes_more_than_the_pool": on_shared > cores,
    # Seconds on a processor: a core gives one in each second, however busy it is.
    # To sleep and wake again takes some too, on some machines more than a millisecond.
    "computing_needs_the_processor": results["computing", "naive"][1]
    > 1.2 * results["waiting", "naive"][1],
    "computing_at_once_needs_as_much": results["computing", "8 calls"][1]
    > 0.6 * results["computing", "naive"][1],
    "waiting_needs_no_processor": results["waiting", "naive"][1]
    < 0.5 * results["waiting", "naive"][0],
    "order_is_kept": all(result[2] == list(range(ROWS)) for result in results.values()),
    "unbounded_threads_cap_nothing": unbounded == CALLS,
    "threads_cap_the_calls": threads[2] == 2 and threads[4] == 4,
    "more_threads_than_cores_help_waits": threads[16] == CALLS,
    "shared_pool_is_the_cores": shared[4] <= cores,
    "defaults_parallelise_a_stateless_map": unwritten[4] > 1,
    "defaults_leave_a_stateful_map_alone": said_stateful[4] == 1,
    "naive_makes_what_is_asked": naive_ahead == 1,
    "defaults_read_ahead": default_ahead > 1,
}
measures = {
    "wait_ms": WAIT * 1000,
    "step_ms": STEP * 1000,
    "waiting_x": ratio["waiting", "8 calls"],
    "waiting_autotune_x": ratio["waiting", "AUTOTUNE"],
    "shared_autotune_x": ratio["waiting", "AUTOTUNE, shared pool"],
    "computing_x": ratio["computing", "8 calls"],
    "computing_autotune_x": ratio["computing", "AUTOTUNE"],
    "default_options_x": results["waiting", "naive"][0] / unwritten[0],
}
figures = {
    "timeline": {
        "kind": "panels",
        "columns": 1,
        "panels": [
            timeline("One at a time", None, options(naive=True)),
            timeline("Eight calls at once", CALLS, options(threads=16)),
        ],
    }
}
