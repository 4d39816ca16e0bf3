# /// script
# requires-python = ">=3.11"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 4
# seconds = 180
# ///
"""Each task's loss under MirroredStrategy: scaled right, the gradient is that of one device; scaled wrong, N times."""

# --8<-- [start:setup]
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
        gradient = summed_gradient(kernel, loss, targets)
        ratio = float((gradient * reference).sum() / (reference**2).sum())
        assert np.allclose(gradient, ratio * reference, atol=1e-5)
        ratios[task, name] = ratio
        print(f"{task:12} {name:27} {ratio:.2f} times the gradient of one device")
# --8<-- [end:compare]

# --8<-- [start:sum]
total = keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum")
gradient = summed_gradient(kernel, total, targets)  # of the last task, multi-label
of_sum = float((gradient * reference).sum() / (reference**2).sum())
print(f"reduction='sum': {of_sum:.2f} times the gradient of one device")
# --8<-- [end:sum]

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
