# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Epochs of different length: `fit` measures the first one, and takes hardly more batches from a longer one."""

# --8<-- [start:fit]
import warnings

import keras
import numpy as np
import tensorflow as tf

EPOCHS, STEPS = 8, 16
zeros = np.zeros((64, 1), "float32")


def kept():
    """Return batches of about half of the rows: other rows, and so more or fewer batches, in each epoch."""
    rows = tf.data.Dataset.from_tensor_slices((zeros, zeros))
    draws = tf.data.Dataset.random(seed=0, rerandomize_each_iteration=True)
    drawn = tf.data.Dataset.zip(rows, draws).filter(lambda row, draw: draw % 2 == 0)
    return drawn.map(lambda row, draw: row).batch(2)


class Steps(keras.callbacks.Callback):
    """Count the steps of each epoch."""

    def __init__(self):
        super().__init__()
        self.taken = []

    def on_epoch_begin(self, epoch, logs=None):
        self.taken.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.taken[-1] += 1


def fit(data, steps_per_epoch=None):
    """Return the steps of each epoch, and how many warnings there were."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    steps = Steps()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(
            data,
            epochs=EPOCHS,
            steps_per_epoch=steps_per_epoch,
            callbacks=[steps],
            verbose=0,
        )
    return steps.taken, sum("ran out of data" in str(one.message) for one in said)


data = kept()
there = [sum(1 for _ in data) for _ in range(EPOCHS)]
taken, warned = fit(kept())
cured, warned_then = fit(kept().repeat(), STEPS)
print(f"batches of a pass: first {there[0]}, most {max(there)}")
print(f"steps of an epoch: first {taken[0]}, most {max(taken)}")
print(f"repeat(), steps_per_epoch={STEPS}: {cured}")
# --8<-- [end:fit]

most = there[0] + 1
ended = sum(n < most for n in taken[1:])  # later epochs whose data ended before that
claims = {
    "some_passes_are_longer": max(there) > most,
    "fit_takes_all_of_a_longer_pass": max(taken) > most,
    "fit_takes_at_most_one_more_than_in_the_first": taken[0] == there[0]
    and max(taken) == most,
    "a_longer_pass_warns": warned > 1 + ended,
    "repeat_with_steps_has_even_epochs": cured == [STEPS] * EPOCHS and warned_then == 0,
}
