# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 5
# seconds = 60
# ///
"""Give workers under ParameterServerStrategy their data: in scheduled steps, and in `fit`, which needs tf_keras."""

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

# --8<-- [start:data]
ROWS, BATCH, STEPS = 256, 16, 64
x = np.random.default_rng(0).normal(size=(ROWS, 8)).astype("float32")
y = x.sum(1, keepdims=True) / 2


def rows():
    """Read all rows, in the order of this worker, again and again."""
    data = tf.data.Dataset.from_tensor_slices((x, y, np.arange(ROWS)))
    return data.shuffle(ROWS).repeat().batch(BATCH)


def serve(say):
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    me = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        me.cluster_spec(), job_name=me.task_type, task_index=me.task_id, protocol="grpc"
    ).join()


def schedule(say, seed):
    """Run on the coordinator: schedule steps that take their batch from an iterator."""
    if seed is not None:
        keras.utils.set_random_seed(seed)
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((8,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)]
        )
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build(model.trainable_variables)
    batches = iter(coordinator.create_per_worker_dataset(rows))

    @tf.function
    def step(batches):
        features, labels, numbers = next(batches)

        def replica_step(features, labels):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(features, training=True) - labels) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(
                zip(gradients, model.trainable_variables, strict=True)
            )
            return loss

        loss = strategy.run(replica_step, args=(features, labels))
        worker = tf.distribute.coordinator.experimental_get_current_worker_index()
        return worker, loss, numbers

    results = []
    # More steps are scheduled if one worker was late: the other had done them all.
    while len({int(result.fetch()[0]) for result in results}) < 2:
        results += [coordinator.schedule(step, args=(batches,)) for _ in range(STEPS)]
        coordinator.join()
    return [result.fetch() for result in results]


# --8<-- [end:data]


# --8<-- [start:schedule]
def by_worker(seed):
    """Return the rows of each worker in their order, and the losses."""
    with Cluster(chief=1, worker=2, ps=1) as cluster:
        for job, index in ("ps", 0), ("worker", 0), ("worker", 1):
            cluster.start(job, index, serve)
        results = cluster.result(cluster.start("chief", 0, schedule, seed))
    seen = ([], [])
    for worker, _, numbers in results:
        seen[worker].extend(numbers)
    return seen, [loss for _, loss, _ in results]


(seen, losses), (seeded, _) = by_worker(None), by_worker(0)
fell = np.mean(losses[-8:]) < np.mean(losses[:8])
print("some rows came to both workers:", bool({*seen[0]} & {*seen[1]}))
print("both had the same first batch:", seen[0][:BATCH] == seen[1][:BATCH])
print("with set_random_seed:", seeded[0][:BATCH] == seeded[1][:BATCH])
print("the loss fell:", bool(fell))
# --8<-- [end:schedule]


# --8<-- [start:fit]
def pairs(context=None):
    return rows().map(lambda features, labels, number: (features, labels))


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
kind, text = run(keras, pairs)
print(f"Keras 3 {kind}: {text}")
# --8<-- [end:keras3]

# --8<-- [start:tf_keras]
done, losses = run(tf_keras, lambda: tf_keras.utils.experimental.DatasetCreator(pairs))
print(
    f"tf_keras {done}; the loss fell in {len(losses)} epochs:", losses[-1] < losses[0]
)
# --8<-- [end:tf_keras]

claims = {
    "workers_share_rows": bool({*seen[0]} & {*seen[1]}),
    "workers_split_the_rows": not {*seen[0]} & {*seen[1]},
    "per_worker_data_train": bool(fell),
    "each_worker_has_its_own_order": seen[0][:BATCH] != seen[1][:BATCH],
    "a_global_seed_gives_both_one_order": seeded[0][:BATCH] == seeded[1][:BATCH],
    "keras3_fit_fails": kind == "failed" and "create_per_worker_dataset" in text,
    "keras3_fit_works": kind == "done",
    "tf_keras_fit_works": done == "done" and losses[-1] < losses[0],
}
errors = {"keras3_fit": text}
