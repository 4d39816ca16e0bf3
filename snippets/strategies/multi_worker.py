# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 60
# ///
"""Train one Keras 3 model in two worker processes, and compare every worker with NumPy on the same batches."""

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


# --8<-- [start:data]
ROWS, BATCH, EPOCHS, RATE = 64, 16, 2, 0.1
random = np.random.default_rng(0)
x = random.normal(size=(ROWS, 8)).astype("float32")
y = np.sin(x @ random.normal(size=(8, 1))).astype("float32")
# --8<-- [end:data]


# --8<-- [start:train]
def build():
    return keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)]
    )


def train(say, seed):
    """Run in every worker. TF_CONFIG says how many there are; this does not."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(seed)
    with strategy.scope():
        model = build()
        optimizer = keras.optimizers.SGD(RATE)
        optimizer.build(model.trainable_variables)
    start = model.get_weights()
    rows = np.arange(ROWS)
    dataset = tf.data.Dataset.from_tensor_slices((x, y, rows)).batch(BATCH)
    # That was the global batch. Now each worker reads its share of it.
    dataset = strategy.experimental_distribute_dataset(dataset)

    @tf.function
    def step(batch):
        def replica_step(features, labels, _):
            with tf.GradientTape() as tape:
                errors = tf.reduce_mean(
                    (model(features, training=True) - labels) ** 2, axis=-1
                )
                loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(
                zip(gradients, model.trainable_variables, strict=True)
            )
            return loss

        return strategy.reduce("SUM", strategy.run(replica_step, args=batch), axis=None)

    rows, losses = [], []
    for _ in range(EPOCHS):
        for batch in dataset:
            rows.append(
                [
                    int(row)
                    for part in strategy.experimental_local_results(batch[2])
                    for row in part
                ]
            )
            losses.append(step(batch))  # no `float` here: it would wait for the step
    return {
        "replicas": strategy.num_replicas_in_sync,
        "start": start,
        "weights": model.get_weights(),
        "rows": rows,
        "losses": [float(loss) for loss in losses],
    }


# --8<-- [end:train]


# --8<-- [start:run]
with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, train, index) for index in range(2)]
    workers = [cluster.result(task) for task in tasks]

for index, worker in enumerate(workers):
    print(
        f"worker {index}: one of {worker['replicas']}, rows of step 1: {worker['rows'][0]}"
    )
    print(f"worker {index}: losses", [round(loss, 4) for loss in worker["losses"][:4]])
# --8<-- [end:run]


# --8<-- [start:compare]
def numpy_sgd(weights):
    """The same model, loss and batches in NumPy, in one process and in float64."""
    w1, b1, w2, b2 = (w.astype("float64") for w in weights)
    for first in [*range(0, ROWS, BATCH)] * EPOCHS:
        features, labels = x[first : first + BATCH], y[first : first + BATCH]
        hidden = np.tanh(features @ w1 + b1)
        output_gradient = 2 * (hidden @ w2 + b2 - labels) / BATCH
        hidden_gradient = output_gradient @ w2.T * (1 - hidden**2)
        w1 = w1 - RATE * features.T @ hidden_gradient
        b1 = b1 - RATE * hidden_gradient.sum(0)
        w2 = w2 - RATE * hidden.T @ output_gradient
        b2 = b2 - RATE * output_gradient.sum(0)
    return [w1, b1, w2, b2]


def furthest(some, others):
    return max(float(np.max(np.abs(a - b))) for a, b in zip(some, others, strict=True))


first, second = workers
between_workers = furthest(first["weights"], second["weights"])
from_numpy = furthest(first["weights"], numpy_sgd(first["start"]))
moved = furthest(first["weights"], first["start"])
print(f"weights: moved by up to {moved:.3f}")
print(
    f"weights: the workers differ by {between_workers:.5f}, from NumPy {from_numpy:.5f}"
)
# --8<-- [end:compare]

keras.utils.set_random_seed(0)  # as worker 0 did
seeded = build().get_weights()
batches = [
    sorted(mine + theirs)
    for mine, theirs in zip(first["rows"], second["rows"], strict=True)
]
claims = {
    "two_replicas": all(worker["replicas"] == 2 for worker in workers),
    "workers_hold_equal_weights": between_workers == 0.0,
    "equal_to_numpy": from_numpy < 1e-5 < moved,
    "start_weights_come_from_worker_0": furthest(first["start"], seeded) < 1e-6
    and furthest(second["start"], seeded) < 1e-6,
    "no_row_is_seen_twice": all(len(set(batch)) == len(batch) for batch in batches),
    "both_shares_make_the_batch": batches
    == [[*range(i, i + BATCH)] for i in range(0, ROWS, BATCH)] * EPOCHS,
    "every_worker_sees_the_whole_batch": all(
        len(rows) == BATCH for worker in workers for rows in worker["rows"]
    ),
    "losses_agree": first["losses"] == second["losses"],
}
measures = {
    "workers": len(workers),
    "steps": len(first["losses"]),
    "rows_per_worker": len(first["rows"][0]),
}
