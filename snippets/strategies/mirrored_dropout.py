# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""Dropout under MirroredStrategy: every replica draws the same mask, unless the layer draws it with TensorFlow."""

# --8<-- [start:draws]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
keras.utils.set_random_seed(0)
images = tf.tile([[[[1.0], [2.0]]]], (16, 1, 8, 1))  # 16 rows, all equal


def draws(random_layer):
    """Let each replica run this on the same rows, in two steps; return what each got."""
    step = tf.function(lambda: strategy.run(random_layer, (images,)))
    return [strategy.experimental_local_results(step()) for _ in range(2)]


with strategy.scope():
    dropout, flip = keras.layers.Dropout(0.5), keras.layers.RandomFlip()
kinds = {
    "Dropout": lambda rows: dropout(rows, training=True),
    "RandomFlip": lambda rows: flip(rows, training=True),
    "tf.nn.dropout": lambda rows: tf.nn.dropout(rows, 0.5),
}
same = {}
for name, kind in kinds.items():
    first, second = np.array(draws(kind))
    same[name] = bool(np.all(first == first[0]) and np.all(second == second[0]))
    same[name, "in the next step"] = np.array_equal(first[0], second[0])
    print(f"{name:14} {'one draw for all' if same[name] else 'each its own'}")
# --8<-- [end:draws]

# --8<-- [start:compare]
batch = 8 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(5 * batch, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


def train(rate):
    """Train a small model with this share of dropout and return its weights."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="tanh"),
            keras.layers.Dropout(rate, seed=1),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.05), loss="mse")
    model.fit(data, epochs=1, verbose=0)
    return model.get_weights()


difference = {}
for rate in (0.0, 0.5):
    alone = train(rate)
    with strategy.scope():
        together = train(rate)
    difference[rate] = max(
        float(np.abs(a - b).max()) for a, b in zip(alone, together, strict=True)
    )
    equal = difference[rate] < 1e-4
    print(f"Dropout({rate}): {'as on one device' if equal else 'other weights'}")
# --8<-- [end:compare]

several = replicas > 1
claims = {
    "replicas_draw_the_same_mask": several and same["Dropout"],
    "next_step_draws_another_mask": not same["Dropout", "in the next step"],
    "augmentation_draws_the_same_too": several and same["RandomFlip"],
    "tensorflow_draws_for_each_replica": several and not same["tf.nn.dropout"],
    "equal_without_dropout": difference[0.0] < 1e-4,
    "dropout_gives_other_weights": several and difference[0.5] > 1e-3,
}
measures = {"replicas": replicas, "largest_difference": round(difference[0.5], 3)}
