# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 240
# ///
"""`mixed_float16` on several workers: one gradient that is not finite in one worker, and all wait for ever."""

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
random = np.random.default_rng(0)
x = random.normal(size=(2, 8, 8)).astype("float32")  # 8 rows for each worker
y = np.sin(x.sum(axis=2, keepdims=True))


def train(say, index, policy, overflow, sum_first):
    """Run in every worker: three steps; in the second, worker 1 may see a large target."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((8,)), keras.layers.Dense(1, dtype=policy)]
        )
        optimizer = keras.optimizers.SGD(0.01)
        if policy == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        optimizer.build(model.trainable_variables)

    def on_replica(features, targets):
        with tf.GradientTape() as tape:
            output = tf.cast(model(features, training=True), tf.float32)
            loss = tf.reduce_sum((output - targets) ** 2) / 16
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        if sum_first:
            # An Embedding's gradient comes as slices of rows: make it whole.
            gradients = [tf.convert_to_tensor(g) for g in gradients]
            context = tf.distribute.get_replica_context()
            summed = context.all_reduce("SUM", gradients)
            gradients = [g / context.num_replicas_in_sync for g in summed]
        optimizer.apply(gradients, model.trainable_variables)

    step = tf.function(lambda *rows: strategy.run(on_replica, args=rows))
    for number in range(3):
        large = 1e4 if overflow and number == index == 1 else 0.0
        step(tf.constant(x[index]), tf.constant(y[index] + large))
        say(all(np.isfinite(weight).all() for weight in model.get_weights()))


# --8<-- [end:train]


# --8<-- [start:run]
cases = {
    "float16, ordinary rows": ("mixed_float16", False, False),
    "float16, an overflow in worker 1": ("mixed_float16", True, False),
    "the same, summed first": ("mixed_float16", True, True),
    "bfloat16, the same rows": ("mixed_bfloat16", True, False),
}
heard = {}
for name, case in cases.items():
    with Cluster(worker=2) as cluster:
        tasks = [cluster.start("worker", i, train, i, *case) for i in range(2)]
        heard[name] = [[], []]
        for words, task in zip(heard[name], tasks, strict=True):
            kind, finite = cluster.hear(task, 40)
            while kind == "said":  # after each step: are the weights finite?
                words.append("finite" if finite else "not finite")
                kind, finite = cluster.hear(task, 10)
            words.append(kind)
    for index, words in enumerate(heard[name]):
        print(f"{name:33} worker {index}: {', '.join(words)}")
# --8<-- [end:run]

whole = [["finite"] * 3 + ["done"]] * 2
ordinary, overflow, summed, bfloat16 = heard.values()
claims = {
    "ordinary_rows_train": ordinary == whole,
    "an_overflow_silences_all": all(words[-1] == "silent" for words in overflow),
    "summing_first_cures": summed == whole,
    "bfloat16_cures": bfloat16 == whole,
}
