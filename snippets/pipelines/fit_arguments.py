# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Which arguments of `fit` work with which kind of data: each pair is tried, and what its steps saw is compared."""

import warnings

import keras
import numpy as np
import tensorflow as tf

ROWS = 16
x = np.arange(float(ROWS))[:, None]
y = np.arange(ROWS) % 2


class Batches(keras.utils.PyDataset):
    """Two rows in each batch, as in all kinds but the arrays."""

    def __len__(self):
        return ROWS // 2

    def __getitem__(self, number):
        part = slice(2 * number, 2 * number + 2)
        return x[part], y[part]


def endless():
    batches = Batches()
    while True:
        yield from (batches[number] for number in range(len(batches)))


def dataset():
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(2)


kinds = {
    "arrays": lambda: {"x": x, "y": y},
    "`Dataset`": lambda: {"x": dataset()},
    "`PyDataset`": lambda: {"x": Batches()},
    "generator": lambda: {"x": endless(), "steps_per_epoch": ROWS // 2},
}
arguments = {
    "y": y,
    "batch_size": 4,
    "shuffle": True,
    "validation_split": 0.5,
    "class_weight": {0: 1.0, 1: 3.0},
    "sample_weight": np.arange(ROWS),
}
steps = []


class Noting(keras.Model):
    """Note the rows and the weights of each step, in place of training on them."""

    def train_step(self, data):
        rows, _, weights = keras.utils.unpack_x_y_sample_weight(data)
        parts = [part for part in (rows, weights) if part is not None]
        steps.append([np.ravel(part).tolist() for part in parts])
        return {"loss": 0.0}

    def test_step(self, data):
        return {"loss": 0.0}


def fit(**given):
    """Return what the steps of two epochs saw, or the error, and the warnings."""
    steps.clear()
    model = Noting()
    model.compile(run_eagerly=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model.fit(**{"epochs": 2, "verbose": 0, **given})
        except ValueError as error:
            return error, []
    return list(steps), [str(one.message) for one in said]


def verdict(kind, name):
    """Compare the steps with an argument to those without it."""
    without, _ = fit(**kinds[kind](), shuffle=False)
    seen, said = fit(**{**kinds[kind](), "shuffle": False, name: arguments[name]})
    if isinstance(seen, Exception):
        return "an error"
    if seen != without or (kind, name) == ("arrays", "y"):  # there it is always given
        return "works"
    return "ignored, a warning" if any(name in text for text in said) else "ignored"


found = {name: {kind: verdict(kind, name) for kind in kinds} for name in arguments}
by_default = fit(**kinds["`Dataset`"]())[1]

# --8<-- [start:unbatched]
labels = np.zeros(16)
rows_of = {
    width: tf.data.Dataset.from_tensor_slices((np.ones((16, width)), labels))
    for width in (1, 3)
}


def steps_of(width, *layers):
    """Return the number of steps in an epoch over rows that nobody batched, or the error."""
    model = keras.Sequential([*layers, keras.layers.Dense(1, name="dense")])
    model.compile("sgd", "mse")
    try:
        model.fit(rows_of[width], batch_size=4, shuffle=False, verbose=0)
    except ValueError as error:
        return str(error)
    return int(model.optimizer.iterations)


three, three_unbuilt = steps_of(3, keras.Input((3,))), steps_of(3)
one = steps_of(1, keras.Input((1,)))
print("rows of three numbers:", "an error" if isinstance(three, str) else three)
print("rows of one number:", one, "steps of one row")
# --8<-- [end:unbatched]


def line(text, begin):
    """Return the line of a message from `begin` on, without its colours, or nothing."""
    _, found, rest = str(text).partition(begin)
    rest = rest.partition("\n")[0].removesuffix("\x1b[0m")
    return f"ValueError: {begin}{rest}" if found else ""


def raised(kind, name):
    seen, _ = fit(**{**kinds[kind](), name: arguments[name]})
    return f"ValueError: {seen}" if isinstance(seen, ValueError) else ""


tables = {
    "arguments": {
        "columns": ["argument", *kinds],
        "rows": [[f"`{name}`", *row.values()] for name, row in found.items()],
    }
}
messages = {
    "targets_twice": raised("`Dataset`", "y"),
    "weights_of_a_dataset": raised("`Dataset`", "sample_weight"),
    "class_weight_of_a_generator": raised("generator", "class_weight").partition(
        " Received"
    )[0],
    "shuffle_of_a_dataset": f"UserWarning: {by_default[0]}" if by_default else "",
    "no_batches": line(three, "Expected shape"),
    "no_batches_no_input": line(three_unbuilt, "Input 0 "),
}
errors = {name: text for name, text in messages.items() if text}
data = found["batch_size"]
claims = {
    "arrays_take_all": {found[name]["arrays"] for name in found} == {"works"},
    "batch_size_of_a_dataset_works": data["`Dataset`"] == "works",
    "batch_size_of_a_dataset_raises": data["`Dataset`"] == "an error",
    "batch_size_of_a_dataset_warns": data["`Dataset`"] == "ignored, a warning",
    "a_py_dataset_is_shuffled": found["shuffle"]["`PyDataset`"] == "works",
    "a_dataset_is_shuffled": found["shuffle"]["`Dataset`"] == "works",
    "a_dataset_warns_by_default": bool(by_default),
    "only_arrays_are_split": [
        kind for kind, said in found["validation_split"].items() if said == "works"
    ]
    == ["arrays"],
    "class_weight_works_with_a_dataset": found["class_weight"]["`Dataset`"] == "works",
    "class_weight_works_with_a_generator": found["class_weight"]["generator"]
    == "works",
    "unbatched_rows_raise": isinstance(three, str),
    "unbatched_numbers_train_one_by_one": one == 16,
}
