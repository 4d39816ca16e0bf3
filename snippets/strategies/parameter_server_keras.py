# /// script
# requires-python = ">=3.11"
# dependencies = ["tensorflow==2.21.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 5
# seconds = 60
# ///
"""Call `fit` under ParameterServerStrategy: Keras 3 fails, tf_keras trains."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket

import keras
import numpy as np
import tensorflow as tf
import tf_keras


# --8<-- [start:cluster]
class Cluster(contextlib.ExitStack):
    """Processes on this machine that find each other through TF_CONFIG.

    None of them outlives the `with` block.
    """

    def __init__(self, **jobs):
        super().__init__()
        sockets = {
            job: [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
            for job, count in jobs.items()
        }
        self.spec = {
            job: [f"127.0.0.1:{free.getsockname()[1]}" for free in group]
            for job, group in sockets.items()
        }
        # All were held until here, so no port was given twice.
        for free in [free for group in sockets.values() for free in group]:
            free.close()

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
        # The kernel ends this process after a minute, even if the parent is gone.
        signal.alarm(60)
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

    def hear(self, task, seconds=30):
        """Return what the task says next, and what kind of word that is.

        The kinds are "said", "done", "failed", "died" and "silent".
        """
        try:
            return task.ear.recv() if task.ear.poll(seconds) else ("silent", None)
        except EOFError:
            return "died", None

    def result(self, task, seconds=30):
        """Return what `work` returned; raise what went wrong instead."""
        kind, value = self.hear(task, seconds)
        if kind != "done":
            raise RuntimeError(f"{task.name} {kind}: {value}")
        return value


# --8<-- [end:cluster]

# --8<-- [start:fit]
x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
y = np.sin(x.sum(1, keepdims=True))


def dataset(context=None):
    """Make the data set. Every worker does so for itself."""
    return (
        tf.data.Dataset.from_tensor_slices((x, y))
        .shuffle(256, seed=1)
        .repeat()
        .batch(16)
    )


def serve(say):
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    me = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        me.cluster_spec(), job_name=me.task_type, task_index=me.task_id, protocol="grpc"
    ).join()


def fit(say, library, data):
    """Run on the coordinator, with `keras` (Keras 3) or `tf_keras` (Keras 2)."""
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    with strategy.scope():
        layers = library.layers
        model = library.Sequential(
            [layers.InputLayer((8,)), layers.Dense(16, "tanh"), layers.Dense(1)]
        )
        model.compile(library.optimizers.SGD(0.1), "mse")
    return model.fit(data(), epochs=4, steps_per_epoch=16, verbose=0).history["loss"]


def run(library, data):
    with Cluster(chief=1, worker=2, ps=1) as cluster:
        for job, index in ("ps", 0), ("worker", 0), ("worker", 1):
            cluster.start(job, index, serve)
        return cluster.hear(cluster.start("chief", 0, fit, library, data))


# --8<-- [end:fit]

# --8<-- [start:keras3]
kind, text = run(keras, dataset)
print(f"Keras 3 {kind}: {text}")
# --8<-- [end:keras3]

# --8<-- [start:tf_keras]
done, losses = run(
    tf_keras, lambda: tf_keras.utils.experimental.DatasetCreator(dataset)
)
print(
    f"tf_keras {done}; the loss fell in {len(losses)} epochs:", losses[-1] < losses[0]
)
# --8<-- [end:tf_keras]

claims = {
    "keras3_fit_fails": kind == "failed",
    "keras3_fit_works": kind == "done",
    "tf_keras_fit_works": done == "done" and losses[-1] < losses[0],
}
errors = {"keras3_fit": text}
