# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Two heads and a short last batch: the loss of a head is a mean over the batches."""

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # a mean is the same on any device

# --8<-- [start:report]
x = np.zeros((33, 1), "float32")  # both heads say 0 for every row
targets = {name: np.zeros((33, 1), "float32") for name in ("a", "b")}
targets["a"][-1] = 33  # the last row alone is wrong

inputs = keras.Input((1,))
heads = {name: keras.layers.Dense(1, name=name)(inputs) for name in targets}
model = keras.Model(inputs, heads)
model.compile(
    loss={"a": "mse", "b": "mse"},
    metrics={"a": [keras.metrics.MeanSquaredError(name="mse")]},
)
reported = {
    size: model.evaluate(x, targets, batch_size=size, verbose=0, return_dict=True)
    for size in (32, 11)
}
for size, values in reported.items():
    shown = ", ".join(f"{name} {value:.1f}" for name, value in values.items())
    print(f"33 rows in batches of {size}: {shown}")
# --8<-- [end:report]


model.compile(loss={"a": "mse", "b": "mse"}, run_eagerly=True)
eager = model.evaluate(x, targets, batch_size=32, verbose=0, return_dict=True)


def near(some, other):
    return bool(np.isclose(some, other, rtol=1e-5))


squares = targets["a"][:, 0] ** 2
of_rows = squares.mean()
of_batches = np.mean([squares[:32].mean(), squares[32:].mean()])
short, even = reported[32], reported[11]
claims = {
    "a_heads_loss_is_the_mean_of_the_batches": near(short["a_loss"], of_batches),
    "a_heads_loss_is_the_mean_of_the_rows": near(short["a_loss"], of_rows),
    "the_total_is_the_mean_of_the_rows": near(short["loss"], of_rows),
    "the_heads_add_up_to_the_total": near(
        short["a_loss"] + short["b_loss"], short["loss"]
    ),
    "the_metric_is_the_mean_of_the_rows": near(short["a_mse"], of_rows),
    "eager_it_is_the_mean_of_the_rows": near(eager["a_loss"], of_rows)
    and near(eager["loss"], of_rows),
    "without_a_short_batch_all_agree": near(even["a_loss"], of_rows)
    and near(even["a_mse"], of_rows)
    and near(even["loss"], even["a_loss"] + even["b_loss"]),
}
