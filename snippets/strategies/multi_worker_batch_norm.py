# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 180
# ///
"""Batch normalisation on two workers with different rows: equal weights, and averages of its own in each worker."""

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


# --8<-- [start:train]
BATCH, STEPS = 16, 40  # rows of one worker, steps
KEPT = "gamma", "moving_mean"


def train(say, synchronized):
    """Train on rows near 10 times the number of the worker; return what a copy of the model would hold."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    worker = strategy.cluster_resolver.task_id
    with strategy.scope():
        keras.utils.set_random_seed(0)
        layer = keras.layers.BatchNormalization(synchronized=synchronized)
        model = keras.Sequential([keras.Input((1,)), layer, keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    @tf.function
    def step(rows):
        def replica_step(rows):
            with tf.GradientTape() as tape:
                errors = (model(rows, training=True) - rows) ** 2
                loss = tf.nn.compute_average_loss(
                    errors[:, 0], global_batch_size=2 * BATCH
                )
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)

        strategy.run(replica_step, args=(rows,))

    rows = np.random.default_rng(worker).normal(10 * worker, 1, (STEPS, BATCH, 1))
    for batch in rows.astype("float32"):
        step(tf.constant(batch))
    kept = {name: float(getattr(layer, name).numpy()[0]) for name in KEPT}
    trained = [variable.numpy().ravel() for variable in model.trainable_variables]
    variance = float(layer.moving_variance.numpy()[0])
    return kept | {"trained": np.concatenate(trained), "moving_variance": variance}


found = {}
for synchronized in (False, True):
    with Cluster(worker=2) as cluster:
        tasks = [
            cluster.start("worker", index, train, synchronized) for index in range(2)
        ]
        found[synchronized] = [cluster.result(task) for task in tasks]
    for index, kept in enumerate(found[synchronized]):
        numbers = ", ".join(f"{name} {kept[name]:.3f}" for name in KEPT)
        print(f"synchronized={synchronized}, worker {index}: {numbers}")
# --8<-- [end:train]


def apart(name, synchronized):
    """Return how far the two workers' values are apart."""
    first, second = (kept[name] for kept in found[synchronized])
    return float(np.max(np.abs(first - second)))


claims = {
    "weights_are_equal": apart("trained", False) < 1e-5
    and apart("trained", True) < 1e-5,
    "gamma_has_moved": abs(found[False][0]["gamma"] - 1) > 1e-3,
    "each_worker_has_its_own_averages": apart("moving_mean", False) > 1,
    "synchronised_averages_are_equal": apart("moving_mean", True) < 1e-4
    and apart("moving_variance", True) < 1e-4,
}
