# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""XLA under a strategy: Keras leaves it off by itself, and `jit_compile=True` fails on more than one device."""

from unittest import mock

# --8<-- [start:fit]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]
strategies = {
    "none": tf.distribute.get_strategy(),
    "OneDeviceStrategy": tf.distribute.OneDeviceStrategy(names[0]),
    "MirroredStrategy": tf.distribute.MirroredStrategy(names),
}
x = np.ones((4 * len(names), 3), "float32")
y = np.ones((4 * len(names), 1), "float32")


def fit(strategy, jit_compile):
    """Train for one step; return whether Keras used XLA."""
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=jit_compile)
    model.fit(x, y, batch_size=len(x), verbose=0)
    return model.jit_compile


used, errors = {}, {}
for name, strategy in strategies.items():
    for choice in ("auto", True):
        try:
            used[name, choice] = fit(strategy, choice)
            print(f"{name:18}{choice!s:6}XLA: {used[name, choice]}")
        except tf.errors.InvalidArgumentError as error:
            start = error.message.index("Trying to access resource")
            lines = error.message[start:].splitlines()[:2]
            # The variable's name, which stands before `located`, is left out.
            where = f"resource ... located{lines[0].partition(' located')[2]}{lines[1]}"
            errors[name] = f"{type(error).__name__}: Trying to access {where}"
            print(f"{name:18}{choice!s:6}{type(error).__name__}")
# --8<-- [end:fit]


def asks_for_xla(strategy):
    """Return whether "auto" asks for XLA where Keras sees a GPU."""
    seen = [tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")]
    with mock.patch.object(tf.config, "list_physical_devices", return_value=seen):
        with strategy.scope():
            model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
            model.compile("sgd", "mse")
        return model.jit_compile


asked = {name: asks_for_xla(strategy) for name, strategy in strategies.items()}
several = len(names) > 1
claims = {
    "auto_asks_for_an_accelerator": asked["none"],
    "auto_is_off_under_a_strategy": not asked["OneDeviceStrategy"]
    and not asked["MirroredStrategy"],
    "true_works_on_one_device": used["none", True] and used["OneDeviceStrategy", True],
    "true_fails_on_several": several and "MirroredStrategy" in errors,
}
errors = {"xla": errors["MirroredStrategy"]} if several else {}
measures = {"replicas": len(names)}
