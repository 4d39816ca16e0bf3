# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""A loss of your own: labels arrive as float32, some operations then raise, and a file holds only the name."""

# --8<-- [start:cast]
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 4)).astype("float32")
number = rng.integers(0, 3, size=64)  # int64
weight = [1.0, 1.0, 4.0]  # of each class
arrived = []


def weighted(y, scores):
    """Return the weighted cross-entropy, one value for each row."""
    arrived.append(y.dtype.name)
    y = tf.cast(y, "int32")
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)
    return tf.gather(weight, y) * each


def network(loss):
    """Return three scores for each row, compiled with this loss."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", loss=loss)
    return model


model = network(weighted)
model.fit(x, number, verbose=0)
loss = model.evaluate(x, number, verbose=0)
print(f"{number.dtype} labels arrive as {arrived[0]}; loss {loss:.3f}")
# --8<-- [end:cast]

# --8<-- [start:no_cast]
without_cast = {
    "one_hot": lambda y, z: -tf.reduce_sum(tf.one_hot(y, 3) * tf.nn.log_softmax(z), -1),
    "gather": lambda y, z: tf.gather(weight, y) * tf.reduce_sum(z, -1),
    "sparse": tf.nn.sparse_softmax_cross_entropy_with_logits,
}
errors = {}
for name, wrong in without_cast.items():
    try:
        network(wrong).fit(x, number, verbose=0)
    except TypeError as error:
        errors[name] = f"TypeError: {error}"
        print(f"{name}: {errors[name]}")
# --8<-- [end:no_cast]


# --8<-- [start:keras]
def by_keras(y, z):
    return -keras.ops.sum(keras.ops.one_hot(y, 3) * keras.ops.log_softmax(z), -1)


of_keras = network(by_keras)
loss_of_keras = of_keras.evaluate(x, number, verbose=0)
print(f"loss {loss_of_keras:.3f}")
# --8<-- [end:keras]

# --8<-- [start:column]
column = number[:, None]  # (64, 1), as many data sets have them
print("labels (64,):  ", by_keras(number, model(x)).shape)
print("labels (64, 1):", by_keras(column, model(x)).shape)
wrong = network(by_keras).evaluate(x, column, verbose=0)
print(f"no error: loss {wrong:.3f}, was {loss_of_keras:.3f}")
# --8<-- [end:column]

# --8<-- [start:load]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.keras"
    model.save(path)
    try:
        keras.models.load_model(path)
    except TypeError as error:
        errors["load"] = f"TypeError: {str(error).split(' Full object')[0]}"
    trains = keras.models.load_model(path, custom_objects={"weighted": weighted})
    predicts = keras.models.load_model(path, compile=False)
print("with the function, loss", round(trains.evaluate(x, number, verbose=0), 3))
equal = np.array_equal(predicts(x), model(x))
print("without compiling, the same outputs:", equal)
# --8<-- [end:load]


def costs(model):
    """Return the cross-entropy of each row, with NumPy."""
    scores = np.asarray(model(x), "float64")
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return -np.log(chances[np.arange(64), number])


by_hand = np.mean(np.array(weight)[number] * costs(model))
claims = {
    "labels_keep_their_type": str(number.dtype) in arrived,
    "labels_arrive_as_float32": set(arrived) == {"float32"},
    "own_loss_is_numpy": bool(np.isclose(loss, by_hand, rtol=1e-3)),
    "each_raises_without_a_cast": set(without_cast) <= set(errors),
    "one_hot_of_keras_needs_no_cast": bool(
        np.isclose(loss_of_keras, costs(of_keras).mean(), rtol=1e-3)
    ),
    "a_column_compares_every_row_with_every_label": by_keras(column, model(x)).shape
    == (64, 64)
    and not np.isclose(wrong, loss_of_keras, rtol=0.01),
    "loading_finds_the_function": "load" not in errors,
    "custom_objects_restore_the_loss": bool(
        np.isclose(trains.evaluate(x, number, verbose=0), by_hand, rtol=1e-3)
    ),
    "without_compiling_it_predicts": equal,
}
