# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 180
# ///
"""Early stopping, a falling rate and averaged weights on two workers, beside one process."""

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
BATCH, STEPS, EPOCHS, RATE, PATIENCE = 16, 4, 12, 0.03, 2
random = np.random.default_rng(0)
x = random.normal(size=(2 * STEPS * BATCH, 12)).astype("float32")
y = (x[:, :1] + 0.8 * random.normal(size=(len(x), 1))).astype("float32")
half = STEPS * BATCH


def batches(strategy, features, labels):
    rows = tf.data.Dataset.from_tensor_slices((features, labels)).batch(BATCH)
    return strategy.experimental_distribute_dataset(rows)


def train(say, alone=False):
    """Return what each epoch decided, the best weights, and the averages at the end."""
    strategy = tf.distribute.get_strategy()
    if not alone:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(0)
    with strategy.scope():
        layers = [keras.layers.Dense(32, "tanh"), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((12,)), *layers])
        optimizer = keras.optimizers.SGD(RATE, use_ema=True, ema_momentum=0.9)
        optimizer.build(model.trainable_variables)
        validation = keras.metrics.Mean()

    @tf.function
    def step(batch):
        def on_replica(features, labels):
            with tf.GradientTape() as tape:
                # A loss function computes in the type of the outputs.
                outputs = tf.cast(model(features, training=True), "float32")
                losses = keras.losses.mean_squared_error(labels, outputs)
                loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)

        strategy.run(on_replica, args=batch)

    @tf.function
    def validate(batch):
        def on_replica(features, labels):
            outputs = tf.cast(model(features, training=False), "float32")
            losses = keras.losses.mean_squared_error(labels, outputs)
            validation.update_state(losses)

        strategy.run(on_replica, args=batch)

    rate, best, waited, decided = RATE, float("inf"), 0, []
    for _ in range(EPOCHS):
        for batch in batches(strategy, x[:half], y[:half]):
            step(batch)
        validation.reset_state()
        for batch in batches(strategy, x[half:], y[half:]):
            validate(batch)
        rows = float(validation.count.numpy())  # of all workers: each gets the same
        loss = float(validation.result())  # so is this
        # NaN is never below `best`, and the 0.0 of no rows always: the wrong weights
        # would be kept.
        if not (rows and np.isfinite(loss)):
            raise FloatingPointError(f"loss of validation: {loss}, of {rows:.0f} rows")
        decided.append((loss, rate))
        if loss < best:
            best, waited, kept = loss, 0, model.get_weights()
        else:
            waited += 1
            if waited == PATIENCE:
                break
            rate /= 2
            optimizer.learning_rate = rate
    with strategy.scope():
        optimizer.finalize_variable_values(model.trainable_variables)
    return decided, kept, model.get_weights(), step.experimental_get_tracing_count()


# --8<-- [end:train]


# --8<-- [start:run]
def alike(some, others):
    return len(some) == len(others) and all(
        np.allclose(a, b, atol=1e-4) for a, b in zip(some, others, strict=True)
    )


with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, train) for index in range(2)]
    results = [cluster.result(task, 600) for task in tasks]
with Cluster(worker=1) as cluster:
    one = cluster.result(cluster.start("worker", 0, train, True), 600)

decided, kept, averages, traces = results[0]
for epoch, (loss, rate) in enumerate(decided, 1):
    print(f"epoch {epoch}: loss of validation {loss:.4f}, rate {rate:g}")
print("both decide alike:", decided == results[1][0], "- traces of the step:", traces)
same = {
    "losses and rates": alike(decided, one[0]),
    "best weights": alike(kept, one[1]),
    "averages": alike(averages, one[2]),
}
for name, as_alone in same.items():
    print(f"{name} of one process:", as_alone)
# --8<-- [end:run]


# --8<-- [start:alone]
def leaves(say, index):
    """Worker 0 leaves the loop after two steps, as under `if chief`; the other goes on."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    replica_sum = tf.function(
        lambda: strategy.reduce(
            "SUM", strategy.run(tf.constant, args=(1.0,)), axis=None
        )
    )
    for done in range(4):
        if index == 0 and done == 2:
            break
        replica_sum()
        say(done + 1)


with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, leaves, index) for index in range(2)]
    first, second = (
        [cluster.hear(task, seconds)[0] for seconds in (600, 600, last)]
        for task, last in zip(tasks, (600, 5), strict=True)
    )
print("worker 0, in turn:", *first)
print("worker 1, in turn:", *second)
# --8<-- [end:alone]

losses, rates = zip(*decided, strict=True)
claims = {
    "workers_decide_alike": decided == results[1][0],
    "loop_stops_as_in_one_process": same["losses and rates"]
    and len(decided) < EPOCHS
    and min(losses) != losses[-1],
    "loop_keeps_the_best_weights_of_one_process": same["best weights"],
    "rate_falls_as_in_one_process": same["losses and rates"] and len({*rates}) > 1,
    "loop_averages_as_in_one_process": same["averages"] and not alike(averages, kept),
    "a_new_rate_needs_a_new_trace": traces > 1,
    "one_that_leaves_alone_ends_well": first == ["said", "said", "done"],
    "the_other_waits_for_good": second == ["said", "said", "silent"],
}
measures = {"stopped_after": len(decided), "epochs": EPOCHS}
