# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# tolerance = 0.05
# ///
"""Rows of different lengths in a ragged tensor: the errors on the way to `fit`, and two ways to pad each batch."""

# --8<-- [start:rows]
import re

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
lists = [rng.integers(1, 10, size=rng.integers(2, 12)).tolist() for _ in range(64)]
labels = np.array([[row[-1] > 5] for row in lists], "float32")
rows = tf.data.Dataset.from_tensor_slices((tf.ragged.constant(lists), labels))


def network(**options):
    """Return an embedding that masks 0, a GRU and one unit."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32", **options),
            keras.layers.Embedding(10, 4, mask_zero=True),
            keras.layers.GRU(8),
            keras.layers.Dense(1),
        ]
    )
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.03), loss)
    return model


def train(dataset, **options):
    """Return the loss before and after training."""
    model = network(**options)
    before = model.evaluate(dataset, verbose=0)
    model.fit(dataset, epochs=12, shuffle=False, verbose=0)
    return before, model.evaluate(dataset, verbose=0)


# --8<-- [end:rows]

# --8<-- [start:errors]
mistakes = {
    "ragged_in_fit": lambda: train(rows.batch(8)),
    "ragged_input": lambda: train(rows.batch(8), ragged=True),
    "padded_batch": lambda: train(rows.padded_batch(8)),
}
errors = {}
for name, mistake in mistakes.items():
    try:
        mistake()
    except (TypeError, ValueError) as error:
        text = re.sub("\x1b.*?m", "", str(error)).split("call().")[-1].strip()
        text = re.split(" but type|\n", text)[0]
        errors[name] = f"{type(error).__name__}: {text}"
        print(f"{name}: {errors[name]}")
# --8<-- [end:errors]

# --8<-- [start:padded]
# Inside a map, a row is a plain tensor, which padded_batch can pad.
cures = {
    "to_tensor": rows.batch(8).map(lambda x, y: (x.to_tensor(), y)),
    "padded_batch": rows.map(lambda x, y: (x, y)).padded_batch(8),
}
losses = {name: train(dataset) for name, dataset in cures.items()}
for name, (before, after) in losses.items():
    print(f"{name}: loss {before:.2f} before training, {after:.2f} after")
batches = {name: [x.numpy() for x, _ in dataset] for name, dataset in cures.items()}
print("shapes:", *sorted({x.shape for x in batches["to_tensor"]}))
# --8<-- [end:padded]

by_hand = [
    [row + [0] * (max(map(len, part)) - len(row)) for row in part]
    for part in (lists[start : start + 8] for start in range(0, 64, 8))
]
claims = {
    "ragged_batches_raise": "ragged_in_fit" in errors,
    "ragged_input_helps": "ragged_input" not in errors,
    "padded_batch_takes_ragged_rows": "padded_batch" not in errors,
    "both_pad_at_the_end_to_the_longest_row_of_the_batch": all(
        np.array_equal(array, expected)
        for arrays in batches.values()
        for array, expected in zip(arrays, by_hand, strict=True)
    ),
    "both_train": all(after < 0.6 * before for before, after in losses.values()),
}
