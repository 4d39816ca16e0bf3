# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# ///
"""Packs in a step of a Keras optimizer: MultiWorkerMirroredStrategy takes them when it is made."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys

import keras
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


# --8<-- [start:work]
LAYERS, WIDTH, RATE = 6, 128, 0.01
rows = np.random.default_rng(0).normal(size=(8, WIDTH)).astype("float32")


def gradients(model, mine):
    """Compute the gradients of some rows, as their part in a batch of all rows."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(mine) ** 2) / len(rows)
    return tape.gradient(loss, model.trainable_variables)


def build():
    keras.utils.set_random_seed(0)
    dense = [keras.layers.Dense(WIDTH) for _ in range(LAYERS)]
    model = keras.Sequential([keras.Input((WIDTH,)), *dense])
    optimizer = keras.optimizers.SGD(RATE)
    optimizer.build(model.trainable_variables)
    return model, optimizer


def work(say, bytes_per_pack):
    """Train one step in a worker; return its all-reduces, and the weights."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(
            bytes_per_pack=bytes_per_pack
        )
    )
    with strategy.scope():
        model, optimizer = build()

    @tf.function
    def step():
        def on_replica():
            me = tf.distribute.get_replica_context().replica_id_in_sync_group
            mine = tf.gather(tf.constant(rows), 4 * me + tf.range(4))
            optimizer.apply(gradients(model, mine), model.trainable_variables)

        strategy.run(on_replica)

    operations = step.get_concrete_function().graph.get_operations()
    step()
    reduced = sum(one.type == "CollectiveReduceV2" for one in operations)
    return reduced, model.get_weights()


# --8<-- [end:work]

# --8<-- [start:run]
all_reduces, weights = {}, {}
for name, size in {"without packs": 0, "in packs": 4 * WIDTH * WIDTH}.items():
    with Cluster(worker=2) as cluster:
        tasks = [cluster.start("worker", index, work, size) for index in range(2)]
        answers = [cluster.result(task) for task in tasks]
    (all_reduces[name],) = {count for count, _ in answers}
    weights[name] = [copy for _, copy in answers]
    print(f"all-reduces of the optimizer, {name}:", all_reduces[name])
# --8<-- [end:run]

model, optimizer = build()
optimizer.apply(gradients(model, rows), model.trainable_variables)
alone = model.get_weights()  # of one device on all rows
claims = {
    "without_packs_the_optimizer_reduces_once": all_reduces["without packs"] == 1,
    "the_optimizer_reduces_in_packs": all_reduces["in packs"] > 1,
    "every_worker_equals_one_device": all(
        np.allclose(one, two, atol=1e-5)
        for copies in weights.values()
        for copy in copies
        for one, two in zip(copy, alone, strict=True)
    ),
}
