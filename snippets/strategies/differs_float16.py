# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""`mixed_float16` on several replicas: what one gradient that is not finite does to the weights of all."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()
replicas = strategy.num_replicas_in_sync
batch = 8 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(3 * batch, 8)).astype("float32")


def rows(large=None):
    """Return batches; the target of row `large` of the first batch is large."""
    y = np.sin(x.sum(axis=1, keepdims=True))
    if large is not None:
        y[large] = 1e4
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


FIRST, LAST = 0, batch - 1  # rows of the first replica, and of the last
# --8<-- [end:data]


# --8<-- [start:fit]
def build(place, policy):
    """Return a model under this policy, made in the scope of this strategy."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    with place.scope():
        model = keras.Sequential([keras.Input((8,))])
        model.add(layers.Dense(16, activation="tanh", dtype=policy))
        model.add(layers.Dense(1, dtype=policy))
    return model


def finite(weights):
    return all(np.isfinite(weight).all() for weight in weights)


def fit(place, policy, data, epochs=1, **scaling):
    """Train with `fit`; return the weights."""
    model = build(place, policy)
    with place.scope():
        optimizer = keras.optimizers.SGD(0.01)
        if policy == "mixed_float16":  # as `compile` does under a global policy
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, **scaling)
        model.compile(optimizer, loss="mse")
    model.fit(data, epochs=epochs, verbose=0)
    return model.get_weights()


cases = {
    "one device, first row": (one, FIRST),
    "one device, last row": (one, LAST),
    "replicas, row of the first": (strategy, FIRST),
    "replicas, row of the last": (strategy, LAST),
}
fine = {}
for policy in ("mixed_float16", "mixed_bfloat16"):
    for name, (place, large) in cases.items():
        fine[policy, name] = finite(fit(place, policy, rows(large)))
        what = "finite" if fine[policy, name] else "NOT FINITE"
        print(f"{policy:15}{name:28}{what}")
# --8<-- [end:fit]

# --8<-- [start:grow]
grown = {}
for name, place in {"one device": one, "replicas": strategy}.items():
    # The scale doubles after every 4 finite steps, not after 2000.
    weights = fit(place, "mixed_float16", rows(), epochs=30, dynamic_growth_steps=4)
    grown[name] = finite(weights)
    what = "finite" if grown[name] else "NOT FINITE"
    print(f"ordinary rows, a scale that grows: {name:12}{what}")
# --8<-- [end:grow]


# --8<-- [start:cure]
def loop(place, data, sum_first):
    """Train in a custom loop with a loss scale; return the weights and the scale."""
    model = build(place, "mixed_float16")
    with place.scope():
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.01))
        optimizer.build(model.trainable_variables)

    def on_replica(features, targets):
        with tf.GradientTape() as tape:
            output = tf.cast(model(features, training=True), tf.float32)
            loss = tf.reduce_sum((output - targets) ** 2) / batch
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        if sum_first:
            # An Embedding's gradient comes as slices of rows: make it whole.
            gradients = [tf.convert_to_tensor(g) for g in gradients]
            context = tf.distribute.get_replica_context()
            summed = context.all_reduce("SUM", gradients)
            # `apply` sums once more.
            gradients = [g / context.num_replicas_in_sync for g in summed]
        optimizer.apply(gradients, model.trainable_variables)

    step = tf.function(lambda *batch: place.run(on_replica, args=batch))
    for batch_of_rows in place.experimental_distribute_dataset(data):
        step(*batch_of_rows)
    return model.get_weights(), float(optimizer.dynamic_scale.numpy())


alone, alone_scale = loop(one, rows(LAST), sum_first=False)
broken, _ = loop(strategy, rows(LAST), sum_first=False)
cured, cured_scale = loop(strategy, rows(LAST), sum_first=True)
difference = max(float(np.abs(a - b).max()) for a, b in zip(alone, cured, strict=True))
print(f"loop on one device:         finite {finite(alone)}, scale {alone_scale:.0f}")
print(f"loop on replicas:           finite {finite(broken)}")
print(f"loop that sums first:       finite {finite(cured)}, scale {cured_scale:.0f}")
print(f"largest difference of it from one device: {difference:.3f}")
# --8<-- [end:cure]

several = replicas > 1
bfloat16 = [ok for (policy, _), ok in fine.items() if policy == "mixed_bfloat16"]
claims = {
    "one_device_skips_the_step": fine["mixed_float16", "one device, first row"]
    and fine["mixed_float16", "one device, last row"],
    "first_replica_decides": fine["mixed_float16", "replicas, row of the first"],
    "last_replica_destroys_the_weights": several
    and not fine["mixed_float16", "replicas, row of the last"],
    "bfloat16_stays_finite": all(bfloat16),
    "growing_scale_destroys_the_weights": several and not grown["replicas"],
    "growing_scale_is_safe_on_one_device": grown["one device"],
    "the_loop_breaks_too": several and not finite(broken),
    "summing_first_cures": finite(cured) and difference < 2e-3,
    "summing_first_halves_the_scale_once": cured_scale == alone_scale == 2.0**14,
}
measures = {"replicas": replicas, "difference": round(difference, 3)}
measures |= {"scale": cured_scale}
