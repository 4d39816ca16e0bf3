# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""Clipping on several replicas: Keras 3 clips before it sums; a loop can sum first."""

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
y = 2 + 3 * np.sin(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


def build(place, first=lambda: [keras.Input((8,))], **clipping):
    """Return a model and its optimizer, made in the scope of this strategy."""
    keras.utils.set_random_seed(1)
    with place.scope():
        model = keras.Sequential(first())
        model.add(keras.layers.Dense(16, activation="tanh"))
        model.add(keras.layers.Dense(1))
        optimizer = keras.optimizers.SGD(rate, **clipping)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, loss="mse")
    return model, optimizer


def fit(place, **clipping):
    model, _ = build(place, **clipping)
    model.fit(data, verbose=0)
    return model.get_weights()


def apart(some, others):
    """Return the largest difference of two lists of weights."""
    pairs = zip(some, others, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


limits = {"no clipping": {}, "clipnorm": {"clipnorm": 0.5}}
limits["global_clipnorm"] = {"global_clipnorm": 0.5}
limits["clipvalue"] = {"clipvalue": 0.1}
alone = {name: fit(one, **limit) for name, limit in limits.items()}
by_fit = {}
for name, limit in limits.items():
    by_fit[name] = apart(alone[name], fit(strategy, **limit))
    print(f"{name:16} {by_fit[name]:.4f} from one device")
# --8<-- [end:fit]


# --8<-- [start:norm]
def norm(place):
    """Return the norm of what one step under `global_clipnorm=1` subtracts, by its rate."""
    model, optimizer = build(place, global_clipnorm=1.0)
    optimizer.learning_rate = 1.0
    before = model.get_weights()
    model.fit(x[:batch], y[:batch], batch_size=batch, verbose=0)
    pairs = zip(before, model.get_weights(), strict=True)
    return float(np.sqrt(sum(((a - b) ** 2).sum() for a, b in pairs)))


norm_of_one, norm_of_all = norm(one), norm(strategy)
print(f"one device:  a gradient of norm {norm_of_one:.2f}")
print(f"{replicas} replicas:  a gradient of norm {norm_of_all:.2f}")
# --8<-- [end:norm]


# --8<-- [start:loop]
def loop(clip, data=data, **first):
    """Train in a custom loop that sums the gradients, then clips them."""
    model, optimizer = build(strategy, **first)

    def on_replica(features, targets):
        with tf.GradientTape() as tape:
            output = model(features, training=True)
            loss = tf.reduce_sum((output - targets) ** 2) / batch
        gradients = tape.gradient(loss, model.trainable_variables)
        if clip:
            # An Embedding's gradient comes as slices of rows: make it whole.
            gradients = [tf.convert_to_tensor(g) for g in gradients]
            context = tf.distribute.get_replica_context()
            clipped = clip(context.all_reduce("SUM", gradients))
            # `apply` sums once more.
            gradients = [g / context.num_replicas_in_sync for g in clipped]
        optimizer.apply(gradients, model.trainable_variables)

    step = tf.function(lambda rows: strategy.run(on_replica, args=rows))
    for rows in strategy.experimental_distribute_dataset(data):
        step(rows)
    graph = step.get_concrete_function(rows).graph
    sums = [node for node in graph.get_operations() if "CollectiveReduce" in node.type]
    summed = sum(node.inputs[0].shape.num_elements() for node in sums) // replicas
    return model.get_weights(), summed


clips = {
    "clipnorm": lambda gradients: [tf.clip_by_norm(g, 0.5) for g in gradients],
    "global_clipnorm": lambda gradients: tf.clip_by_global_norm(gradients, 0.5)[0],
    "clipvalue": lambda gradients: [tf.clip_by_value(g, -0.1, 0.1) for g in gradients],
}
by_loop, summed = {}, {}
for name, clip in {"no clipping": None, **clips}.items():
    weights, summed[name] = loop(clip)
    by_loop[name] = apart(alone[name], weights)
    print(f"{name:16} {by_loop[name]:.4f} from one device", end=", ")
    print(f"{summed[name]} numbers summed in a step")
# --8<-- [end:loop]

# --8<-- [start:embedding]
words = rng.integers(0, 5, size=x.shape)
one_hot = np.eye(5, dtype="float32")[words]  # a row for each word, 1 at its place
table = keras.initializers.RandomNormal(seed=2)


def look_up():
    layers = [keras.Input((8,)), keras.layers.Embedding(5, 2, table)]
    return [*layers, keras.layers.Flatten()]


def multiply():
    """Return layers that compute the same with a matrix, whose gradient is whole."""
    matrix = keras.layers.Dense(2, use_bias=False, kernel_initializer=table)
    return [keras.Input((8, 5)), matrix, keras.layers.Flatten()]


def fit_words(features, first, limit):
    model, _ = build(one, first, **limit)
    model.fit(features, y, batch_size=batch, shuffle=False, verbose=0)
    return model.get_weights()


rows_of_words = tf.data.Dataset.from_tensor_slices((words, y)).batch(batch)
by_slices, by_words = {}, {}
for name, clip in clips.items():
    whole = fit_words(one_hot, multiply, limits[name])
    by_slices[name] = apart(whole, fit_words(words, look_up, limits[name]))
    by_words[name] = apart(whole, loop(clip, rows_of_words, first=look_up)[0])
    print(f"{name:16} one device, slices: {by_slices[name]:.4f} from whole gradients")
    print(f"{'':16} {replicas} replicas, loop:  {by_words[name]:.4f}")
# --8<-- [end:embedding]

several = replicas > 1
parameters = sum(weight.size for weight in alone["no clipping"])
claims = {
    "equal_without_clipping": by_fit["no clipping"] < 1e-5,
    "clipping_does_something": all(
        apart(alone["no clipping"], alone[name]) > 1e-2 for name in clips
    ),
    "clipnorm_differs": several and by_fit["clipnorm"] > 1e-2,
    "global_clipnorm_differs": several and by_fit["global_clipnorm"] > 1e-2,
    "clipvalue_differs": several and by_fit["clipvalue"] > 1e-2,
    "norm_is_above_the_limit": several and norm_of_all > 1.1,
    "one_device_keeps_the_limit": norm_of_one < 1.001,
    "summing_first_cures": max(by_loop.values()) < 1e-5,
    "apply_sums_each_gradient_once": summed["no clipping"] == parameters * several,
    "summing_first_sums_twice": all(
        summed[name] == 2 * parameters * several for name in clips
    ),
    "summing_first_cures_an_embedding": max(by_words.values()) < 1e-5,
    "keras_clips_slices_apart": min(by_slices.values()) > 1e-3,
}
measures = {"replicas": replicas, "norm_of_all": round(norm_of_all, 2)}
measures |= {name.replace(" ", "_"): round(by_fit[name], 4) for name in limits}
measures |= {f"{name}_cured": round(by_loop[name], 4) for name in clips}
