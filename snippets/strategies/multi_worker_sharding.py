# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 60
# ///
"""Train two workers with the data set split between them, and again with auto-sharding off: every row counts twice."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys
from collections import Counter

import numpy as np
import tensorflow as tf


# --8<-- [start:cluster]
class Cluster(contextlib.ExitStack):
    """Processes on this machine that find each other through TF_CONFIG.

    None of them outlives the `with` block.
    """

    def __init__(self, **jobs):
        super().__init__()
        self.spec = {
            job: [f"127.0.0.1:{self.port()}" for _ in range(count)]
            for job, count in jobs.items()
        }

    def port(self):
        """Return a free port that no other program gets until the `with` ends."""
        holder = self.enter_context(socket.socket())
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        if sys.platform != "linux":  # elsewhere no task could bind it
            holder.close()
        return port

    def start(self, job, index, work, *args, config=None):
        """Fork a process that runs `work(say, *args)` as this task.

        The parent must not have run any operation.
        """
        task = {"type": job, "index": index}
        config = config or json.dumps({"cluster": self.spec, "task": task})
        fork = multiprocessing.get_context("fork")
        ear, mouth = fork.Pipe(duplex=False)
        args = (config, mouth.send, work, args)
        task = fork.Process(target=self.run, args=args, daemon=True)
        task.start()
        mouth.close()
        self.callback(task.join)  # the last callback runs first: kill, then join
        self.callback(task.kill)
        task.name, task.ear = f"{job} {index}", ear
        return task

    def run(self, config, send, work, args):
        # The kernel ends this process in time, even if the parent is gone.
        signal.alarm(600)
        os.environ["TF_CONFIG"] = config
        # Tasks on one machine cannot share its GPU.
        tf.config.set_visible_devices([], "GPU")
        try:
            send(("done", work(lambda value: send(("said", value)), *args)))
            # Others may still read from this task: it stays until the `with` ends.
            signal.pause()
        except BaseException as error:
            send(("failed", f"{type(error).__name__}: {error}"))
        os._exit(1)

    def hear(self, task, seconds=120):
        """Return what the task says next, and what kind of word that is.

        The kinds are "said", "done", "failed", "died" and "silent".
        """
        try:
            return task.ear.recv() if task.ear.poll(seconds) else ("silent", None)
        except EOFError:
            return "died", None

    def result(self, task, seconds=120):
        """Return what `work` returned; raise what went wrong instead."""
        kind, value = self.hear(task, seconds)
        if kind != "done":
            raise RuntimeError(f"{task.name} {kind}: {value}")
        return value


# --8<-- [end:cluster]

# --8<-- [start:train]
ROWS, BATCH, RATE = 64, 16, 0.1
x = np.random.default_rng(0).normal(size=(ROWS, 4)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [3.0], [0.5]], "float32")


def train(say, policy, shuffled=False):
    """One epoch of linear regression. Return the weights and the rows of each step."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.zeros((4, 1)))
    dataset = tf.data.Dataset.from_tensor_slices((x, y, np.arange(ROWS)))
    dataset = (dataset.shuffle(ROWS) if shuffled else dataset).batch(BATCH)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    dataset = strategy.experimental_distribute_dataset(dataset.with_options(options))

    @tf.function
    def step(batch):
        def replica_step(features, labels, _):
            with tf.GradientTape() as tape:
                errors = tf.reduce_sum((features @ weights - labels) ** 2, axis=-1)
                loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
            replica = tf.distribute.get_replica_context()
            gradient = replica.all_reduce("SUM", tape.gradient(loss, weights))
            weights.assign_sub(RATE * gradient)

        strategy.run(replica_step, args=batch)

    rows = []
    for batch in dataset:
        rows.append(
            [
                int(row)
                for part in strategy.experimental_local_results(batch[2])
                for row in part
            ]
        )
        step(batch)
    return weights.numpy(), rows


# --8<-- [end:train]


# --8<-- [start:compare]
def numpy_sgd(weights):
    for first in range(0, ROWS, BATCH):
        features, labels = x[first : first + BATCH], y[first : first + BATCH]
        weights = (
            weights - RATE * 2 * features.T @ (features @ weights - labels) / BATCH
        )
    return weights


expected, results = numpy_sgd(np.zeros((4, 1))), {}
for policy in (
    tf.data.experimental.AutoShardPolicy.AUTO,
    tf.data.experimental.AutoShardPolicy.OFF,
):
    with Cluster(worker=2) as cluster:
        tasks = [cluster.start("worker", index, train, policy) for index in range(2)]
        (weights, rows_0), (_, rows_1) = (cluster.result(task) for task in tasks)
    seen = Counter(row for step in rows_0 + rows_1 for row in step)
    results[policy.name] = {
        "steps": len(rows_0),
        "times": set(seen.values()),
        "rows": len(seen),
        "away": float(np.abs(weights - expected).max()),
        "same": rows_0 == rows_1,
    }
    print(policy.name, "rows of step 1, worker 0:", rows_0[0])
    print(policy.name, "rows of step 1, worker 1:", rows_1[0])
    print(
        policy.name,
        f"{len(rows_0)} steps, each row seen {max(seen.values())} time(s) in one epoch",
    )
    print(
        policy.name, f"weights are {results[policy.name]['away']:.4f} away from NumPy's"
    )

OFF = tf.data.experimental.AutoShardPolicy.OFF
with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, train, OFF, True) for index in range(2)]
    (_, own_0), (_, own_1) = (cluster.result(task) for task in tasks)
same = [set(mine) == set(theirs) for mine, theirs in zip(own_0, own_1, strict=True)]
print("OFF, each shuffles: steps with the same rows in both workers:", sum(same))
own = Counter(row for step in own_0 + own_1 for row in step)
print("OFF, each shuffles: each row twice in an epoch:", set(own.values()) == {2})
# --8<-- [end:compare]

auto, off = results["AUTO"], results["OFF"]
claims = {
    "auto_equals_numpy": auto["away"] < 1e-5,
    "auto_shows_every_row_once": auto["times"] == {1} and auto["rows"] == ROWS,
    "off_shows_every_row_twice": off["times"] == {2} and off["rows"] == ROWS,
    "off_gives_both_workers_the_same_rows": off["same"],
    "off_with_a_shuffle_gives_workers_other_rows": not any(same),
    "off_with_a_shuffle_shows_every_row_twice": set(own.values()) == {2}
    and len(own) == ROWS
    and len(own_0) == off["steps"],
    "off_doubles_the_steps": off["steps"] == 2 * auto["steps"],
    "off_equals_numpy": off["away"] < 1e-5,
}
measures = {
    "off_away": off["away"],
    "auto_steps": auto["steps"],
    "off_steps": off["steps"],
}
