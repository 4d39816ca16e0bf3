# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""Metrics and an evaluation in a custom loop, then many steps in one call, each compared with NumPy."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
batch, steps, epochs = 4 * strategy.num_replicas_in_sync, 5, 2
RATE = 0.05

rng = np.random.default_rng(0)
x = rng.normal(size=(steps * batch, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")
test_x = rng.normal(size=(2 * batch + 1, 3)).astype("float32")  # last batch: one row
test_y = (test_x @ [[1.0], [-2.0], [0.5]]).astype("float32")


def batches(x, y):
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
    return strategy.experimental_distribute_dataset(data)


# --8<-- [end:setup]

# --8<-- [start:model]
with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
        ]
    )
    optimizer = keras.optimizers.SGD(RATE)
    optimizer.build(model.trainable_variables)
    train_loss, test_loss = keras.metrics.Mean(), keras.metrics.Mean()
    test_error = keras.metrics.MeanAbsoluteError()
    of_means = keras.metrics.Mean()  # to be fed wrongly, below
# --8<-- [end:model]


# --8<-- [start:steps]
def squares(output, y):
    """Return one loss for each row."""
    return tf.square(output - y)[:, 0]


def train_on_replica(x, y):
    with tf.GradientTape() as tape:
        losses = squares(model(x, training=True), y)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=batch)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    train_loss.update_state(losses)


def test_on_replica(x, y):
    output = model(x, training=False)
    losses = squares(output, y)
    test_loss.update_state(losses)
    test_error.update_state(y, output)
    of_means.update_state(tf.reduce_mean(losses))  # wrong: a mean, not the rows


@tf.function
def train(rows):
    strategy.run(train_on_replica, args=rows)


@tf.function
def test(rows):
    strategy.run(test_on_replica, args=rows)


# --8<-- [end:steps]

# --8<-- [start:epochs]
start = model.get_weights()
train_batches, test_batches = batches(x, y), batches(test_x, test_y)
reported, counted = [], []
for _ in range(epochs):
    for rows in train_batches:
        train(rows)
    for rows in test_batches:
        test(rows)
    metrics = train_loss, test_loss, test_error, of_means
    reported.append([float(metric.result()) for metric in metrics])
    counted.append(int(test_loss.count.numpy()))
    for metric in metrics:
        metric.reset_state()
one_by_one, reported = model.get_weights()[0], np.array(reported)
for epoch, (loss, validation, error, _) in enumerate(reported, 1):
    print(
        f"epoch {epoch}: loss {loss:.4f}, test loss {validation:.4f}, off by {error:.4f}"
    )
# --8<-- [end:epochs]


# --8<-- [start:many]
@tf.function
def train_many(iterator, steps):
    """Train on the next batches; Python is not asked in between."""
    for _ in tf.range(steps):
        strategy.run(train_on_replica, args=next(iterator))


model.set_weights(start)
for _ in range(epochs):
    train_many(iter(train_batches), tf.constant(steps))
in_one_call = model.get_weights()[0]
print("weights of single steps:", np.allclose(in_one_call, one_by_one, atol=1e-6))
# --8<-- [end:many]


# --8<-- [start:check]
def in_numpy():
    """Return the last weights, and loss, test loss and test error of each epoch."""
    w, metrics = np.zeros((3, 1)), []
    for _ in range(epochs):
        losses = []
        for first in range(0, len(x), batch):
            away = x[first : first + batch] @ w - y[first : first + batch]
            losses.append(away**2)
            w = w - RATE * 2 / batch * x[first : first + batch].T @ away
        away = test_x @ w - test_y
        metrics.append([np.mean(losses), np.mean(away**2), np.mean(abs(away))])
    return w, np.array(metrics)


expected_weights, expected = in_numpy()
right, fed_with_means = reported[:, :3], reported[:, 3]
print("metrics equal to NumPy:", np.allclose(right, expected, rtol=1e-4))
print("the one fed with means:", np.allclose(fed_with_means, expected[:, 1], rtol=1e-3))
# --8<-- [end:check]

# The last batch has one row for each replica, so no mean is `nan`.
whole = 2 * batch + strategy.num_replicas_in_sync
for rows in batches(x[:whole], y[:whole]):
    test(rows)
of_rows = float(np.mean((x[:whole] @ in_one_call - y[:whole]) ** 2))
one_large_step = RATE * 2 / batch * epochs * x.T @ y  # all gradients at the start
claims = {
    "metrics_equal_numpy": bool(np.allclose(right, expected, rtol=1e-4)),
    "every_test_row_counted_once": counted == [len(test_x)] * epochs,
    "means_are_wrong": not np.isclose(float(of_means.result()), of_rows, rtol=1e-3),
    "the_rows_are_right": bool(
        np.isclose(float(test_loss.result()), of_rows, rtol=1e-3)
    ),
    "a_replica_without_rows_gives_nan": bool(np.isnan(fed_with_means).all())
    == (strategy.num_replicas_in_sync > 1),
    "single_steps_equal_numpy": bool(
        np.allclose(one_by_one, expected_weights, atol=1e-5)
    ),
    "many_in_one_call_equal_numpy": bool(
        np.allclose(in_one_call, expected_weights, atol=1e-5)
    ),
    "many_in_one_call_are_one_large_step": bool(
        np.allclose(in_one_call, one_large_step, atol=1e-3)
    ),
    "many_in_one_call_keep_the_metric": bool(
        np.isclose(float(train_loss.result()), np.mean(expected[:, 0]), rtol=1e-4)
    ),
}
measures = {"replicas": strategy.num_replicas_in_sync, "steps": steps}
