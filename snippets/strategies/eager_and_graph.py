# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 120
# alone = true
# ///
"""Run the same distributed step eagerly and inside `tf.function`: the same numbers, at what speed."""

import statistics
import time

import numpy as np
import tensorflow as tf

# --8<-- [start:step]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
global_batch = 8 * strategy.num_replicas_in_sync
rng = np.random.default_rng(0)
x = rng.normal(size=(global_batch, 16)).astype("float32")
y = rng.normal(size=(global_batch, 1)).astype("float32")
first_weights = (rng.normal(size=(16, 1)) / 4).astype("float32")


def make_step(weights):
    """Return a step of gradient descent on `weights` over all replicas; run as it is, it is eager."""

    def on_replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.tanh(x @ weights) - y)) / global_batch
        gradient = tape.gradient(loss, weights)
        total = tf.distribute.get_replica_context().all_reduce("SUM", gradient)
        weights.assign_sub(0.1 * total)
        return loss

    def step(rows):
        return strategy.reduce("SUM", strategy.run(on_replica, args=rows), axis=None)

    return step


# --8<-- [end:step]


# --8<-- [start:time]
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(global_batch)
rows = next(iter(strategy.experimental_distribute_dataset(dataset)))


def train(wrap, steps=20):
    """Train from the same first weights; return the losses, the weights and the median seconds of a step."""
    with strategy.scope():
        weights = tf.Variable(first_weights)
    step = wrap(make_step(weights))
    losses, seconds = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        losses.append(float(step(rows)))
        seconds.append(time.perf_counter() - begin)
    return losses, weights.numpy(), statistics.median(seconds)


eager_losses, eager_weights, eager_s = train(lambda step: step)
graph_losses, graph_weights, graph_s = train(tf.function)
print(f"last loss: eager {eager_losses[-1]:.4f}, tf.function {graph_losses[-1]:.4f}")
print(
    f"a step: eager {1000 * eager_s:.1f} ms, tf.function {1000 * graph_s:.1f} ms, {eager_s / graph_s:.1f}x"
)
# --8<-- [end:time]

reference = first_weights.astype("float64")  # the same steps in NumPy
for _ in range(len(eager_losses)):
    output = np.tanh(x @ reference)
    reference = reference - 0.1 * 2 / global_batch * x.T @ (
        (output - y) * (1 - output**2)
    )
claims = {
    "eager_equals_numpy": bool(np.allclose(eager_weights, reference, atol=1e-5)),
    "graph_equals_numpy": bool(np.allclose(graph_weights, reference, atol=1e-5)),
    "same_losses": bool(np.allclose(eager_losses, graph_losses, rtol=1e-4)),
    "graph_is_faster": eager_s > graph_s,
}
measures = {
    "eager_ms": 1000 * eager_s,
    "graph_ms": 1000 * graph_s,
    "speedup_x": eager_s / graph_s,
}
