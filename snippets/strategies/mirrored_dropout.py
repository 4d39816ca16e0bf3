# /// script
# requires-python = ">=3.11"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""Dropout under MirroredStrategy: every replica draws the same mask, unless the layer draws it with TensorFlow."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
keras.utils.set_random_seed(0)


class OwnDropout(keras.layers.Layer):
    """Drop half of the inputs, with a mask that TensorFlow draws."""

    def call(self, inputs, training=False):
        """Return the inputs unchanged where the model does not train."""
        return tf.nn.dropout(inputs, 0.5) if training else inputs


# --8<-- [end:setup]

# --8<-- [start:draws]
images = tf.tile(tf.constant([[[[1.0], [2.0]]]]), (16, 1, 8, 1))  # 16 rows, all equal


def draws(layer):
    """Let each replica run the layer on the same rows, twice; return what each got."""

    @tf.function
    def step():
        return strategy.run(lambda: layer(images, training=True))

    return [strategy.experimental_local_results(step()) for _ in range(2)]


def same(outputs):
    """Return whether all outputs are equal."""
    return all(bool(tf.reduce_all(output == outputs[0])) for output in outputs)


print(f"{'what all replicas draw':24}{'in a step':14}in the next step")
in_step, in_time = {}, {}
for kind in (keras.layers.Dropout, keras.layers.RandomFlip, OwnDropout):
    with strategy.scope():
        layer = kind(0.5) if kind is keras.layers.Dropout else kind()
    first, second = draws(layer)
    in_step[kind.__name__] = same(first) and same(second)
    in_time[kind.__name__] = same([first[0], second[0]])
    print(
        f"{kind.__name__:24}{'the same' if in_step[kind.__name__] else 'different':14}"
        f"{'the same again' if in_time[kind.__name__] else 'something else'}"
    )
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
    "replicas_draw_the_same_mask": several and in_step["Dropout"],
    "next_step_draws_another_mask": not in_time["Dropout"],
    "augmentation_draws_the_same_too": several and in_step["RandomFlip"],
    "own_layer_draws_for_each_replica": several and not in_step["OwnDropout"],
    "equal_without_dropout": difference[0.0] < 1e-4,
    "dropout_gives_other_weights": several and difference[0.5] > 1e-3,
}
measures = {"replicas": replicas, "largest_difference": round(difference[0.5], 3)}
