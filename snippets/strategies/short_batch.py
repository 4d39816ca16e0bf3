# /// script
# requires-python = ">=3.11"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""A last batch of one row: `fit` reports the loss of one device, and trains to other weights."""

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:data]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
batch = 8 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(3 * batch + 1, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]] + 0.1).astype("float32")

short = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
parts = [
    strategy.experimental_local_results(rows[0])
    for rows in strategy.experimental_distribute_dataset(short)
]
print(f"{len(x)} rows in batches of {batch} over {replicas} replicas")
print(
    "first batch:",
    [len(part) for part in parts[0]],
    "last batch:",
    [len(part) for part in parts[-1]],
)
# --8<-- [end:data]


# --8<-- [start:fit]
def fit(scope, data):
    """Train a linear model for one epoch; return its weights and the loss that `fit` reports."""
    with scope:
        model = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
            ]
        )
        model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    loss = model.fit(data, verbose=0).history["loss"][0]
    return model.get_weights()[0], loss


def in_numpy(last_factor=1.0):
    """Train in NumPy, with the gradient of the short batch multiplied by a factor."""
    w = np.zeros((3, 1))
    for start in range(0, len(x), batch):
        rows, target = x[start : start + batch], y[start : start + batch]
        factor = last_factor if len(rows) < batch else 1.0
        w -= factor * 0.1 * 2 / len(rows) * rows.T @ (rows @ w - target)
    return w


one, one_loss = fit(tf.distribute.get_strategy().scope(), short)
many, many_loss = fit(strategy.scope(), short)
print(f"reported loss: one device {one_loss:.4f}, {replicas} replicas {many_loss:.4f}")
print(
    f"weights: one device {one[:, 0].round(4)}, {replicas} replicas {many[:, 0].round(4)}"
)
print(
    f"last step at 1/{replicas} strength, in NumPy: {in_numpy(1 / replicas)[:, 0].round(4)}"
)
# --8<-- [end:fit]


# --8<-- [start:cures]
def loop(divisor):
    """Train in a custom loop; `divisor` says by what each replica divides the sum of its rows' losses."""
    with strategy.scope():
        weights = tf.Variable(np.zeros((3, 1), "float32"))

    @tf.function
    def step(rows):
        def on_replica(x, y):
            context = tf.distribute.get_replica_context()
            count = divisor(context, tf.cast(tf.shape(x)[0], tf.float32))
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(x @ weights - y)) / count
            weights.assign_sub(
                0.1 * context.all_reduce("SUM", tape.gradient(loss, weights))
            )

        strategy.run(on_replica, args=rows)

    for rows in strategy.experimental_distribute_dataset(short):
        step(rows)
    return weights.numpy()


dropped, _ = fit(
    strategy.scope(),
    tf.data.Dataset.from_tensor_slices((x, y)).batch(batch, drop_remainder=True),
)
counted = loop(
    lambda context, own: context.all_reduce("SUM", own)
)  # the rows that are really there
fixed = loop(lambda context, own: float(batch))  # the batch size that was asked for
cures = {
    "drop the short batch": np.allclose(dropped, in_numpy(0.0), atol=1e-5),
    "divide by the rows that are there": np.allclose(counted, in_numpy(), atol=1e-5),
    "divide by the batch size asked for": np.allclose(fixed, in_numpy(), atol=1e-5),
}
for name, equal in cures.items():
    print(f"{name}: {'as one device' if equal else 'not as one device'}")
# --8<-- [end:cures]

claims = {
    "reported_loss_is_equal": abs(one_loss - many_loss) < 1e-4,
    "weights_differ": replicas == 1 or not np.allclose(one, many, atol=1e-3),
    "one_device_is_right": bool(np.allclose(one, in_numpy(), atol=1e-5)),
    "last_step_is_one_nth": bool(np.allclose(many, in_numpy(1 / replicas), atol=1e-5)),
    "short_batch_leaves_replicas_empty": [len(part) for part in parts[-1]]
    == [1] + [0] * (replicas - 1),
    "dropping_cures": bool(cures["drop the short batch"]),
    "counting_cures": bool(cures["divide by the rows that are there"]),
    "fixed_divisor_cures": bool(cures["divide by the batch size asked for"]),
    "fixed_divisor_is_one_over_batch": bool(
        np.allclose(fixed, in_numpy(1 / batch), atol=1e-5)
    ),
}
measures = {
    "replicas": replicas,
    "rows": len(x),
    "batch": batch,
    "reported_one": one_loss,
    "reported_many": many_loss,
}
