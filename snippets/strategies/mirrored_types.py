# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""Strings and booleans: Keras 3 `fit` takes them on one device and refuses them on several."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
batch = 4 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(2 * batch, 3)).astype("float32")
yes = x[:, :1] > 0
words = np.where(yes, "yes", "no")
lookup = keras.layers.StringLookup(vocabulary=["no", "yes"], output_mode="multi_hot")

slices = tf.data.Dataset.from_tensor_slices
booleans = slices((x, yes)).batch(batch)
integers = slices((x, yes.astype("uint8"))).batch(batch)
strings = slices((words, x[:, :1])).batch(batch)
looked_up = strings.map(lambda words, target: (lookup(words), target))
cases = {
    "boolean labels": (booleans, [keras.Input((3,))]),
    "the same as uint8": (integers, [keras.Input((3,))]),
    "strings": (strings, [keras.Input((1,), dtype="string"), lookup]),
    "the same, looked up": (looked_up, [keras.Input((3,))]),
}
# --8<-- [end:data]


# --8<-- [start:fit]
def outcome(place, rows, layers):
    """Return "trains", or the error that `fit` and `evaluate` raise."""
    with place.scope():
        model = keras.Sequential([*layers, keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.05), loss="mse")
    answers = set()
    for method in model.fit, model.evaluate:
        try:
            method(rows, verbose=0)
            answers.add("trains")
        except tf.errors.InvalidArgumentError as error:
            answers.add(f"{type(error).__name__}: {error.message.partition(':')[0]}")
    return " and ".join(answers)


one = tf.distribute.get_strategy()  # outside of every scope: one device
one_device = {name: outcome(one, *case) for name, case in cases.items()}
mirrored = {name: outcome(strategy, *case) for name, case in cases.items()}
for name in cases:
    print(
        f"{name}: one device {one_device[name]}, {replicas} replicas {mirrored[name]}"
    )
# --8<-- [end:fit]

claims = {
    "one_device_takes_all": set(one_device.values()) == {"trains"},
    "booleans_are_refused": "bool" in mirrored["boolean labels"] or replicas == 1,
    "strings_are_refused": "string" in mirrored["strings"] or replicas == 1,
    "numbers_are_taken": {
        mirrored["the same as uint8"],
        mirrored["the same, looked up"],
    }
    == {"trains"},
}
errors = {}
if replicas > 1:
    errors = {"boolean": mirrored["boolean labels"], "string": mirrored["strings"]}
