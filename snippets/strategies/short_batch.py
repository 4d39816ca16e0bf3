# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""A last batch of one row: `fit` reports a usual loss, and trains to other weights, or to NaN."""

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


# --8<-- [start:parts]
def in_parts(rows, shares):
    """Train in NumPy, each share with the mean of its own rows divided by the shares."""
    w = np.zeros((3, 1))
    for start in range(0, rows, batch):
        here = slice(start, min(start + batch, rows))
        size = -(-len(x[here]) // shares)  # rounded up
        cuts = [(x[here][i:][:size], y[here][i:][:size]) for i in range(0, batch, size)]
        gradients = [2 / len(a) * a.T @ (a @ w - b) for a, b in cuts if len(a)]
        w -= 0.1 * sum(gradients) / shares
    return w


last_batches = {}
for last in (replicas, replicas + 1, 2 * replicas - 1):
    rows = 2 * batch + last
    data = tf.data.Dataset.from_tensor_slices((x[:rows], y[:rows])).batch(batch)
    *_, (part, _) = strategy.experimental_distribute_dataset(data)
    sizes = [len(share) for share in strategy.experimental_local_results(part)]
    here, _ = fit(strategy.scope(), data)
    apart = np.abs(here - in_parts(rows, shares=1)).max()
    as_told = np.allclose(here, in_parts(rows, shares=replicas), atol=1e-5)
    last_batches[last] = sizes, apart, as_told
    print(f"{last} rows in the last batch: {sizes}, {apart:.4f} from one device")
# --8<-- [end:parts]


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
# Divide by the rows that are really there.
counted = loop(lambda context, own: context.all_reduce("SUM", own))
fixed = loop(lambda context, own: float(batch))  # the batch size that was asked for
cures = {
    "drop the short batch": np.allclose(dropped, in_numpy(0.0), atol=1e-5),
    "divide by the rows that are there": np.allclose(counted, in_numpy(), atol=1e-5),
    "divide by the batch size asked for": np.allclose(fixed, in_numpy(), atol=1e-5),
}
for name, equal in cures.items():
    print(f"{name}: {'as one device' if equal else 'not as one device'}")
# --8<-- [end:cures]


# --8<-- [start:batch_norm]
def build(scope, **options):
    with scope:
        keras.utils.set_random_seed(0)
        layers = [
            keras.Input((3,)),
            keras.layers.Dense(4),
            keras.layers.BatchNormalization(**options),
            keras.layers.Dense(1),
        ]
        model = keras.Sequential(layers)
        model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
        model.optimizer.build(model.trainable_variables)
    return model


def by_fit(model, *parts):
    return [model.fit(data, verbose=0).history["loss"][0] for data in parts]


def by_loop(model, *parts):
    """Divide by the rows that are there; return the mean loss of a row in each part."""
    weights = model.trainable_variables

    @tf.function
    def step(rows):
        def on_replica(x, y):
            context = tf.distribute.get_replica_context()
            count = context.all_reduce("SUM", tf.cast(tf.shape(x)[0], tf.float32))
            with tf.GradientTape() as tape:
                output = model(x, training=True)
                total = tf.reduce_sum(tf.square(output - y))
                loss = total / count
            model.optimizer.apply(tape.gradient(loss, weights), weights)
            return total

        return strategy.reduce("SUM", strategy.run(on_replica, args=rows), axis=None)

    def mean(data):
        batches = strategy.experimental_distribute_dataset(data)
        return sum(float(step(rows)) for rows in batches) / sum(len(x) for x, _ in data)

    return [mean(data) for data in parts]


runs = {
    "one device": (by_fit, build(tf.distribute.get_strategy().scope())),
    "fit": (by_fit, build(strategy.scope())),
    "loop that counts rows": (by_loop, build(strategy.scope())),
    "synchronized=True": (by_fit, build(strategy.scope(), synchronized=True)),
}
results = {}
for name, (train, model) in runs.items():
    epoch, after = train(model, short, short.take(1))
    trained = [variable.numpy() for variable in model.trainable_variables]
    nans = sum(bool(np.isnan(array).any()) for array in trained)
    results[name] = epoch, after, nans / len(trained)
    print(f"{name:22}epoch's loss {epoch:.3f}, next step's {after:.3f}, ", end="")
    print(f"then {nans} of {len(trained)} weights NaN")
# --8<-- [end:batch_norm]

claims = {
    "reported_loss_is_equal": abs(one_loss - many_loss) < 1e-4,
    "weights_differ": replicas == 1 or not np.allclose(one, many, atol=1e-3),
    "one_device_is_right": bool(np.allclose(one, in_numpy(), atol=1e-5)),
    "last_step_is_one_nth": bool(np.allclose(many, in_numpy(1 / replicas), atol=1e-5)),
    "short_batch_leaves_replicas_empty": [len(part) for part in parts[-1]]
    == [1] + [0] * (replicas - 1),
    "a_row_each_is_right": bool(last_batches[replicas][1] < 1e-5),
    "uneven_parts_are_wrong": replicas == 1
    or bool(min(last_batches[n][1] for n in (replicas + 1, 2 * replicas - 1)) > 1e-3),
    "each_part_divides_by_its_own_rows": all(
        bool(equal) for *_, equal in last_batches.values()
    ),
    "more_rows_than_replicas_leave_one_empty": replicas < 3
    or 0 in last_batches[replicas + 1][0],
    "batch_norm_is_destroyed": replicas == 1
    or all(
        np.isfinite(results[name][0]) and results[name][2] == 1
        for name in ("fit", "loop that counts rows")
    ),
    "batch_norm_is_safe_on_one_device": results["one device"][2] == 0,
    "synchronized_is_safe": results["synchronized=True"][2] == 0,
    "next_loss_is_nan": replicas == 1 or bool(np.isnan(results["fit"][1])),
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
