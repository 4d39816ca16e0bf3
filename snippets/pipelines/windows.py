# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Cut windows out of a time series with tf.data and with Keras, and compare them with NumPy."""

# --8<-- [start:windows]
import keras
import numpy as np
import tensorflow as tf

LENGTH = 4
series = np.arange(10.0, dtype="float32") ** 2
inputs = np.lib.stride_tricks.sliding_window_view(series[:-1], LENGTH)
targets = series[LENGTH:]  # the value that follows each window

windows = tf.data.Dataset.from_tensor_slices(series).window(
    LENGTH + 1, shift=1, drop_remainder=True
)
flat = windows.flat_map(lambda w: w.batch(LENGTH + 1, drop_remainder=True))
pairs = flat.map(lambda w: (w[:-1], w[-1])).batch(3)

by_keras = keras.utils.timeseries_dataset_from_array(
    series[:-1], targets, sequence_length=LENGTH, batch_size=3
)


def all_rows(data):
    """Return all inputs and all targets of a data set of batches."""
    return [
        np.concatenate(part) for part in zip(*data.as_numpy_iterator(), strict=True)
    ]


same = {
    name: all(map(np.array_equal, all_rows(data), (inputs, targets)))
    for name, data in {"window, flat_map": pairs, "Keras": by_keras}.items()
}
for name, equal in same.items():
    print(f"{name}: as in NumPy: {equal}")
first, second = (next(iter(data))[0].shape for data in (pairs, by_keras))
print("a batch of inputs:", tuple(first), tuple(second))
# --8<-- [end:windows]

errors = {}
try:
    windows.map(lambda w: (w[:-1], w[-1]))
except TypeError as error:
    errors["no_flat_map"] = str(error).strip().splitlines()[-1].strip()
wrong = keras.utils.timeseries_dataset_from_array(
    series, series, sequence_length=LENGTH, batch_size=3
)
_, of_the_window = all_rows(wrong)
claims = {
    "window_equals_numpy": same["window, flat_map"],
    "keras_equals_numpy": same["Keras"],
    "series_as_targets_gives_the_first_value": np.array_equal(
        of_the_window, series[: len(of_the_window)]
    ),
    "a_window_is_a_tensor": "no_flat_map" not in errors,
}
