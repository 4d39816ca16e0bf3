# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""The order in which `fit` takes the rows of an array, one under a global seed; what `validation_split` takes off."""

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


# --8<-- [start:split]
class Labels(keras.Model):
    """Note the labels of the rows of each step, in place of learning from them."""

    def train_step(self, data):
        training.update(int(label) for label in data[1])
        return {"loss": 0.0}

    def test_step(self, data):
        validation.update(int(label) for label in data[1])
        return {"loss": 0.0}


def classes(x, y):
    """Return the classes that `fit` trains on and those that it validates on."""
    training.clear()
    validation.clear()
    model = Labels()
    model.compile(run_eagerly=True)
    model.fit(x, y, validation_split=0.2, verbose=0)
    return sorted(training), sorted(validation)


training, validation = set(), set()
by_class = np.repeat(np.arange(10), 10)  # 100 rows of ten classes, class by class
in_order = classes(by_class[:, None], by_class)
order = np.random.default_rng(0).permutation(100)
mixed = classes(by_class[order][:, None], by_class[order])
print("rows sorted by class: trained on", *in_order[0], "validated on", *in_order[1])
print("permuted before fit: trained on", *mixed[0], "validated on", *mixed[1])
# --8<-- [end:split]

split_error = ""
try:
    classes(dataset(), None)
except ValueError as error:
    split_error = f"ValueError: {str(error).partition('Found')[0].strip()}"

claims = {
    "unseeded_array_has_one_order": unseeded[0] == unseeded[1] == unseeded[2],
    "seeded_array_has_one_order": array[0] == array[1] == array[2],
    "second_fit_has_the_same_order": array_again == array,
    "seeded_array_keeps_the_stored_order": array[0] == list(range(8)),
    "seeded_pipeline_has_one_order": pipeline[0] == pipeline[1] == pipeline[2],
    "seeded_pipeline_is_reproduced": pipeline == pipeline_again,
    "split_takes_the_last_rows": in_order == (list(range(8)), [8, 9]),
    "split_takes_rows_of_every_class": in_order[1] == list(range(10)),
    "permuted_first_trains_on_every_class": mixed[0] == list(range(10))
    and len(mixed[1]) > 5,
    "a_dataset_can_be_split": split_error == "",
    "every_row_once": all(sorted(order) == list(range(8)) for order in array),
}
errors = {"split_of_a_dataset": split_error}
