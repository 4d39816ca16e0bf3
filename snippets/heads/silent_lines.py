# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf_keras==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Two lines of old scripts that Keras 3 takes without a word, and that then do nothing."""

import keras
import numpy as np
import tensorflow as tf
import tf_keras

# Which weights are trained is the same on any device.
tf.config.set_visible_devices([], "GPU")

# --8<-- [start:silent]
x, y = np.ones((8, 1), "float32"), np.full((8, 1), 5.0, "float32")


def old_script(keras):
    """Train a layer with a variable of its own; return the rate, the weights that count, and whether it moved."""

    class Scale(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.factor = tf.Variable(1.0)

        def call(self, rows):
            return rows * self.factor

    scale = Scale()
    model = keras.Sequential([keras.Input((1,)), scale, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.optimizer.lr = 0.5
    rate = float(model.optimizer.learning_rate)
    model.fit(x, y, verbose=0)
    return rate, len(scale.trainable_weights), float(scale.factor.numpy()) != 1


found = {"tf_keras": old_script(tf_keras), "Keras 3": old_script(keras)}
for name, (rate, weights, moved) in found.items():
    print(f"{name}: rate {rate:.2f}, weights of the layer: {weights}, trained: {moved}")
# --8<-- [end:silent]

claims = {
    "tf_keras_sets_the_rate": found["tf_keras"][0] == 0.5,
    "tf_keras_trains_the_variable": found["tf_keras"][1:] == (1, True),
    "keras_3_leaves_the_rate": abs(found["Keras 3"][0] - 0.01) < 1e-6,
    "keras_3_does_not_train_the_variable": found["Keras 3"][1:] == (0, False),
}
