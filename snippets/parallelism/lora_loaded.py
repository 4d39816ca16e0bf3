# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A layer with LoRA that is loaded from a file has thin matrices of zeros: what still moves them, and what helps."""

import gc
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # what a file holds is the same on any device

# --8<-- [start:load]
random = np.random.default_rng(0)
x, y = random.random((64, 8)), random.random((64, 4))


def restart(optimizer):
    """Return a model that has trained with LoRA, and the same from its file."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    model.layers[0].enable_lora(rank=2)
    model.compile(optimizer, "mse")
    model.fit(x, y, epochs=3, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "model.keras")
        model.save(file)
        return model, keras.models.load_model(file)


def largest(model):
    """Return the largest values of the two thin matrices."""
    thin = model.layers[0].lora_kernel_a, model.layers[0].lora_kernel_b
    return [round(float(keras.ops.max(keras.ops.abs(one))), 3) for one in thin]


at_first, later, same = {}, {}, {}
for name, optimizer in (
    ("Adam", keras.optimizers.Adam(0.01)),
    ("SGD", keras.optimizers.SGD(0.1)),
):
    model, loaded = restart(optimizer)
    answers = [one.predict(x, verbose=0) for one in (model, loaded)]
    same[name], at_first[name] = np.allclose(*answers, atol=1e-6), largest(loaded)
    loaded.fit(x, y, epochs=3, verbose=0)
    later[name] = largest(loaded)
    print(f"{name}, loaded: answers as before:", same[name])
    print("  largest values of both matrices, loaded:", at_first[name])
    print("  after three epochs more:", later[name])
# --8<-- [end:load]

# --8<-- [start:again]
thin = loaded.layers[0].lora_kernel_a
thin.assign(keras.initializers.HeUniform(seed=0)(thin.shape))
loaded.compile(keras.optimizers.SGD(0.1), "mse")
loaded.fit(x, y, epochs=3, verbose=0)
moves = largest(loaded)[1] > 0
print("one with new values, three epochs more: the other moves:", moves)
# --8<-- [end:again]


def keeps_the_sum():
    """Return whether the backward pass holds a tensor with the sum of matrix and product."""
    layer = keras.layers.Dense(64)
    layer.build((None, 64))
    layer.enable_lora(4)
    layer.lora_kernel_b.assign(tf.ones((4, 64)))
    whole = layer._kernel + tf.matmul(layer.lora_kernel_a, layer.lora_kernel_b)
    start = tf.Variable(tf.ones((2, 64)))
    with tf.GradientTape() as tape:  # holds what the gradient of `answers` needs
        answers = layer(start)
    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, tf.Tensor)]
    square = [one for one in held if one is not whole and one.shape == (64, 64)]
    kept = any(np.allclose(one, whole, atol=1e-5) for one in square)
    return kept and tape.gradient(answers, start) is not None


claims = {
    "it_answers_as_before": all(same.values()),
    "it_still_has_lora": loaded.layers[0].lora_enabled,
    "both_matrices_are_zero": all(found == [0, 0] for found in at_first.values()),
    "they_stay_zero_with_sgd": later["SGD"] == [0, 0],
    "both_leave_zero_with_the_slots_of_adam": min(later["Adam"]) > 0,
    "new_values_help": moves,
    "the_sum_is_kept": keeps_the_sum(),
}
