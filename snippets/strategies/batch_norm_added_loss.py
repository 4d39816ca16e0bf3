# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 180
# ///
"""A synchronised batch normalisation behind a layer that adds a loss: the replicas lose each other's losses."""

# --8<-- [start:compare]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()  # outside of every scope: one device
replicas = strategy.num_replicas_in_sync
rng = np.random.default_rng(0)
x = rng.normal(size=(8 * replicas, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))


def step(place, adds, norm):
    """Train for one step, with a normalising layer behind one that may add a loss. Return the trained weights."""
    keras.utils.set_random_seed(1)
    with place.scope():
        penalty = keras.regularizers.L2(0.5) if adds else None
        first = keras.layers.Dense(4, activity_regularizer=penalty)
        layers = [first, norm(), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((8,)), *layers])
        model.compile(keras.optimizers.SGD(0.05), loss="mse")
    model.fit(x, y, batch_size=len(x), verbose=0)
    return [np.array(one) for one in model.trainable_variables]


def synchronised():
    return keras.layers.BatchNormalization(synchronized=True)


norms = {
    "synchronized=True": synchronised,
    "LayerNormalization()": keras.layers.LayerNormalization,
}
apart = {}
for name, norm in norms.items():
    for adds in False, True:
        pairs = zip(step(one, adds, norm), step(strategy, adds, norm), strict=True)
        apart[name, adds] = max(float(np.abs(a - b).max()) for a, b in pairs)
        equal = "as on one device" if apart[name, adds] < 1e-4 else "another model"
        print(f"{name}, {'an' if adds else 'no'} added loss: {equal}")
# --8<-- [end:compare]

claims = {
    "without_an_added_loss_as_on_one_device": apart["synchronized=True", False] < 1e-4,
    "with_an_added_loss_another_model": apart["synchronized=True", True] > 1e-3
    or replicas == 1,
    "layer_normalization_as_on_one_device": max(
        apart["LayerNormalization()", adds] for adds in (False, True)
    )
    < 1e-4,
}
