# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 60
# ///
"""Call `fit` in two worker processes: Keras 3 fails, tf_keras trains and equals one process."""

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
import tf_keras


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

# --8<-- [start:fit]
random = np.random.default_rng(0)
x = random.normal(size=(64, 8)).astype("float32")
y = np.sin(x @ random.normal(size=(8, 1))).astype("float32")


def fit(library):
    """`library` is `keras` (Keras 3) or `tf_keras` (Keras 2): the code is the same."""
    library.utils.set_random_seed(0)
    with tf.distribute.get_strategy().scope():
        model = library.Sequential(
            [
                library.layers.InputLayer((8,)),
                library.layers.Dense(16, "tanh"),
                library.layers.Dense(1),
            ]
        )
        model.compile(library.optimizers.SGD(0.1), "mse")
    history = model.fit(
        tf.data.Dataset.from_tensor_slices((x, y)).batch(16), epochs=2, verbose=0
    )
    return history.history["loss"], model.get_weights()


def worker(say, library):
    with tf.distribute.MultiWorkerMirroredStrategy().scope():
        return fit(library)


# --8<-- [end:fit]


# --8<-- [start:keras3]
with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, worker, keras) for index in range(2)]
    answers = [cluster.hear(task) for task in tasks]

lines = [str(answer).splitlines() for _, answer in answers]
texts = [f"{some[0]}\n{some[-1]}" for some in lines]  # without the values
for index, (kind, _) in enumerate(answers):
    print(f"worker {index} {kind}")
print(texts[0])
# --8<-- [end:keras3]

# --8<-- [start:tf_keras]
with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, worker, tf_keras) for index in range(2)]
    (losses, weights), (losses_1, weights_1) = [cluster.result(task) for task in tasks]
alone_losses, alone = fit(tf_keras)  # the same program in one process

print("two workers:", [round(loss, 4) for loss in losses])
print("one process:", [round(loss, 4) for loss in alone_losses])


def furthest(some, others):
    return max(float(np.max(np.abs(a - b))) for a, b in zip(some, others, strict=True))


print(f"weights: the workers differ by {furthest(weights, weights_1):.5f},")
print(f"    worker 0 and one process by {furthest(weights, alone):.5f}")
# --8<-- [end:tf_keras]

claims = {
    "keras3_fit_fails": all(
        kind == "failed" and "PerReplica" in text
        for (kind, _), text in zip(answers, texts, strict=True)
    ),
    "keras3_fit_works": any(kind == "done" for kind, _ in answers),
    "tf_keras_fit_works": losses[-1] < losses[0],
    "tf_keras_workers_hold_equal_weights": furthest(weights, weights_1) == 0.0,
    "tf_keras_equals_one_process": furthest(weights, alone) < 1e-5,
}
errors = {"keras3_fit": texts[0]}
