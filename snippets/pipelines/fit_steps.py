# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""What `steps_per_epoch` makes of arrays, what validations get from a generator, what `predict` and `fit` refuse."""

# --8<-- [start:arrays]
import itertools
import warnings

import keras
import numpy as np
import tensorflow as tf

x = np.arange(16.0)[:, None]
y = np.zeros(16)
trained, validated = [], []


class Noting(keras.Model):
    """Note the rows of each step, in place of training on them."""

    def train_step(self, data):
        trained.append(np.ravel(data[0]).astype(int).tolist())
        return {"loss": 0.0}

    def test_step(self, data):
        validated[-1].append(np.ravel(data[0]).astype(int).tolist())
        return {"loss": 0.0}


def fit(x, y=None, **given):
    """Return the rows of each step of training."""
    trained.clear()
    model = Noting()
    model.compile(run_eagerly=True)
    model.fit(x, y, verbose=0, **given)
    return list(trained)


def sizes(**given):
    """Return the number of rows in each batch of one epoch."""
    return [len(rows) for rows in fit(x, y, **given)]


cut, given_size = sizes(steps_per_epoch=2), sizes(steps_per_epoch=2, batch_size=4)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    rounded = sizes(steps_per_epoch=5)
print("16 rows, steps_per_epoch=2:", cut)
print("16 rows, steps_per_epoch=5:", rounded)
print("16 rows, steps_per_epoch=2, batch_size=4:", given_size)
# --8<-- [end:arrays]


# --8<-- [start:validation]
def batches(numbers):
    """Yield batches of one row, with these numbers."""
    yield from ((np.full((1, 1), number), np.zeros(1)) for number in numbers)


class Each(keras.callbacks.Callback):
    """Begin a list for each validation."""

    def on_test_begin(self, logs=None):
        validated.append([])


def validations(data, steps=None):
    """Return the batches of each of three validations."""
    validated.clear()
    options = {"validation_data": data, "validation_steps": steps}
    fit(x, y, epochs=3, callbacks=[Each()], **options)
    return list(validated)


of_arrays = [len(rows) for rows in validations((x, y), 2)[0]]
print("16 rows, validation_steps=2:", of_arrays)
ending = [list(itertools.chain(*found)) for found in validations(batches(range(4)))]
going_on = [
    list(itertools.chain(*found))
    for found in validations(batches(itertools.count()), 3)
]
print("a generator of four batches:", *ending)
first, later = [rows[:2] for rows in going_on], [rows[2] for rows in going_on]
print("an endless one, validation_steps=3: begins with", *first)
print("then a new row each time:", later == sorted(set(later)))
# --8<-- [end:validation]

# --8<-- [start:predict]
inputs = [keras.Input((1,)), keras.Input((1,))]
adds = keras.Model(inputs, keras.layers.Add()(inputs))


def predict(element):
    """Return the sums that the model computes from a dataset, or the error."""
    data = tf.data.Dataset.from_tensor_slices(element).batch(16)
    try:
        return adds.predict(data, verbose=0)
    except ValueError as error:
        return error


arrays = adds.predict([x, x], verbose=0)
flat, nested = predict((x, x)), predict(((x, x),))
for name, found in (("(a, b)", flat), ("((a, b),)", nested)):
    print(name, "an error" if isinstance(found, ValueError) else found[:4, 0])
# --8<-- [end:predict]


def refusal(*data):
    """Return the error of `fit`, up to what differs from run to run."""
    try:
        fit(*data)
    except ValueError as error:
        text = str(error).partition(" at 0x")[0].partition("'x' sizes")[0]
        return f"ValueError: {text.strip()}"
    return ""


said = str(flat).partition(" Inputs received")[0]
messages = {
    "a_function": refusal(batches),
    "a_list_of_rows": refusal(list(x), y),
    "inputs_of_predict": f"ValueError: {said}" if isinstance(flat, ValueError) else "",
}
errors = {name: text for name, text in messages.items() if text}
alike = [refusal(zip(x, y, strict=True)), refusal(x, y.tolist())]
claims = {
    "steps_cut_validation_arrays_too": of_arrays == [8, 8],
    "a_zip_and_a_list_are_refused_alike": all(
        text.startswith("ValueError: Unrecognized data type: x=") for text in alike
    ),
    "predict_takes_arrays_as_inputs": bool(np.array_equal(arrays, 2 * x)),
    "steps_cut_arrays_into_batches": cut == [8, 8],
    "steps_leave_the_default_size": 32 in cut,
    "rounding_up_leaves_fewer_batches": rounded == [4, 4, 4, 4],
    "then_it_warns": any("ran out of data" in str(one.message) for one in caught),
    "a_given_size_is_kept": given_size == [4, 4],
    "each_validation_gets_all_of_a_generator": ending == [[0, 1, 2, 3]] * 3,
    "later_validations_get_two_batches": ending == [[0, 1, 2, 3], [0, 1], [0, 1]],
    "validations_on_an_endless_generator_are_alike": going_on == [going_on[0]] * 3,
    "each_begins_with_the_two_kept": first == [[0, 1]] * 3,
    "predict_drops_the_second_part": isinstance(flat, ValueError),
    "predict_takes_nested_inputs": not isinstance(nested, ValueError)
    and bool(np.array_equal(nested, 2 * x)),
}
