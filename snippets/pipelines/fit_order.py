# /// script
# requires-python = ">=3.11"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""The order in which `fit` takes the rows of an array: a global seed makes it the same in every epoch."""

import warnings

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:orders]
rows = np.arange(8.0)[:, None]
trained_on = []


class Noting(keras.Model):
    """Note the rows of each step, in place of training on them."""

    def train_step(self, data):
        trained_on.extend(int(n) for n in data[0][:, 0])
        return {"loss": 0.0}


def fit(*data):
    """Return the order of the rows in each of three epochs."""
    trained_on.clear()
    model = Noting()
    model.compile(run_eagerly=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fit leaves the order of a dataset as it is
        model.fit(*data, epochs=3, verbose=0)
    return [trained_on[start : start + 8] for start in (0, 8, 16)]


def dataset():
    """Put the same rows into a pipeline with a shuffle of its own."""
    return tf.data.Dataset.from_tensor_slices((rows, rows)).shuffle(len(rows)).batch(4)


unseeded = fit(rows, rows)
keras.utils.set_random_seed(1)
array, array_again = fit(rows, rows), fit(rows, rows)
keras.utils.set_random_seed(1)
pipeline = fit(dataset())
keras.utils.set_random_seed(1)
pipeline_again = fit(dataset())
print("no seed, fit(x, y), one order:", unseeded[0] == unseeded[1] == unseeded[2])
print("set_random_seed(1), fit(x, y):", *array)
print("set_random_seed(1), fit(dataset):", *pipeline)
# --8<-- [end:orders]

claims = {
    "unseeded_array_has_one_order": unseeded[0] == unseeded[1] == unseeded[2],
    "seeded_array_has_one_order": array[0] == array[1] == array[2],
    "second_fit_has_the_same_order": array_again == array,
    "seeded_array_keeps_the_stored_order": array[0] == list(range(8)),
    "seeded_pipeline_has_one_order": pipeline[0] == pipeline[1] == pipeline[2],
    "seeded_pipeline_is_reproduced": pipeline == pipeline_again,
    "every_row_once": all(sorted(order) == list(range(8)) for order in array),
}
