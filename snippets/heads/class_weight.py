# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# tolerance = 0.01
# ///
"""What class_weight weighs: training rows, no validation rows, no metrics; and the same in a loop under a strategy."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()  # outside of every scope: one device
rng = np.random.default_rng(0)
batch = 64 * strategy.num_replicas_in_sync
x = rng.normal(size=(40 * batch, 2)).astype("float32")
truth = 1 / (1 + np.exp(3 - x[:, 0] - x[:, 1]))  # the chance of a yes, row by row
y = (rng.random(len(x)) < truth).astype("float32")[:, None]
share = float(y.mean())
WEIGHT = 9.0
class_weight = {0: 1.0, 1: WEIGHT}
of_rows = np.where(y == 1, WEIGHT, 1.0).astype("float32")[:, 0]


def build(rate, place=one, start=0.0, kernel="glorot_uniform", **metrics):
    """Return one sigmoid unit whose bias starts at `start`, compiled."""
    keras.utils.set_random_seed(0)
    with place.scope():
        start = keras.initializers.Constant(start)
        unit = keras.layers.Dense(
            1, "sigmoid", kernel_initializer=kernel, bias_initializer=start
        )
        model = keras.Sequential([keras.Input((2,)), unit])
        model.compile(keras.optimizers.SGD(rate), "binary_crossentropy", **metrics)
        model.optimizer.build(model.trainable_variables)
    return model


# --8<-- [end:data]

# --8<-- [start:scales]
bce = keras.metrics.BinaryCrossentropy
still = build(0.0, metrics=[bce(name="plain")], weighted_metrics=[bce(name="weighted")])
reported = still.fit(
    x,
    y,
    batch_size=batch,
    class_weight=class_weight,
    validation_data=(x, y),  # the same rows, and a rate of 0: nothing moves
    verbose=0,
).history
for name, (value,) in reported.items():
    print(f"{name:12} {value:.3f}")
weighed = still.evaluate(x, y, sample_weight=of_rows, verbose=0, return_dict=True)
print(f"validation with these weights: loss {weighed['loss']:.3f}")
# --8<-- [end:scales]


# --8<-- [start:undo]
def outputs(weight):
    """Train on all rows at once, a yes counts `weight` times; return the outputs."""
    model = build(3.0)
    model.fit(
        x,
        y,
        batch_size=len(x),
        epochs=80,
        class_weight={0: 1.0, 1: weight},
        verbose=0,
    )
    return model(x).numpy()[:, 0]


q = outputs(WEIGHT)
p = q / (q + WEIGHT * (1 - q))
print(f"share of yes {share:.3f}, mean of q {q.mean():.3f}, mean of p {p.mean():.3f}")
print(f"p is {np.abs(p - truth).mean():.3f} from the true chance on average")
# --8<-- [end:undo]

# --8<-- [start:bias]
log_odds = float(np.log(y.sum() / (1 - y).sum()))
first = {
    bias: build(0.1, start=bias, kernel="zeros").evaluate(x, y, verbose=0)
    for bias in (0.0, log_odds)
}
for bias, loss in first.items():
    print(f"bias {bias:5.2f}: first loss {loss:.3f}")
# --8<-- [end:bias]

# --8<-- [start:loop]
each = keras.losses.binary_crossentropy  # a function: one loss for each row


def loop(place, average):
    """Train one epoch in a loop; `average` makes one loss of a replica's rows."""
    model = build(0.5, place)

    def on_replica(x, y, weight):
        with tf.GradientTape() as tape:
            loss = average(each(y, model(x, training=True)), weight)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply(gradients, model.trainable_variables)

    step = tf.function(lambda rows: place.run(on_replica, args=rows))
    rows = tf.data.Dataset.from_tensor_slices((x, y, of_rows)).batch(batch)
    for part in place.experimental_distribute_dataset(rows):
        step(part)
    return model


def by_rows(losses, weight):
    return tf.nn.compute_average_loss(
        losses, sample_weight=weight, global_batch_size=batch
    )


