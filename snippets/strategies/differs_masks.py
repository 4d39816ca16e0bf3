# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""Masked and weighted losses on several replicas: each divides by its own count; a loop can count over all."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()  # outside of every scope: one device
replicas = strategy.num_replicas_in_sync
batch, rate = 8 * replicas, 0.5
rng = np.random.default_rng(0)
words = rng.integers(1, 20, size=(6 * batch, 6))
length = rng.integers(1, 7, size=(len(words), 1))
words[np.arange(6) >= length] = 0  # sequences of different lengths, padded with zeros
tags = rng.normal(size=(*words.shape, 1)).astype("float32")
weight = rng.uniform(0, 2, size=words.shape).astype("float32")


def batches(*arrays):
    return tf.data.Dataset.from_tensor_slices(arrays).batch(batch)


# --8<-- [end:data]


# --8<-- [start:fit]
def build(place, mask=False, loss=None, units=1):
    keras.utils.set_random_seed(1)
    with place.scope():
        model = keras.Sequential([keras.Input((6,))])
        model.add(keras.layers.Embedding(20, 8, mask_zero=mask))
        model.add(keras.layers.Dense(units))
        optimizer = keras.optimizers.SGD(rate)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, loss or "mse")
    return model, optimizer


def fit(place, rows, **options):
    model, _ = build(place, **options)
    model.fit(rows, verbose=0)
    return model.get_weights()


def apart(some, others):
    """Return the largest difference of two lists of weights."""
    pairs = zip(some, others, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


by_weight = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
ignoring = keras.losses.SparseCategoricalCrossentropy(True, ignore_class=0)
cases = {
    "no mask": (batches(words, tags), {}),
    "mask_zero": (batches(words, tags), {"mask": True}),
    "sample weights": (batches(words, tags, weight), {}),
    "mean_with_sample_weight": (batches(words, tags, weight), {"loss": by_weight}),
    "ignore_class": (batches(words, words), {"loss": ignoring, "units": 20}),
}
alone, by_fit = {}, {}
for name, (rows, options) in cases.items():
    alone[name] = fit(one, rows, **options)
    by_fit[name] = apart(alone[name], fit(strategy, rows, **options))
    print(f"{name:24} {by_fit[name]:.4f} from one device")
# --8<-- [end:fit]


# --8<-- [start:loop]
def loop(rows):
    """Train in a custom loop that divides by the weights of all replicas."""
    model, optimizer = build(strategy)

    def on_replica(words, tags, weight):
        context = tf.distribute.get_replica_context()
        total = context.all_reduce("SUM", tf.reduce_sum(weight))
        with tf.GradientTape() as tape:
            errors = (model(words, training=True) - tags)[..., 0] ** 2
            loss = tf.math.divide_no_nan(tf.reduce_sum(errors * weight), total)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)

    step = tf.function(lambda rows: strategy.run(on_replica, args=rows))
    for part in strategy.experimental_distribute_dataset(rows):
        step(part)
    return model.get_weights()


valid = (words != 0).astype("float32")  # 1 for an entry that counts, 0 for padding
by_loop = {
    "mask_zero": apart(alone["mask_zero"], loop(batches(words, tags, valid))),
    "mean_with_sample_weight": apart(
        alone["mean_with_sample_weight"], loop(batches(words, tags, weight))
    ),
}
for name, difference in by_loop.items():
    print(f"{name:24} {difference:.4f} from one device")
# --8<-- [end:loop]

several = replicas > 1
claims = {
    "equal_without_mask": by_fit["no mask"] < 1e-5,
    "mask_differs": several and by_fit["mask_zero"] > 1e-3,
    "ignore_class_differs": several and by_fit["ignore_class"] > 1e-3,
    "sample_weights_are_safe": by_fit["sample weights"] < 1e-5,
    "mean_with_sample_weight_differs": several
    and by_fit["mean_with_sample_weight"] > 1e-3,
    "counting_over_all_cures_the_mask": by_loop["mask_zero"] < 1e-5,
    "counting_over_all_cures_the_weights": by_loop["mean_with_sample_weight"] < 1e-5,
}
measures = {"replicas": replicas, "mask": round(by_fit["mask_zero"], 4)}
measures |= {"weights": round(by_fit["mean_with_sample_weight"], 4)}
measures |= {"mask_cured": round(by_loop["mask_zero"], 4)}
measures |= {"weights_cured": round(by_loop["mean_with_sample_weight"], 4)}
