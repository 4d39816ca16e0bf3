# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 90
# ///
"""Start two workers as you would on two machines: the same file twice, each with its own TF_CONFIG."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
import tensorflow as tf

# --8<-- [start:train]
ROWS, BATCH, RATE = 64, 16, 0.1
x = np.random.default_rng(0).normal(size=(ROWS, 4)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [3.0], [0.5]], "float32")


def train(strategy):
    """One epoch of linear regression. Return the weights of all workers."""
    with strategy.scope():
        weights = tf.Variable(tf.zeros((4, 1)))
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)

    @tf.function
    def step(batch):
        def replica_step(features, labels):
            with tf.GradientTape() as tape:
                errors = tf.reduce_sum((features @ weights - labels) ** 2, axis=-1)
                loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
            replica = tf.distribute.get_replica_context()
            weights.assign_sub(
                RATE * replica.all_reduce("SUM", tape.gradient(loss, weights))
            )
            return replica.all_gather(tf.identity(weights), axis=1)

        return strategy.run(replica_step, args=batch)

    for batch in strategy.experimental_distribute_dataset(dataset):
        held = step(batch)
    return strategy.experimental_local_results(held)[0].numpy()


def numpy_sgd():
    weights = np.zeros((4, 1))
    for features, labels in zip(
        np.split(x, ROWS // BATCH), np.split(y, ROWS // BATCH), strict=True
    ):
        weights = (
            weights - RATE * 2 * features.T @ (features @ weights - labels) / BATCH
        )
    return weights


# --8<-- [end:train]

# --8<-- [start:worker]
if "TF_CONFIG" in os.environ:  # this process was started as a worker
    signal.alarm(600)  # this guide's time limit: leave it out
    held = train(tf.distribute.MultiWorkerMirroredStrategy())
    print(json.dumps(held.tolist()))
    raise SystemExit
# --8<-- [end:worker]


# --8<-- [start:launch]
def hold(stack):
    """Return a free port that no other program gets until `stack` ends."""
    holder = stack.enter_context(socket.socket())
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port = holder.getsockname()[1]
    if sys.platform != "linux":  # elsewhere no worker could bind it
        holder.close()
    return port


with contextlib.ExitStack() as stack:
    addresses = [f"127.0.0.1:{hold(stack)}" for _ in range(2)]
    workers, outputs = [], []
    for index in range(2):
        config = {
            "cluster": {"worker": addresses},
            "task": {"type": "worker", "index": index},
        }
        environment = os.environ | {
            "TF_CONFIG": json.dumps(config),
            "CUDA_VISIBLE_DEVICES": "-1",
        }
        # A file: a worker that fills a pipe which nobody reads would wait.
        output = stack.enter_context(tempfile.TemporaryFile("w+"))
        worker = subprocess.Popen(
            [sys.executable, __file__], env=environment, stdout=output
        )
        stack.callback(worker.wait)  # the last callback runs first: kill, then wait
        stack.callback(worker.kill)
        workers.append(worker)
        outputs.append(output)
    while None in (codes := [worker.poll() for worker in workers]) and not any(codes):
        time.sleep(0.1)
    if any(codes):  # the others would wait for this one: they are killed
        raise SystemExit(f"the workers ended with {codes}")
    lines = []
    for output in outputs:
        output.seek(0)
        lines.append(output.read().splitlines()[-1])
# --8<-- [end:launch]

# --8<-- [start:compare]
# Each worker returned the weights of all workers, side by side.
held = [np.array(json.loads(line)) for line in lines]
expected = numpy_sgd()
away = max(float(np.abs(h - expected).max()) for h in held)
print("weights of workers 0 and 1, as worker 0 sees them:")
print(held[0].round(4))
print(f"away from NumPy: {away:.5f}")
# --8<-- [end:compare]

claims = {
    "two_workers": all(h.shape == (4, 2) for h in held),
    "workers_hold_equal_weights": all(np.array_equal(h[:, 0], h[:, 1]) for h in held),
    "equal_to_numpy": away < 1e-5,
}
