# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""`clone_model` and `load_model` outside the scope: a model of one device, without an error."""

# --8<-- [start:copies]
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
rng = np.random.default_rng(0)
x = rng.normal(size=(8 * replicas, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), loss="mse")


def clone():
    copy = keras.models.clone_model(model)
    copy.compile(keras.optimizers.SGD(0.1), loss="mse")
    return copy


def load():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "model.keras")
        model.save(file)
        return keras.models.load_model(file)


def on_devices(model):
    """Return on how many devices the weights are."""
    return len(strategy.experimental_local_results(model.weights[0].value))


def fit(model):
    try:
        model.fit(x, y, batch_size=len(x), verbose=0)
    except (AssertionError, RuntimeError) as error:  # the second on GPUs
        return f"{type(error).__name__}, {str(error) or 'no text'}"
    return "trains"


found = {}
for make in (clone, load):
    copies = {"outside": make(), "outside, fit inside": make()}
    with strategy.scope():
        copies["inside"] = make()
    for place, copy in copies.items():
        count = on_devices(copy)
        current = strategy if "fit" in place else tf.distribute.get_strategy()
        with current.scope():
            outcome = fit(copy)
        found[make.__name__, place] = count, outcome
        said = f"{make.__name__}, {place}:"
        print(f"{said:28}{count} of {replicas} devices, {outcome}")
# --8<-- [end:copies]

makers = ("clone", "load")
claims = {
    "outside_is_one_device_in_silence": replicas > 1
    and all(found[make, "outside"] == (1, "trains") for make in makers),
    "inside_is_all_devices": all(
        found[make, "inside"] == (replicas, "trains") for make in makers
    ),
    "fit_inside_does_not_help": replicas > 1
    and all("Error" in found[make, "outside, fit inside"][1] for make in makers),
}
measures = {"replicas": replicas}
