# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 300
# ///
"""Batch normalisation under MirroredStrategy: a replica normalises its own rows, unless the layer is synchronised."""

# --8<-- [start:setup]
import tempfile

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
batch = 8 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(5 * batch, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
# --8<-- [end:setup]


# --8<-- [start:compare]
def train(*layers):
    """Train a small model with these layers in the middle and return its weights."""
    keras.utils.set_random_seed(1)
    middle = [layer() for layer in layers]
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="tanh"),
            *middle,
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.05), loss="mse")
    model.fit(data, epochs=3, verbose=0)
    return model.get_weights()


def synchronised():
    """Return the layer that uses the rows of all replicas."""
    return keras.layers.BatchNormalization(synchronized=True)


cases = {
    "none": (),
    "BatchNormalization()": (keras.layers.BatchNormalization,),
    "BatchNormalization(synchronized=True)": (synchronised,),
}
difference = {}
for name, layers in cases.items():
    alone = train(*layers)
    with strategy.scope():
        together = train(*layers)
    difference[name] = max(
        float(np.abs(a - b).max()) for a, b in zip(alone, together, strict=True)
    )
    equal = difference[name] < 1e-4
    print(f"{name:38}{'as on one device' if equal else 'another model'}")
# --8<-- [end:compare]

# --8<-- [start:averages]
# In each batch, replica n gets rows near 10 n.
place = np.tile(10.0 * np.repeat(np.arange(replicas), 8), 40)[:, None]
rows = (place + rng.normal(size=place.shape)).astype("float32")
by_place = tf.data.Dataset.from_tensor_slices((rows, rows)).batch(batch)


