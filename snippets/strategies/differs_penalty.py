# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""Regularisation on several replicas: a loop that adds `model.losses` adds them once for each replica."""

# --8<-- [start:fit]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()  # outside of every scope: one device
replicas = strategy.num_replicas_in_sync
batch, rate = 8 * replicas, 0.1
rng = np.random.default_rng(0)
x = rng.normal(size=(6 * batch, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


def build(place):
    keras.utils.set_random_seed(1)
    penalty = keras.regularizers.L2(0.05)
    with place.scope():
        model = keras.Sequential([keras.Input((8,))])
        model.add(keras.layers.Dense(1, kernel_regularizer=penalty))
        optimizer = keras.optimizers.SGD(rate)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, loss="mse")
    return model, optimizer


def fit(place):
    model, _ = build(place)
    model.fit(data, verbose=0)
    return model.get_weights()


def apart(some, others):
    """Return the largest difference of two lists of weights."""
    pairs = zip(some, others, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


alone = fit(one)
by_fit = apart(alone, fit(strategy))
print(f"fit: {by_fit:.4f} from one device")
# --8<-- [end:fit]


# --8<-- [start:loop]
def loop(penalty):
    """Train in a custom loop; `penalty` says what a replica adds for the weights."""
    model, optimizer = build(strategy)

    def on_replica(features, targets):
        with tf.GradientTape() as tape:
            output = model(features, training=True)
            loss = tf.reduce_sum((output - targets) ** 2) / batch
            loss += penalty(sum(model.losses))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)

    step = tf.function(lambda rows: strategy.run(on_replica, args=rows))
    for rows in strategy.experimental_distribute_dataset(data):
        step(rows)
    return model.get_weights()


as_it_is = apart(alone, loop(lambda losses: losses))
scaled = apart(alone, loop(tf.nn.scale_regularization_loss))
print(f"+ sum(model.losses): {as_it_is:.4f} from one device")
print(f"+ scale_regularization_loss(sum(model.losses)): {scaled:.4f} from one device")
# --8<-- [end:loop]


# --8<-- [start:numpy]
def in_numpy(times):
    """Train in NumPy in one piece, with the penalty taken so many times."""
    w, b = (array.astype("float64") for array in build(one)[0].get_weights())
    for start in range(0, len(x), batch):
        rows = x[start : start + batch]
        error = 2 / batch * (rows @ w + b - y[start : start + batch])
        w = w - rate * (rows.T @ error + times * 0.05 * 2 * w)
        b = b - rate * error.sum(axis=0)
    return [w, b]


times = apart(loop(lambda losses: losses), in_numpy(replicas))
print(f"the loop, from NumPy with the penalty {replicas} times: {times:.4f}")
# --8<-- [end:numpy]


# --8<-- [start:added]
class Adds(keras.layers.Layer):
    """Add a loss: the sum over the rows of their squares, or the mean."""

    def __init__(self, over_rows):
        super().__init__()
        self.over_rows = over_rows

    def call(self, rows):
        self.add_loss(0.02 * self.over_rows(tf.reduce_sum(rows**2, axis=1)))
        return rows


def fit_added(place, over_rows):
    keras.utils.set_random_seed(1)
    with place.scope():
        layers = [keras.layers.Dense(4), Adds(over_rows), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((8,)), *layers])
        model.compile(keras.optimizers.SGD(0.05), loss="mse")
    model.fit(data, verbose=0)
    return model.get_weights()


added = {
    name: apart(fit_added(one, over_rows), fit_added(strategy, over_rows))
    for name, over_rows in (("mean", tf.reduce_mean), ("sum", tf.reduce_sum))
}
for name, difference in added.items():
    print(
        f"fit, add_loss of the {name} over the rows: {difference:.4f} from one device"
    )
# --8<-- [end:added]

claims = {
    "fit_scales_by_itself": by_fit < 1e-5,
    "one_device_is_numpy": apart(alone, in_numpy(1)) < 1e-5,
    "the_sum_differs": replicas > 1 and as_it_is > 1e-2,
    "the_penalty_counts_once_for_each_replica": times < 1e-5,
    "scaling_cures": scaled < 1e-5,
    "an_added_mean_trains_as_on_one_device": added["mean"] < 1e-5,
    "an_added_sum_trains_as_on_one_device": added["sum"] < 1e-3,
}
measures = {"replicas": replicas, "difference": round(as_it_is, 4)}
measures |= {
    "cured": round(scaled, 4),
    "added_sum": round(added["sum"], 4),
    "added_mean": round(added["mean"], 4),
}
