# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""`mixed_float16` with clipping on several replicas: the gradients are scaled until `apply`, so clip in there."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()  # outside of every scope: one device
replicas = strategy.num_replicas_in_sync
batch = 8 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(6 * batch, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True)) + 0.5
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


def build(place, rate, **limit):
    """Return a model and its optimizer, with the limit where it unscales first."""
    keras.utils.set_random_seed(1)
    layers, policy = keras.layers, "mixed_float16"
    with place.scope():
        model = keras.Sequential([keras.Input((8,))])
        model.add(layers.Dense(16, activation="tanh", dtype=policy))
        model.add(layers.Dense(1, dtype=policy))
        inner = keras.optimizers.SGD(rate, **limit)
        optimizer = keras.optimizers.LossScaleOptimizer(inner)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, loss="mse")
    return model, optimizer


def moved(model, before):
    """Return how far each weight has moved, in one array."""
    pairs = zip(before, model.get_weights(), strict=True)
    return np.concatenate([(b - a).ravel() for a, b in pairs])


def fit(data, rate, limit):
    """Train on one device with the limit of Keras."""
    model, _ = build(one, rate, **limit)
    before = model.get_weights()
    model.fit(data, verbose=0)
    return moved(model, before)


# --8<-- [end:setup]


# --8<-- [start:loop]
def loop(data, rate, clip=None, **limit):
    """Sum, clip if a function is given, divide; the inner optimizer may have a limit."""
    model, optimizer = build(strategy, rate, **limit)
    before = model.get_weights()

    def on_replica(features, targets):
        with tf.GradientTape() as tape:
            output = tf.cast(model(features, training=True), tf.float32)
            loss = tf.reduce_sum((output - targets) ** 2) / batch
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        # An Embedding's gradient comes as slices of rows: make it whole.
        gradients = [tf.convert_to_tensor(g) for g in gradients]
        context = tf.distribute.get_replica_context()
        summed = context.all_reduce("SUM", gradients)
        if clip:  # wrong: these gradients are still scaled
            summed = clip(summed)
        # `apply` takes the scale off, clips by the inner optimizer's limit, and sums.
        gradients = [g / context.num_replicas_in_sync for g in summed]
        optimizer.apply(gradients, model.trainable_variables)

    step = tf.function(lambda rows: strategy.run(on_replica, args=rows))
    for rows in strategy.experimental_distribute_dataset(data):
        step(rows)
    return moved(model, before)


# --8<-- [end:loop]

# --8<-- [start:norm]
limits = {"clipnorm": 0.05, "global_clipnorm": 0.1, "clipvalue": 0.02}
clips = {
    "clipnorm": lambda gradients: [tf.clip_by_norm(g, 0.05) for g in gradients],
    "global_clipnorm": lambda gradients: tf.clip_by_global_norm(gradients, 0.1)[0],
    "clipvalue": lambda gradients: [
        tf.clip_by_value(g, -0.02, 0.02) for g in gradients
    ],
}
limit, clip = limits["global_clipnorm"], clips["global_clipnorm"]
first, rate = data.take(1), 1024.0  # one step, so large that a tiny gradient shows
steps = {
    "one device, no limit": fit(first, rate, {}),
    "one device": fit(first, rate, {"global_clipnorm": limit}),
    "clip the sum": loop(first, rate, clip),
    "the limit": loop(first, rate, global_clipnorm=limit),
    "the limit / N": loop(first, rate, global_clipnorm=limit / replicas),
}
norm = {name: float(np.linalg.norm(step)) / rate for name, step in steps.items()}
for name, size in norm.items():
    print(f"{name:22}a gradient of norm {size:.6f}")
times = norm["one device"] / norm["clip the sum"]
print(f"clip the sum: {times:.0f} times too small")
# --8<-- [end:norm]

# --8<-- [start:limits]
apart = {}
for name, limit in limits.items():
    alone = fit(data, 0.1, {name: limit})
    ways = {
        "clip the sum": loop(data, 0.1, clips[name]),
        "the limit": loop(data, 0.1, **{name: limit}),
        "the limit / N": loop(data, 0.1, **{name: limit / replicas}),
    }
    for way, weights in ways.items():
        apart[name, way] = float(np.abs(weights - alone).max())
        print(f"{name:17}{way:15}{apart[name, way]:.4f} from one device")
# --8<-- [end:limits]


def refusal():
    """Return what the optimizer with the scale says to a limit of its own."""
    try:
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(), clipnorm=1.0)
    except ValueError as error:
        return f"ValueError: {error}"
    return ""


def of(way):
    """Return the differences that this way leaves, one for each kind of limit."""
    return [apart[name, way] for name in limits]


several = replicas > 1
unlimited = norm["one device, no limit"]
claims = {
    "clipping_does_something": unlimited > 1,
    "one_device_keeps_the_limit": abs(norm["one device"] / 0.1 - 1) < 1e-2,
    "clipping_the_sum_is_too_small_by_the_scale": abs(times / 2**15 - 1) < 1e-2,
    "clipping_the_sum_differs": min(of("clip the sum")) > 5e-3,
    "the_limit_becomes_n_times": several
    and abs(norm["the limit"] / min(0.1 * replicas, unlimited) - 1) < 1e-2,
    "the_limit_differs": several and min(of("the limit")) > 5e-3,
    "the_limit_by_n_keeps_the_limit": abs(norm["the limit / N"] / 0.1 - 1) < 1e-2,
    "the_limit_by_n_is_one_device": max(of("the limit / N")) < 1e-3,
    "a_limit_beside_the_scale_is_refused": bool(refusal()),
}
measures = {"replicas": replicas, "times": round(times)}
measures |= {"clip_the_sum": round(max(of("clip the sum")), 4)}
measures |= {"cured": round(max(of("the limit / N")), 4)}
errors = {"refused": refusal()}
