# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""With a declared length and a full last batch, no epoch sees the end of the rows: a cache of them never fills."""

import math
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:pipeline]
ROWS, BATCH, EPOCHS = 8, 4, 3
made = []
plain = tf.data.Options()  # nothing is made ahead
plain.experimental_optimization.apply_default_optimizations = False


def rows():
    """Make rows, as a reader of files does, and remember each."""
    for n in range(ROWS):
        made.append(n)
        yield np.float32([n]), np.float32([n])


def batches(path="", declare_rows=False, declare_batches=True, shuffle=1, batch=BATCH):
    """Return batches of cached rows, by default with their number declared."""
    row = (tf.TensorSpec((1,), tf.float32),) * 2
    data = tf.data.Dataset.from_generator(rows, output_signature=row)
    if declare_rows:
        data = data.apply(tf.data.experimental.assert_cardinality(ROWS))
    data = data.cache(path).shuffle(shuffle).batch(batch)
    if declare_batches:
        number = math.ceil(ROWS / batch)
        data = data.apply(tf.data.experimental.assert_cardinality(number))
    return data.with_options(plain)


# --8<-- [end:pipeline]


# --8<-- [start:made]
def made_by_fit(data, read_first=False, validation_steps=None):
    """Return how many rows `fit` makes, to train on them or, with steps, to validate."""
    made.clear()
    if read_first:
        for _ in data:
            pass
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    options = {"epochs": EPOCHS, "shuffle": False, "verbose": 0}
    if validation_steps:
        options |= {"validation_data": data, "validation_steps": validation_steps}
        data = tf.data.Dataset.from_tensors((tf.zeros((1, 1)), tf.zeros((1, 1))))
    model.fit(data, **options)
    return len(made)


folder = tempfile.TemporaryDirectory()
file = str(pathlib.Path(folder.name, "rows"))
counts = {
    "batches declared": made_by_fit(batches()),
    "validation_steps": made_by_fit(
        batches(declare_batches=False), validation_steps=ROWS // BATCH
    ),
    "a short last batch": made_by_fit(batches(batch=3)),
    "rows declared too": made_by_fit(batches(declare_rows=True)),
    "shuffled after the cache": made_by_fit(batches(shuffle=ROWS)),
    "in a file": made_by_fit(batches(file, declare_rows=True)),
    "in a file, read once first": made_by_fit(batches(file + "_2"), read_first=True),
}
for name, count in counts.items():
    print(f"{name:27} {count:2} rows made in {EPOCHS} epochs of {ROWS}")
# --8<-- [end:made]
folder.cleanup()

claims = {
    "declared_batches_never_fill_the_cache": counts["batches declared"]
    == EPOCHS * ROWS,
    "validation_steps_never_fill_it": counts["validation_steps"] == EPOCHS * ROWS,
    "a_short_last_batch_fills_it": counts["a short last batch"] == ROWS,
    "a_shuffle_fills_it": counts["shuffled after the cache"] == ROWS,
    "declared_rows_fill_it": counts["rows declared too"] == ROWS,
    "a_file_does_not_use_the_length": counts["in a file"] == EPOCHS * ROWS,
    "reading_once_fills_a_file": counts["in a file, read once first"] == ROWS,
}
