# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Where a cut model is updated: on the first device, or, with an optimizer for each part, on its own."""

# --8<-- [start:update]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]
WIDTH = 16
ran = []


class Adam(keras.optimizers.Adam):
    """Adam that notes where its arithmetic runs."""

    def update_step(self, gradient, variable, learning_rate):
        ran.append((gradient * learning_rate).device[-5:])
        super().update_step(gradient, variable, learning_rate)


def parts():
    """Return a layer on each device, and gradients that were computed there."""
    keras.utils.set_random_seed(0)
    layers, gradients = [], []
    for device in DEVICES:
        with tf.device(device):
            layer = keras.layers.Dense(WIDTH)
            layer.build((None, WIDTH))
            gradients.append([v.value * 0.5 + 0.1 for v in layer.trainable_variables])
        layers.append(layer)
    return layers, gradients


def with_one(layers, gradients):
    """Return a function that updates all parts with one optimizer."""
    variables = [v for layer in layers for v in layer.trainable_variables]
    optimizer = Adam()
    optimizer.build(variables)  # so that its slots lie beside the weights
    return lambda: optimizer.apply([g for some in gradients for g in some], variables)


def with_each(layers, gradients):
    """Return a function that updates each part with its own optimizer, on its device."""
    optimizers = []
    for device, layer in zip(DEVICES, layers, strict=True):
        with tf.device(device):
            optimizers.append(Adam())
            optimizers[-1].build(layer.trainable_variables)

    def update():
        for device, optimizer, layer, some in zip(
            DEVICES, optimizers, layers, gradients, strict=True
        ):
            with tf.device(device):
                optimizer.apply(some, layer.trainable_variables)

    return update


weights, places = {}, {}
for way in (with_one, with_each):
    layers, gradients = parts()
    ran.clear()
    way(layers, gradients)()
    weights[way] = [w for layer in layers for w in layer.get_weights()]
    places[way] = ran[::2]  # a layer has a matrix and a bias
    print(f"{way.__name__:9} updates on {', '.join(places[way])}")
# --8<-- [end:update]

compiled = {}
for way in (with_one, with_each):
    layers, gradients = parts()
    ran.clear()
    tf.function(way(layers, gradients), autograph=False)()
    compiled[way] = ran[::2]

ends = [device[-5:] for device in DEVICES]
claims = {
    "one_optimizer_updates_on_the_first": places[with_one] == ends[:1] * len(ends),
    "one_for_each_part_updates_on_its_device": places[with_each] == ends,
    "compiled_no_device_is_named": compiled[with_one] == [""] * len(ends),
    "compiled_each_part_names_its_device": compiled[with_each] == ends,
    "the_weights_are_the_same": all(
        np.allclose(a, b, atol=1e-6)
        for a, b in zip(weights[with_one], weights[with_each], strict=True)
    ),
}
