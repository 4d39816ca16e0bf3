# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""Train on the TPU of this machine, or, where there is none, on its GPUs or CPUs: the same loop."""

import os
from unittest import mock

import numpy as np
import tensorflow as tf


# --8<-- [start:strategy]
def find_strategy():
    """Return a TPUStrategy where a TPU answers, else one for the GPUs or CPUs."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=os.environ.get("TPU_NAME", "local")
        )
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, OSError, tf.errors.NotFoundError) as reason:
        if "TPU_NAME" in os.environ:  # a TPU was ordered: nothing else will do
            raise
        print("no TPU:", type(reason).__name__)
        devices = tf.config.list_logical_devices("GPU")
        devices = devices or tf.config.list_logical_devices("CPU")
        return tf.distribute.MirroredStrategy([device.name for device in devices])


strategy = find_strategy()
print(f"{type(strategy).__name__} with {strategy.num_replicas_in_sync} replica(s)")
# --8<-- [end:strategy]

# --8<-- [start:train]
PER_REPLICA, RATE = 16, 0.1
BATCH = PER_REPLICA * strategy.num_replicas_in_sync
ROWS = 4 * BATCH
x = np.random.default_rng(0).normal(size=(ROWS, 4)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [3.0], [0.5]], "float32")

with strategy.scope():
    weights = tf.Variable(tf.zeros((4, 1)))
dataset = tf.data.Dataset.from_tensor_slices((x, y))
dataset = dataset.batch(BATCH, drop_remainder=True)  # a TPU wants fixed shapes
batches = strategy.experimental_distribute_dataset(dataset)
shapes = set()


@tf.function  # not optional here: TPUStrategy.run works only inside tf.function
def step(batch):
    def replica_step(features, labels):
        shapes.add(tuple(features.shape))  # known before the step runs
        with tf.GradientTape() as tape:
            errors = tf.reduce_sum((features @ weights - labels) ** 2, axis=-1)
            loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
        replica = tf.distribute.get_replica_context()
        gradient = replica.all_reduce("SUM", tape.gradient(loss, weights))
        weights.assign_sub(RATE * gradient)
        return loss

    return strategy.reduce("SUM", strategy.run(replica_step, args=batch), axis=None)


losses = [step(batch) for batch in batches]
losses = [float(loss) for loss in losses]  # after the last step: `float` waits for it
print("losses:", [round(loss, 2) for loss in losses])
# --8<-- [end:train]

# --8<-- [start:compare]
expected = np.zeros((4, 1))
for first in range(0, ROWS, BATCH):
    features, labels = x[first : first + BATCH], y[first : first + BATCH]
    expected = expected - RATE * 2 * features.T @ (features @ expected - labels) / BATCH
copies = [copy.numpy() for copy in strategy.experimental_local_results(weights)]
away = float(np.abs(copies[0] - expected).max())
# The last digits may differ: a TPU multiplies in bfloat16.
print("every replica holds NumPy's weights:", away < 0.02)
# --8<-- [end:compare]


def replaces_an_ordered_tpu():
    """Say whether `find_strategy` goes on where the TPU that TPU_NAME names does not answer."""
    with mock.patch.dict(os.environ, {"TPU_NAME": "local"}):
        try:
            find_strategy()
        except tf.errors.NotFoundError:
            return False
    return True


claims = {
    "an_ordered_tpu_is_replaced": not isinstance(strategy, tf.distribute.TPUStrategy)
    and replaces_an_ordered_tpu(),
    "every_part_has_one_fixed_shape": shapes == {(PER_REPLICA, 4)},
    "replicas_hold_equal_weights": all(
        np.array_equal(copy, copies[0]) for copy in copies
    ),
    "equal_to_numpy": away < 0.02 < float(np.abs(expected).max()),
    "loss_falls": losses[-1] < 0.5 * losses[0],
}
