# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A layer with LoRA that is loaded from a file trains its thin matrices no more, until one gets new values."""

import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # what a file holds is the same on any device

# --8<-- [start:load]
keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
x, y = random.random((64, 8)), random.random((64, 4))
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
model.layers[0].enable_lora(rank=2)
model.compile(keras.optimizers.SGD(0.1), "mse")
model.fit(x, y, epochs=3, verbose=0)
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "model.keras")
    model.save(file)
    loaded = keras.models.load_model(file)
layer = loaded.layers[0]
same = np.allclose(loaded.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)


def largest():
    """Return the largest values of the two thin matrices."""
    thin = layer.lora_kernel_a, layer.lora_kernel_b
    return [float(keras.ops.max(keras.ops.abs(one))) for one in thin]


at_first = largest()
loaded.fit(x, y, epochs=3, verbose=0)
stuck = largest()
print("loaded: still has LoRA:", layer.lora_enabled, "- answers as before:", same)
print("largest values of both matrices, loaded:", at_first)
print("after three epochs more:", stuck)
# --8<-- [end:load]

# --8<-- [start:again]
thin = layer.lora_kernel_a
thin.assign(keras.initializers.HeUniform(seed=0)(thin.shape))
loaded.compile(keras.optimizers.SGD(0.1), "mse")
loaded.fit(x, y, epochs=3, verbose=0)
moves = largest()[1] > 0
print("one with new values, three epochs more: the other moves:", moves)
# --8<-- [end:again]

claims = {
    "it_answers_as_before": same,
    "it_still_has_lora": layer.lora_enabled,
    "both_matrices_are_zero": at_first == [0, 0],
    "they_stay_zero": stuck == [0, 0],
    "new_values_help": moves,
}
