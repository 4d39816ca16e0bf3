# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""Weights of two types, bfloat16 and float32: one device trains them, several replicas do not, and two cures."""

# --8<-- [start:fit]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]
strategy = tf.distribute.MirroredStrategy(names)
rng = np.random.default_rng(0)
x = rng.normal(size=(8 * len(names), 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)


def outcome(place, body, head):
    """Return "trains", or the error that `fit` raises, for a body and a head of these types."""
    with place.scope():
        layers = [keras.layers.Dense(4, dtype=body), keras.layers.Dense(1, dtype=head)]
        model = keras.Sequential([keras.Input((8,)), *layers])
        model.compile(keras.optimizers.SGD(0.01), loss="mse")
    try:
        model.fit(x, y, verbose=0)
    except TypeError as error:
        return f"TypeError: {error}"
    return "trains"


one = tf.distribute.get_strategy()  # outside of every scope: one device
on_one = tf.distribute.ReductionToOneDevice()
reduced = tf.distribute.MirroredStrategy(names, cross_device_ops=on_one)
answers = {
    "bfloat16, head float32, one device": outcome(one, "bfloat16", "float32"),
    "bfloat16, head float32": outcome(strategy, "bfloat16", "float32"),
    "the same, ReductionToOneDevice": outcome(reduced, "bfloat16", "float32"),
    "bfloat16, head bfloat16": outcome(strategy, "bfloat16", "bfloat16"),
    "mixed_bfloat16, head float32": outcome(strategy, "mixed_bfloat16", "float32"),
}
for name, answer in answers.items():
    print(f"{name}: {answer.partition(':')[0]}")
# --8<-- [end:fit]

two = answers.pop("bfloat16, head float32")
claims = {
    "two_types_fail_on_several_replicas": two.startswith("TypeError")
    or len(names) == 1,
    "the_others_train": set(answers.values()) == {"trains"},
}
errors = {}
if len(names) > 1:
    errors["two_types"] = " ".join(two.split())
