# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 4
# seconds = 180
# ///
"""Each task's loss under MirroredStrategy: scaled right, the gradient is that of one device; scaled wrong, N times."""

# --8<-- [start:setup]
import functools

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes, load_digits

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
batch = 12 * replicas

images, digit = load_digits(return_X_y=True)
x = (images[:batch] / 16).astype("float32")
digit = digit[:batch]
progression = load_diabetes(return_X_y=True)[1][:batch]
has = np.stack([digit % 2 == 0, digit >= 5, np.isin(digit, [0, 6, 8, 9])], axis=1)
tasks = {  # units, labels, loss without any mean over the batch, loss object of Keras
    "regression": (
        1,
        ((progression - 152) / 77)[:, None],
        keras.losses.mean_squared_error,
        keras.losses.MeanSquaredError(),
    ),
    "binary": (
        1,
        has[:, :1],
        lambda y, z: keras.losses.binary_crossentropy(y, z, from_logits=True),
        keras.losses.BinaryCrossentropy(from_logits=True),
    ),
    "multiclass": (
        10,
        digit[:, None],
        lambda y, z: keras.losses.sparse_categorical_crossentropy(
            y, z, from_logits=True
        ),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    ),
    "multi-label": (
        3,
        has,
        lambda y, z: keras.losses.binary_crossentropy(y, z, from_logits=True),
        keras.losses.BinaryCrossentropy(from_logits=True),
    ),
}
print(f"{replicas} replicas, a global batch of {batch}")
# --8<-- [end:setup]


# --8<-- [start:scalings]
def scalings(each, whole):
    """Return four ways to make one number of a replica's rows; `each` gives one loss per row."""
    return {
        "compute_average_loss": lambda y, z: tf.nn.compute_average_loss(
            each(y, z), global_batch_size=batch
        ),
        "loss object": whole,
        "mean of the replica's rows": lambda y, z: tf.reduce_mean(each(y, z)),
        "loss object, divided again": lambda y, z: whole(y, z) / replicas,
    }


def summed_gradient(kernel, loss, labels):
    """Return the gradient summed over the replicas, as an optimizer sees it."""
    data = tf.data.Dataset.from_tensor_slices((x, labels)).batch(batch)
    rows = next(iter(strategy.experimental_distribute_dataset(data)))

    @tf.function
    def step(rows):
        def on_replica(x, y):
            with tf.GradientTape() as tape:
                value = loss(y, x @ kernel)
            return tape.gradient(value, kernel)

        return strategy.reduce("SUM", strategy.run(on_replica, args=rows), axis=None)

    return step(rows).numpy()


def times(reference, gradient):
    """Return how many times `reference` a gradient is."""
    ratio = float((gradient * reference).sum() / (reference**2).sum())
    assert np.allclose(gradient, ratio * reference, atol=1e-5)
    return ratio


# --8<-- [end:scalings]

# --8<-- [start:compare]
ratios = {}
for task, (units, labels, each, whole) in tasks.items():
    targets = labels.astype("float32")
    start = np.random.default_rng(0).normal(size=(64, units)).astype("float32") / 8
    alone = tf.Variable(start)
    with tf.GradientTape() as tape:  # one device, the whole batch, the plain mean
        value = tf.reduce_mean(each(targets, x @ alone))
    reference = tape.gradient(value, alone).numpy()
    with strategy.scope():
        kernel = tf.Variable(start)
    for name, loss in scalings(each, whole).items():
        ratio = times(reference, summed_gradient(kernel, loss, targets))
        ratios[task, name] = ratio
        print(f"{task:12} {name:27} {ratio:.2f} times the gradient of one device")
# --8<-- [end:compare]

# --8<-- [start:sum]
total = keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum")
of_sum = times(reference, summed_gradient(kernel, total, targets))  # of multi-label
print(f"reduction='sum': {of_sum:.2f} times the gradient of one device")
# --8<-- [end:sum]


# --8<-- [start:steps]
def each_step(y, z):
    """Return one loss for each of ten steps of a row, of shape (rows, 10)."""
    return keras.losses.binary_crossentropy(y, z[..., None], from_logits=True)


steps = np.eye(10, dtype="float32")[digit][..., None]  # ten answers for each row
with strategy.scope():
    kernel = tf.Variable(np.full((64, 10), 0.01, "float32"))
alone = tf.Variable(np.full((64, 10), 0.01, "float32"))
with tf.GradientTape() as tape:
    value = tf.reduce_mean(each_step(steps, x @ alone))
reference = tape.gradient(value, alone).numpy()
whole = keras.losses.BinaryCrossentropy(from_logits=True)
ways = {
    "compute_average_loss": lambda y, z: tf.nn.compute_average_loss(
        each_step(y, z), global_batch_size=batch
    ),
    "of the mean over a row's steps": lambda y, z: tf.nn.compute_average_loss(
        tf.reduce_mean(each_step(y, z), axis=1), global_batch_size=batch
    ),
    "loss object": lambda y, z: whole(y, z[..., None]),
}
of_steps = {}
for name, loss in ways.items():
    of_steps[name] = times(reference, summed_gradient(kernel, loss, steps))
    print(f"{name:30} {of_steps[name]:.2f} times the gradient of one device")
