# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Collected gradients that `fit` loses where the length of the data is unknown."""

import warnings

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # what an aborted step still does: on a CPU
warnings.simplefilter("ignore")  # "Your input ran out of data", in each epoch

# --8<-- [start:train]
EVERY, EPOCHS = 2, 4
# The gradient of each batch is a power of ten: the digits of a sum count the batches.
powers = np.array([[1], [10], [100], [1000], [10_000]], "float32")
known = tf.data.Dataset.from_tensor_slices((powers, powers)).batch(1)
unknown = known.filter(lambda x, y: True)
declared = unknown.apply(tf.data.experimental.assert_cardinality(5))


def train(data, optimizer):
    """Train a weight, with the inputs as gradients; return it and `iterations`."""
    kernel = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), kernel])
    model.compile(optimizer, lambda y, answer: answer, jit_compile=False)
    model.fit(data, epochs=EPOCHS, verbose=0)
    return float(model.get_weights()[0][0, 0]), int(optimizer.iterations)


# --8<-- [end:train]

# --8<-- [start:sgd]
cases = {"known": known, "unknown": unknown, "declared": declared}
used, counted = {}, {}
for length, data in cases.items():
    sgd = keras.optimizers.SGD(1.0, gradient_accumulation_steps=EVERY)
    weight, counted[length] = train(data, sgd)
    used[length] = f"{round(-weight * EVERY):05}"[::-1]  # the first batch first
    print(f"{length:8} iterations {counted[length]}, batches 1 to 5 used", end=" ")
    print(*used[length], "times")
# --8<-- [end:sgd]


# --8<-- [start:adam]
def by_hand(groups):
    """Apply the sum of each group, divided by two, with Adam; return the weight."""
    weight, adam = keras.Variable(0.0), keras.optimizers.Adam(1.0)
    adam.build([weight])
    for group in groups:
        adam.apply([tf.constant(sum(group) / EVERY, tf.float32)], [weight])
    return float(weight)


full = np.tile(powers.ravel(), EPOCHS).reshape(-1, EVERY)
# In each two epochs: batch 5 of the first is lost, so batch 1 of the second is alone.
cut = [(1, 10), (100, 1000), (1,), (10, 100), (1000, 10_000)] * (EPOCHS // 2)
adams = {}
for length, data in cases.items():
    adam = keras.optimizers.Adam(1.0, gradient_accumulation_steps=EVERY)
    weight, count = train(data, adam)
    ways = {"all gradients": by_hand(full), "a group cut": by_hand(cut)}
    fits = [way for way, other in ways.items() if np.isclose(weight, other, rtol=1e-4)]
    adams[length] = count, *fits
    print(f"Adam, {length:8} iterations {count}, as by hand with", *fits)
# --8<-- [end:adam]

claims = {
    "a_known_length_uses_every_batch": used["known"] == "44444"
    and counted["known"] == 10,
    "an_unknown_length_loses_the_last_batch": used["unknown"] == "44440",
    "sgd_counts_updates_that_did_not_happen": counted["unknown"] == 12,
    "a_declared_length_cures": (used["declared"], counted["declared"])
    == (used["known"], counted["known"]),
    "adam_counts_right": adams["unknown"][0] == adams["known"][0] == 10,
    "adam_loses_it_in_every_second_epoch": adams["unknown"][1:] == ("a group cut",),
    "adam_is_right_where_the_length_is_known": adams["known"][1:]
    == adams["declared"][1:]
    == ("all gradients",),
}
