# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# ///
"""Two optimizers in one step: a head that learns faster than its base, on several replicas and on one device."""

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:step]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
many = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()
BATCH = 8 * len(devices)
random = np.random.default_rng(0)
x = random.normal(size=(6 * BATCH, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)


def train(strategy, base_rate=0.0001, head_rate=0.01):
    """Train one epoch; return the first weights and the last."""
    keras.utils.set_random_seed(0)
    with strategy.scope():
        base = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "tanh")])
        head = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
        slow, fast = keras.optimizers.Adam(base_rate), keras.optimizers.Adam(head_rate)
        slow.build(base.trainable_variables)
        fast.build(head.trainable_variables)

    def on_replica(features, labels):
        parts = base.trainable_variables, head.trainable_variables
        with tf.GradientTape() as tape:
            outputs = head(base(features, training=True), training=True)
            losses = keras.losses.mean_squared_error(labels, outputs)
            loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
        of_base, of_head = tape.gradient(loss, parts)  # both, before any update
        slow.apply(of_base, base.trainable_variables)
        fast.apply(of_head, head.trainable_variables)

    step = tf.function(lambda *batch: strategy.run(on_replica, args=batch))
    first = base.get_weights() + head.get_weights()
    for batch in strategy.experimental_distribute_dataset(rows):
        step(*batch)
    return first, base.get_weights() + head.get_weights()


# --8<-- [end:step]


# --8<-- [start:compare]
def apart(some, others):
    """Return the largest difference of two lists of weights."""
    return max(float(np.abs(a - b).max()) for a, b in zip(some, others, strict=True))


first, together = train(many)
same = apart(together, train(one)[1]) < 1e-4
of_base, of_head = apart(first[:2], together[:2]), apart(first[2:], together[2:])
print("weights of one device:", same)
print("the head moved further than the base:", of_head > 10 * of_base)
# --8<-- [end:compare]

claims = {
    "two_optimizers_as_on_one_device": same,
    "each_has_its_own_rate": of_head > 10 * of_base > 0,
}