# --8<-- [end:steps]


# --8<-- [start:fit]
def one_number(y, prediction):
    return tf.reduce_mean((y - prediction) ** 2)


def one_for_each_row(y, prediction):
    return tf.reduce_mean((y - prediction) ** 2, axis=-1)


class OneNumber(keras.losses.Loss):
    def call(self, y, prediction):
        return one_number(y, prediction)


def one_step_of_fit(where, loss, head, x, y):
    """Return the loss that `fit` reports and the weights after one step of SGD, from zero."""
    with where.scope():
        layer = head(use_bias=False, kernel_initializer="zeros")
        model = keras.Sequential([keras.Input(x.shape[1:]), layer])
        model.compile(keras.optimizers.SGD(0.01), loss=loss)
    data = tf.data.Dataset.from_tensors((x, y))
    history = model.fit(data, shuffle=False, verbose=0).history
    return history["loss"][0], model.get_weights()[0]


def of_one_device(losses, head, x, y):
    """Return loss and step under the strategy, as multiples of those on one device."""
    one_device = tf.distribute.OneDeviceStrategy(devices[0].name)
    found = {}
    for name, loss in losses.items():
        (value, step), (reported, step_of_all) = (
            one_step_of_fit(where, loss, head, x, y) for where in (one_device, strategy)
        )
        found[name] = (reported / value, times(step, step_of_all))
        print(f"{name:26} loss {found[name][0]:.2f}, step {found[name][1]:.2f}")
    return found


losses = {
    "'mse'": "mse",
    "function, one for each row": one_for_each_row,
    "function, one number": one_number,
    "Loss subclass, one number": OneNumber(),
}
number = functools.partial(keras.layers.Dense, 1)
progress = tasks["regression"][1].astype("float32")
of_fit = of_one_device(losses, number, x, progress)
# --8<-- [end:fit]

# --8<-- [start:ratio]
pictures = np.tile(x[:12], (replicas, 1)).reshape(-1, 8, 8, 1)  # alike on each replica
ink = np.concatenate([pictures > 0.5, pictures <= 0.5], axis=-1).astype("float32")
losses = {
    "Dice()": keras.losses.Dice(),
    "Tversky()": keras.losses.Tversky(),
    "Dice(axis=(1, 2, 3))": keras.losses.Dice(axis=(1, 2, 3)),
    "Tversky(axis=(1, 2, 3))": keras.losses.Tversky(axis=(1, 2, 3)),
}
pixels = functools.partial(keras.layers.Conv2D, 2, 1, activation="softmax")
of_ratio = of_one_device(losses, pixels, pictures, ink)
# --8<-- [end:ratio]

names = list(scalings(None, None))


def all_near(name, wanted):
    """Return whether this scaling gave `wanted` times the right gradient for each task."""
    return all(abs(ratios[task, name] - wanted) < 1e-3 for task in tasks)


claims = {
    "compute_average_loss_right": all_near("compute_average_loss", 1),
    "loss_object_right": all_near("loss object", 1),
    "mean_is_n_times": all_near("mean of the replica's rows", replicas),
    "divided_again_is_one_nth": all_near("loss object, divided again", 1 / replicas),
    "sum_is_global_batch_times": bool(abs(of_sum / batch - 1) < 1e-3),
    "average_loss_of_steps_is_steps_times": bool(
        abs(of_steps["compute_average_loss"] - 10) < 1e-2
    ),
    "mean_over_steps_first_right": bool(
        abs(of_steps["of the mean over a row's steps"] - 1) < 1e-3
    ),
    "loss_object_right_for_steps": bool(abs(of_steps["loss object"] - 1) < 1e-3),
    "fit_scales_one_loss_for_each_row": bool(
        np.allclose([of_fit["'mse'"], of_fit["function, one for each row"]], 1, 1e-3)
    ),
    "one_number_in_fit_steps_n_times": bool(
        abs(of_fit["function, one number"][1] / replicas - 1) < 1e-3
    ),
    "one_number_in_fit_reports_n_times": bool(
        abs(of_fit["function, one number"][0] / replicas - 1) < 1e-3
    ),
    "subclass_with_one_number_is_the_same": bool(
        np.allclose(
            of_fit["Loss subclass, one number"], of_fit["function, one number"], 1e-3
        )
    ),
    "dice_steps_and_reports_n_times": bool(
        np.allclose([of_ratio["Dice()"], of_ratio["Tversky()"]], replicas, 1e-3)
    ),
    "dice_with_an_axis_is_right": bool(
        np.allclose(
            [of_ratio["Dice(axis=(1, 2, 3))"], of_ratio["Tversky(axis=(1, 2, 3))"]],
            1,
            1e-3,
        )
    ),
    "same_for_each_task": all(
        len({round(ratios[task, name], 3) for task in tasks}) == 1 for name in names
    ),
}
measures = {"replicas": replicas, "batch": batch}
tables = {
    "ratios": {
        "columns": ["Loss in the replica", *tasks],
        "rows": [
            [name, *(f"{ratios[task, name]:.2f}" for task in tasks)] for name in names
        ],
    }
}
