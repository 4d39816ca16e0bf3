# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""A `train_step` of your own in Keras 3 `fit`: how it scales the loss, and what it has to report."""

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()  # outside of every scope: one device
replicas = strategy.num_replicas_in_sync
batch, rate = 8 * replicas, 0.02
rng = np.random.default_rng(0)
x = rng.normal(size=(6 * batch, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]] + 0.1).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


class PlainMean(keras.Model):
    """What one device wants: the mean over the rows."""

    def loss_of(self, x, y, output):
        return tf.reduce_mean(keras.losses.mean_squared_error(y, output))

    def scaled(self, loss):
        return self.optimizer.scale_loss(loss)  # changes nothing without a loss scale

    def to_report(self, loss):
        return loss

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            output = self(x, training=True)
            loss = self.loss_of(x, y, output)
            scaled = self.scaled(loss)
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(scaled, variables), variables)
        return self.report(self.to_report(loss), x, y, output)

    def report(self, loss, x, y, output):
        """Return the results of all metrics; the first is that of the loss."""
        self.metrics[0].update_state(loss, sample_weight=tf.shape(x)[0])
        return self.compute_metrics(x, y, output)


class ComputeLoss(PlainMean):
    """What `compile` was given, divided by the number of replicas."""

    def loss_of(self, x, y, output):
        return self.compute_loss(x, y, output)


class ComputeLossAndReport(ComputeLoss):
    """The same, and the true loss in the report."""

    def to_report(self, loss):
        return loss * tf.distribute.get_strategy().num_replicas_in_sync


# --8<-- [end:setup]


# --8<-- [start:fit]
def fit(place, kind, rate=rate, data=data):
    """Return the weights after one epoch, and the loss that `fit` reports."""
    with place.scope():
        inputs = keras.Input((3,))
        outputs = keras.layers.Dense(1, kernel_initializer="zeros")(inputs)
        model = kind(inputs, outputs)
        model.compile(keras.optimizers.SGD(rate), loss="mse")
    loss = model.fit(data, verbose=0).history["loss"][0]
    return np.concatenate([w.ravel() for w in model.get_weights()]), loss


want, true_loss = fit(one, keras.Model)
found = {}
for kind in (PlainMean, ComputeLoss, ComputeLossAndReport):
    for name, place in ("one device", one), (f"{replicas} replicas", strategy):
        weights, loss = found[kind, place] = fit(place, kind)
        apart = np.abs(weights - want).max()
        print(f"{kind.__name__:21}{name:12}weights {apart:.4f} apart, loss {loss:.4f}")
fast, _ = fit(one, keras.Model, rate=replicas * rate)
apart = np.abs(found[PlainMean, strategy][0] - fast).max()
print(
    f"PlainMean, {replicas} replicas: {apart:.4f} from one device with {replicas} times the rate"
)
# --8<-- [end:fit]


# --8<-- [start:names]
class OwnMetric(ComputeLossAndReport):
    """Returns one result of two metrics: that of `compile` stays unused."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.own = keras.metrics.Mean()

    def report(self, loss, x, y, output):
        self.own.update_state(loss, sample_weight=tf.shape(x)[0])
        return {"loss": self.own.result()}


targets = y[: batch + 1].copy()
targets[batch] = 10  # the row of the short batch has the largest loss
short = tf.data.Dataset.from_tensor_slices((x[: batch + 1], targets)).batch(batch)
mean_loss = float(np.mean(targets**2))  # the weights stay 0
shown = {}
for kind in (ComputeLossAndReport, OwnMetric):
    for name, place in ("one device", one), (f"{replicas} replicas", strategy):
        _, shown[kind, place] = fit(place, kind, rate=0.0, data=short)
        print(f"{kind.__name__:21}{name:12}loss {shown[kind, place]:.4f}")
print(f"{'NumPy':33}loss {mean_loss:.4f}")
# --8<-- [end:names]


# --8<-- [start:scale]
class Unscaled(ComputeLoss):
    """Leaves out the factor that `apply` divides by under mixed_float16."""

    def scaled(self, loss):
        return loss


keras.config.set_dtype_policy("mixed_float16")  # `compile` now adds a loss scale
step = data.take(1).map(lambda x, y: (x, y / 16))  # scaled gradients must fit float16
moved = {kind: fit(one, kind, data=step)[0] for kind in (ComputeLoss, Unscaled)}
keras.config.set_dtype_policy("float32")
times = np.abs(moved[ComputeLoss]).max() / np.abs(moved[Unscaled]).max()
print(f"without scale_loss a step is {times:,.0f} times too small")
# --8<-- [end:scale]


def is_right(kind, place):
    return bool(np.allclose(found[kind, place][0], want, atol=1e-5))


def is_reported(kind, place, loss):
    return abs(found[kind, place][1] - loss) < 1e-4


claims = {
    "all_are_right_on_one_device": all(
        is_right(kind, one) and is_reported(kind, one, true_loss)
        for kind in (PlainMean, ComputeLoss, ComputeLossAndReport)
    ),
    "plain_mean_has_n_times_the_rate": bool(
        np.allclose(found[PlainMean, strategy][0], fast, atol=1e-5)
    ),
    "plain_mean_is_wrong": not is_right(PlainMean, strategy) or replicas == 1,
    "compute_loss_trains_right": is_right(ComputeLoss, strategy),
    "compute_loss_reports_one_nth": is_reported(
        ComputeLoss, strategy, true_loss / replicas
    ),
    "multiplied_report_is_true": is_right(ComputeLossAndReport, strategy)
    and is_reported(ComputeLossAndReport, strategy, true_loss),
    "a_short_batch_counts_by_its_rows": all(
        abs(shown[ComputeLossAndReport, place] - mean_loss) < 1e-4
        for place in (one, strategy)
    ),
    "another_set_of_names_reports_a_mean_of_means": replicas == 1
    or abs(shown[OwnMetric, strategy] - mean_loss) > 0.1,
    "unscaled_is_too_small_by_the_scale": bool(abs(times / 2**15 - 1) < 0.01),
    "scaled_moves_as_float32_does": bool(
        np.allclose(
            moved[ComputeLoss],
            fit(one, ComputeLoss, data=step)[0],
            rtol=0.01,
            atol=1e-5,
        )
    ),
}
measures = {
    "replicas": replicas,
    "apart": round(float(np.abs(found[PlainMean, strategy][0] - want).max()), 4),
    "cured": round(float(np.abs(found[ComputeLoss, strategy][0] - want).max()), 4),
}