def averages(layer):
    """Return the moving mean of each replica, those kept, and how far answers differ."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((1,)), layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.05), loss="mse")
    model.fit(by_place, verbose=0)
    copies = strategy.experimental_local_results(layer.moving_mean.value)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.keras")
        loaded = keras.models.load_model(f"{folder}/model.keras")
        path = tf.train.Checkpoint(model=model).write(f"{folder}/checkpoint")
        stored = [name for name, _ in tf.train.list_variables(path)]
        name = next(name for name in stored if "moving_mean" in name)
        in_checkpoint = tf.train.load_variable(path, name)
    kept = loaded.layers[0].get_weights()[2], in_checkpoint
    answers = [one.predict(rows, batch, verbose=0) for one in (model, loaded)]
    apart = float(np.abs(answers[0] - answers[1]).max())
    return [float(copy[0]) for copy in copies], [float(one[0]) for one in kept], apart


of_each, of_kept, answers_apart = {}, {}, {}
for synchronized in (False, True):
    with strategy.scope():
        layer = keras.layers.BatchNormalization(synchronized=synchronized)
        found = averages(layer)
    of_each[synchronized], of_kept[synchronized], answers_apart[synchronized] = found
    means = " ".join(f"{mean:.2f}" for mean in of_each[synchronized])
    file, checkpoint = of_kept[synchronized]
    print(f"synchronized={synchronized}: moving mean of each replica: {means}")
    print(f"  in the Keras file: {file:.2f}, in a checkpoint: {checkpoint:.2f}")
# --8<-- [end:averages]


# --8<-- [start:mask]
def run_once(model, rows_of):
    """Call the model once in training; replica n gets `rows_of(n)`."""
    rows = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(rows_of(context.replica_id_in_sync_group))
    )
    call = tf.function(lambda rows: strategy.run(model, (rows,), {"training": True}))
    call(rows)


# Replica n gets sequences of the word n + 1. No word is 0, so the mask hides nothing.
apart = {}
for mask_zero in (False, True):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        words = keras.layers.Embedding(replicas + 1, 8, mask_zero=mask_zero)
        layer = keras.layers.BatchNormalization(momentum=0.0, synchronized=True)
        layers = [keras.Input((6,)), words, keras.layers.Dense(2), layer]
        model = keras.Sequential(layers)
    run_once(model, lambda replica: np.full((8, 6), replica + 1))
    copies = strategy.experimental_local_results(layer.moving_mean.value)
    apart[mask_zero] = float(np.max(np.ptp([copy.numpy() for copy in copies], axis=0)))
    found = "one mean for all" if apart[mask_zero] < 1e-4 else "a mean of its own"
    print(f"synchronized=True, mask_zero={mask_zero}: each replica has {found}")
# --8<-- [end:mask]

# --8<-- [start:variance]
far = (4000 + 0.3 * rng.normal(size=(256, 8))).astype("float32")
truth, off = np.var(far.astype("float64"), axis=0), {}
for name, same_rows in (("near 4000", far), ("near 0", far - np.float32(4000))):
    for synchronized in (False, True):
        with strategy.scope():
            layer = keras.layers.BatchNormalization(
                momentum=0.0, synchronized=synchronized
            )
            model = keras.Sequential([keras.Input((8,)), layer])
        run_once(model, lambda replica, rows=same_rows: rows)
        ratio = layer.moving_variance.numpy() / truth
        off[name, synchronized] = float(np.max(np.abs(ratio - 1)))
        found = "right" if off[name, synchronized] < 0.01 else "wrong"
        print(f"{name}, synchronized={synchronized}: the variance is {found}")
# --8<-- [end:variance]

# --8<-- [start:steps]
near_ten = np.tile([[9.0], [11.0]], (1600, 1)).astype("float32")
targets = near_ten - 10
left, losses = {}, {}
for steps, momentum in ((800, 0.99), (100, 0.99), (100, 0.99**8)):
    keras.utils.set_random_seed(1)
    layer = keras.layers.BatchNormalization(momentum=momentum)
    model = keras.Sequential([keras.Input((1,)), layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), loss="mse")
    size = len(near_ten) // steps
    model.fit(near_ten, targets, size, shuffle=False, verbose=0)
    # It began at 0. What is missing to the mean is what is left of that.
    missing = 1 - layer.moving_mean.numpy()[0] / near_ten.mean()
    left[steps, momentum] = float(missing)
    trained = float(np.mean((model(near_ten, training=True) - targets) ** 2))
    tested = float(np.mean((model(near_ten, training=False) - targets) ** 2))
    losses[steps, momentum] = trained, tested
    print(f"{steps} steps of {size} rows, momentum {momentum:.3f}:", end=" ")
    print(f"{missing:.0%} left, loss {trained:.2f}, validation {tested:.2f}")
# --8<-- [end:steps]


def all_reduces(with_gradient):
    """Count the all-reduces of one replica in the graph of a synchronised layer."""
    with strategy.scope():
        layer = synchronised()
        layer.build((None, 8))

    def on_replica(rows):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            output = layer(rows, training=True)
        return tape.gradient(output, rows) if with_gradient else output

    step = tf.function(lambda rows: strategy.run(on_replica, args=(rows,)))
    graph = step.get_concrete_function(tf.constant(x[:8])).graph
    found = [node for node in graph.get_operations() if "Reduce" in node.type]
    return len([node for node in found if "Collective" in node.type]) // replicas


forward = all_reduces(with_gradient=False)
backward = all_reduces(with_gradient=True) - forward

plain, local, whole = difference.values()


def same(numbers):
    return float(np.ptp(numbers)) < 1e-3


claims = {
    "each_replica_has_its_own_averages": replicas > 1 and not same(of_each[False]),
    "those_of_the_first_replica_are_kept": same([of_each[False][0], *of_kept[False]]),
    "the_saved_model_answers_otherwise": replicas > 1 and answers_apart[False] > 0.1,
    "synchronised_averages_are_equal": same([*of_each[True], *of_kept[True]])
    and answers_apart[True] < 1e-3
    and abs(of_each[True][0] - float(np.mean(of_each[False]))) < 1e-2,
    "equal_without_batch_normalisation": plain < 1e-4,
    "each_replica_normalises_its_own_rows": replicas > 1 and local > 1e-3,
    "synchronised_equals_one_device": whole < 1e-4,
    "synchronised_without_a_mask": replicas > 1 and apart[False] < 1e-4,
    "a_mask_ends_the_synchronisation": replicas > 1 and apart[True] > 1e-3,
    "synchronised_variance_far_from_0_is_wrong": off.pop(("near 4000", True)) > 0.5,
    "the_other_variances_are_right": max(off.values()) < 0.01,
    "averages_keep_momentum_to_the_steps": all(
        abs(share - momentum**steps) < 1e-3 for (steps, momentum), share in left.items()
    ),
    "too_few_steps_spoil_validation": losses[100, 0.99][0] < 0.1
    and losses[100, 0.99][1] > 1,
    "lower_momentum_cures_it": max(losses[100, 0.99**8]) < 0.1
    and max(losses[800, 0.99]) < 0.1,
    "several_all_reduces_for_each_layer": replicas > 1
    and (forward, backward) == (3, 2),
}
measures = {"replicas": replicas, "largest_difference": round(local, 3)}
measures |= {"forward": forward, "backward": backward}
