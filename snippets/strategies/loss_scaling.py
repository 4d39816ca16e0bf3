# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""How to scale the loss in a custom loop: what gives the gradient of the whole batch, and how far off the rest is."""

import keras
import numpy as np
import tensorflow as tf
import tf_keras

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
batch = 4 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(batch, 3)).astype("float32")
y = rng.normal(size=(batch, 1)).astype("float32")
with strategy.scope():
    weights = tf.Variable(np.ones((3, 1), "float32"))

# This is the gradient of the mean over the whole batch, in NumPy.
whole = 2 / batch * x.T @ (x @ np.ones((3, 1)) - y)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
rows = next(iter(strategy.experimental_distribute_dataset(dataset)))


def ratio(loss_of, combine="SUM"):
    """Return the gradient that every replica would apply, as a multiple of the whole batch's."""

    @tf.function
    def step():
        def on_replica(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, x @ weights)
            return tf.distribute.get_replica_context().all_reduce(
                combine, tape.gradient(loss, weights)
            )

        return strategy.run(on_replica, args=rows)

    gradient = strategy.experimental_local_results(step())[0].numpy()
    factor = float(np.sum(gradient * whole) / np.sum(whole**2))
    assert np.allclose(gradient, factor * whole, atol=1e-4), (
        "not a multiple: the rows were weighted unevenly"
    )
    return factor


# --8<-- [end:setup]


# --8<-- [start:cases]
def squares(y, output):
    """Return one squared error for each row."""
    return tf.square(output - y)[:, 0]


mean_of_rows = keras.losses.MeanSquaredError()
per_row = keras.losses.MeanSquaredError(reduction="none")
cases = {
    "tf.nn.compute_average_loss(losses, global_batch_size=batch)": lambda y, o: (
        tf.nn.compute_average_loss(squares(y, o), global_batch_size=batch)
    ),
    "tf.reduce_sum(losses) / batch": lambda y, o: tf.reduce_sum(squares(y, o)) / batch,
    "keras.losses.MeanSquaredError()": mean_of_rows,
    'MeanSquaredError(reduction="none"), then compute_average_loss': lambda y, o: (
        tf.nn.compute_average_loss(per_row(y, o), global_batch_size=batch)
    ),
    "keras.losses.MeanSquaredError() / replicas": lambda y, o: (
        mean_of_rows(y, o) / replicas
    ),
    "tf.reduce_mean(losses)": lambda y, o: tf.reduce_mean(squares(y, o)),
    "tf.reduce_mean(keras.losses.mean_squared_error(...))": lambda y, o: tf.reduce_mean(
        keras.losses.mean_squared_error(y, o)
    ),
    "tf.reduce_sum(losses)": lambda y, o: tf.reduce_sum(squares(y, o)),
}
ratios = {name: ratio(loss_of) for name, loss_of in cases.items()}
ratios["tf.reduce_mean(losses), gradients combined by MEAN"] = ratio(
    cases["tf.reduce_mean(losses)"], combine="MEAN"
)
for name, factor in ratios.items():
    print(f"{factor:7.2f}  {name}")
# --8<-- [end:cases]

# --8<-- [start:scope]
output = x @ np.ones((3, 1), "float32")
outside = float(mean_of_rows(y, output))
with strategy.scope():  # nothing runs on replicas here
    inside = float(mean_of_rows(y, output))
print(f"MeanSquaredError() in plain code: {outside:.4f}, under scope(): {inside:.4f}")
# --8<-- [end:scope]

# --8<-- [start:tf_keras]
errors = {}
try:
    ratio(tf_keras.losses.MeanSquaredError())
except ValueError as error:
    text = str(error)
    errors["tf_keras_default"] = (
        "ValueError: "
        + text[text.index("Please use `tf.keras") :].partition(" for loss")[0]
    )
    print(errors["tf_keras_default"])
# --8<-- [end:tf_keras]


def is_near(name, value):
    """Return whether the case has this ratio."""
    return abs(ratios[name] - value) < 1e-3 * max(1, value)


def meaning(factor):
    """Say in words what the ratio means."""
    names = {
        1.0: "right",
        1 / replicas: "replicas times too small",
        float(replicas): "replicas times too large",
    }
    return next(
        (text for value, text in names.items() if abs(factor - value) < 1e-3),
        "batch size times too large",
    )


tables = {
    "ratios": {
        "columns": [
            "loss on each replica",
            "gradient / whole batch's gradient",
            "so it is",
        ],
        "rows": [
            [name, round(factor, 3), meaning(factor)] for name, factor in ratios.items()
        ],
    }
}
claims = {
    "keras_loss_divides_in_the_scope_too": abs(inside * replicas / outside - 1) < 1e-5,
    "average_loss_is_right": is_near(
        "tf.nn.compute_average_loss(losses, global_batch_size=batch)", 1
    ),
    "sum_over_batch_is_right": is_near("tf.reduce_sum(losses) / batch", 1),
    "keras_loss_is_right": is_near("keras.losses.MeanSquaredError()", 1),
    "keras_loss_divided_again_is_one_nth": is_near(
        "keras.losses.MeanSquaredError() / replicas", 1 / replicas
    ),
    "mean_of_own_rows_is_n_times": is_near("tf.reduce_mean(losses)", replicas),
    "keras_function_mean_is_n_times": is_near(
        "tf.reduce_mean(keras.losses.mean_squared_error(...))", replicas
    ),
    "sum_is_batch_times": is_near("tf.reduce_sum(losses)", batch),
    "mean_and_mean_is_right": is_near(
        "tf.reduce_mean(losses), gradients combined by MEAN", 1
    ),
    "tf_keras_default_raises": "tf_keras_default" in errors or replicas == 1,
}
measures = {"replicas": replicas, "batch": batch}