by_fit = build(0.5)
by_fit.fit(x, y, batch_size=batch, class_weight=class_weight, shuffle=False, verbose=0)
by_loop = loop(strategy, by_rows)


def apart(some, other):
    """Return the largest difference of the weights of two models."""
    pairs = zip(some.get_weights(), other.get_weights(), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


print(f"loop under the strategy, fit on one device: {apart(by_loop, by_fit):.4f} apart")
# --8<-- [end:loop]

losses, weights = np.array([1.0, 2.0, 3.0, 4.0]), np.array([9.0, 1.0, 1.0, 1.0])
average = float(
    tf.nn.compute_average_loss(losses, sample_weight=weights, global_batch_size=4)
)
weighted_rows = tf.data.Dataset.from_tensor_slices((x, y, of_rows)).batch(batch)
said = []
for rows, options in (
    ((x, y), {"sample_weight": of_rows}),
    ((weighted_rows,), {"shuffle": False}),
):
    try:
        still.fit(*rows, class_weight=class_weight, verbose=0, **options)
    except ValueError as error:
        said.append(f"ValueError: {error}")
errors = {"two_kinds_of_weights": said[0]}

p_rows = still(x).numpy()[:, 0]  # the rate was 0: these made the losses above
loss_of_rows = -np.log(np.where(y[:, 0] == 1, p_rows, 1 - p_rows))
by_hand = {
    "rows": float(np.mean(of_rows * loss_of_rows)),
    "weights": float(np.sum(of_rows * loss_of_rows) / np.sum(of_rows)),
    "unweighted": float(np.mean(loss_of_rows)),
}
unweighted = outputs(1.0)
entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
weighted_start = 1 / (1 + np.exp(-np.log(WEIGHT * share / (1 - share))))


def near(some, other):
    return bool(np.isclose(some, other, rtol=1e-3))


value = {name: values[0] for name, values in reported.items()}
claims = {
    "training_loss_is_weighted": near(value["loss"], by_hand["rows"]),
    "validation_loss_is_not_weighted": near(value["val_loss"], by_hand["unweighted"]),
    "validation_loss_is_weighted": near(value["val_loss"], by_hand["rows"]),
    "scales_differ": value["loss"] > 1.5 * value["val_loss"],
    "metrics_ignore_weights": near(value["plain"], by_hand["unweighted"]),
    "weighted_metrics_do_not": near(value["weighted"], by_hand["weights"])
    and not near(value["weighted"], value["plain"]),
    "loss_and_weighted_metric_divide_alike": near(value["loss"], value["weighted"]),
    "validation_weights_bring_one_scale": near(weighed["loss"], value["loss"]),
    "early_stopping_watches_val_loss": keras.callbacks.EarlyStopping().monitor
    == "val_loss",
    "undone_outputs_are_those_without_weights": bool(
        np.abs(p - unweighted).mean() < 0.01
    ),
    "undone_mean_is_the_share": bool(abs(p.mean() - share) < 0.02),
    "weighted_mean_is_the_share": bool(abs(q.mean() - share) < 0.02),
    "bias_starts_at_the_entropy": near(first[log_odds], entropy),
    "bias_zero_starts_at_ln_2": near(first[0.0], np.log(2)),
    "weighted_bias_is_the_share_undone": near(
        weighted_start / (weighted_start + WEIGHT * (1 - weighted_start)), share
    ),
    "loop_equals_class_weight": apart(by_loop, by_fit) < 1e-4,
    "training_moved": apart(by_fit, build(0.5)) > 0.1,
    "average_divides_by_rows": near(average, np.sum(losses * weights) / 4),
    "average_divides_by_weights": near(
        average, np.sum(losses * weights) / np.sum(weights)
    ),
    "both_kinds_of_weights_raise": len(said) == 2 and said[0] == said[1],
}
measures = {
    "loss": round(value["loss"], 2),
    "val_loss": round(value["val_loss"], 2),
    "share": round(share, 2),
    "weight": int(WEIGHT),
    "mean_q": round(float(q.mean()), 2),
    "mean_p": round(float(p.mean()), 2),
}
