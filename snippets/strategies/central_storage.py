# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""CentralStorageStrategy: one copy of each variable, work on all devices, and a wrong loss and metrics in Keras 3."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf
import tf_keras

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]
strategy = tf.distribute.experimental.CentralStorageStrategy(
    compute_devices=names, parameter_device="/cpu:0"
)
replicas = strategy.num_replicas_in_sync

with strategy.scope():
    plain = tf.Variable([1.0, 2.0])
    summed = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.SUM)
copies = strategy.experimental_local_results(plain)
print(
    f"{type(plain).__name__}: {len(copies)} copy on {plain.device.split('task:0/')[-1]} for {replicas} replicas"
)
# --8<-- [end:setup]

# --8<-- [start:fit]
batch = 4 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(4 * batch, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


def fit(library, rate):
    """Train a linear model with one epoch of `fit`; return the model and the loss that `fit` reports."""
    with strategy.scope():
        dense = library.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = library.Sequential([library.layers.Input((3,)), dense])
        model.compile(optimizer=library.optimizers.SGD(rate), loss="mse")
    return model, model.fit(data, verbose=0).history["loss"][0]


reference = np.zeros((3, 1))  # the same steps in NumPy
for start in range(0, len(x), batch):
    rows = slice(start, start + batch)
    reference -= 0.05 * 2 / batch * x[rows].T @ (x[rows] @ reference - y[rows])
trained, _ = fit(keras, 0.05)
print(
    "Keras 3 weights equal to NumPy:",
    bool(np.allclose(trained.get_weights()[0], reference, atol=1e-5)),
)
# --8<-- [end:fit]

# --8<-- [start:reported]
truth = float(np.mean(y**2))  # the weights are zero, and at a rate of zero they stay so
still, reported = fit(keras, 0.0)
_, reported_by_tf_keras = fit(tf_keras, 0.0)
by_predict = float(np.mean((still.predict(x, verbose=0, batch_size=batch) - y) ** 2))

# This copy is made outside the scope.
alone = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, use_bias=False)])
alone.compile(loss="mse")
alone.set_weights(still.get_weights())
by_evaluate = alone.evaluate(data, verbose=0)
evaluated = still.evaluate(data, verbose=0)  # under the strategy

print(f"true loss                          {truth:.4f}")
print(f"reported by fit, Keras 3           {reported:.4f}")
print(f"reported by evaluate, Keras 3      {evaluated:.4f}")
print(f"reported by fit, tf_keras          {reported_by_tf_keras:.4f}")
print(f"from predict, Keras 3              {by_predict:.4f}")
print(f"evaluate on a copy outside         {by_evaluate:.4f}")
# --8<-- [end:reported]

# --8<-- [start:metric]
labels = (y > 0).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, labels)).batch(batch)
with strategy.scope():
    dense = keras.layers.Dense(1, "sigmoid", kernel_initializer="ones")
    model = keras.Sequential([keras.Input((3,)), dense])
    sgd = keras.optimizers.SGD(0.0)
    model.compile(sgd, loss="binary_crossentropy", metrics=["accuracy"])
accuracy = {
    "reported by fit, Keras 3": model.fit(rows, verbose=0).history["accuracy"][0],
    "reported by evaluate, Keras 3": model.evaluate(rows, verbose=0)[1],
}
predicted = model.predict(x, verbose=0, batch_size=batch) > 0.5
true_accuracy = float(np.mean(predicted == labels))
print(f"true accuracy                      {true_accuracy:.4f}")
for name, value in accuracy.items():
    print(f"{name:35}{value:.4f}")

right = (predicted == labels).reshape(-1, batch).sum(axis=1)  # rows of each batch
counted = seen = 0
for right_of_batch in right:  # each replica assigns old + new; the strategy sums that
    counted = replicas * counted + right_of_batch
    seen = replicas * seen + batch
print(f"old value once for each replica    {counted / seen:.4f}")
# --8<-- [end:metric]


# --8<-- [start:module]
def subtract_from(variable):
    """Let replica i subtract i + 1 from the variable."""
    rank = tf.distribute.get_replica_context().replica_id_in_sync_group
    variable.assign_sub(tf.cast([rank + 1, rank + 1], tf.float32))


errors = {}
strategy.run(subtract_from, args=(summed,))
print("aggregation given:", summed.numpy())
try:
    strategy.run(subtract_from, args=(plain,))
except ValueError as error:
    errors["no_aggregation"] = f"ValueError: {str(error).partition('. ')[0]}"
    print("none given:", errors["no_aggregation"])
# --8<-- [end:module]


# --8<-- [start:layers]
def fits(library, layer, optimizer=None):
    """Train a model with such a layer or optimizer; say what became of it."""
    with strategy.scope():
        layers = [library.layers.Dense(4), layer(), library.layers.Dense(1)]
        model = library.Sequential([library.layers.Input((3,)), *layers])
        own = optimizer() if optimizer else library.optimizers.SGD(0.01)
        model.compile(optimizer=own, loss="mse")
    try:
        model.fit(data, verbose=0)
        return "trains"
    except ValueError as error:
        same = errors["no_aggregation"].removeprefix("ValueError: ") in str(error)
        return "raises the same error" if same else str(error)


became = {
    "Keras 3, BatchNormalization": fits(keras, keras.layers.BatchNormalization),
    "Keras 3, Dropout": fits(keras, lambda: keras.layers.Dropout(0.5)),
    "Keras 3, LayerNormalization": fits(keras, keras.layers.LayerNormalization),
    "Keras 3, a weight constraint": fits(
        keras, lambda: keras.layers.Dense(4, kernel_constraint="non_neg")
    ),
    "tf_keras, BatchNormalization": fits(tf_keras, tf_keras.layers.BatchNormalization),
    "tf_keras, Dropout": fits(tf_keras, lambda: tf_keras.layers.Dropout(0.5)),
}
SGD, scaled = keras.optimizers.SGD, keras.optimizers.LossScaleOptimizer
for name, optimizer in {
    "SGD with averages": lambda: SGD(0.01, use_ema=True),
    "LossScaleOptimizer": lambda: scaled(SGD(0.01)),
    "Nadam": keras.optimizers.Nadam,
    "Adam": keras.optimizers.Adam,
}.items():
    became[f"Keras 3, {name}"] = fits(keras, keras.layers.Identity, optimizer)
for name, end in became.items():
    print(f"{name}: {end}")
# --8<-- [end:layers]


# --8<-- [start:counts]
class Counter(keras.layers.Layer):
    """A layer that counts the rows it has seen, `weight` times each."""

    def __init__(self, aggregation, weight=1):
        super().__init__()
        self.seen = self.add_weight(
            initializer="zeros", trainable=False, aggregation=aggregation
        )
        self.weight = weight

    def call(self, x):
        count = tf.cast(tf.shape(x)[0], tf.float32)
        self.seen.assign_add(self.weight * count)
        return x


def count(place, *arguments):
    """Count the rows of the data on all replicas of a strategy."""
    with place.scope():
        counter = Counter(*arguments)
    step = tf.function(lambda x, _: place.run(counter, args=(x,)))
    for rows in place.experimental_distribute_dataset(data):
        step(*rows)
    return float(counter.seen.numpy())


mirrored = tf.distribute.MirroredStrategy(names)
ways = {"sum": ["sum"], "mean": ["mean"], "N times, mean": ["mean", replicas]}
counts = {
    way: [count(place, *ways[way]) for place in (strategy, mirrored)] for way in ways
}
print("rows:", len(x))
for way, both in counts.items():
    print(f"{way:14}", *(f"{rows:.0f}" for rows in both))
# --8<-- [end:counts]

ROWS_OF_TABLE = 50
with strategy.scope():
    table = keras.layers.Embedding(ROWS_OF_TABLE, 4)
    table.build()
    adam = keras.optimizers.Adam()
    adam.build(table.trainable_variables)
slots = [v.value for v in adam.variables if len(v.shape)]
look_up = tf.function(lambda words: strategy.run(table, args=(words,)))
graph = look_up.get_concrete_function(tf.zeros((batch,), tf.int32)).graph
gathers = [node for node in graph.get_operations() if node.type == "GatherV2"]

total = replicas * (replicas + 1) / 2
claims = {
    "one_copy_for_all_replicas": len(copies) == 1 and plain.device.endswith("CPU:0"),
    "slots_stay_with_the_variables": len(slots) == 2
    and all(slot.device.endswith("CPU:0") for slot in slots),
    "a_lookup_reads_the_whole_table": len(gathers) == replicas
    and all(node.inputs[0].shape[0] == ROWS_OF_TABLE for node in gathers)
    and {node.device.rpartition("/")[2] for node in gathers}
    == {name.rpartition("/")[2] for name in names},
    "still_experimental": not hasattr(tf.distribute, "CentralStorageStrategy"),
    "weights_are_right": bool(
        np.allclose(trained.get_weights()[0], reference, atol=1e-5)
    ),
    "reported_loss_is_wrong": replicas == 1 or abs(reported - truth) > 1e-2,
    "evaluate_is_wrong_too": replicas == 1 or abs(evaluated - truth) > 1e-2,
    "metrics_are_wrong_too": replicas == 1
    or all(abs(value - true_accuracy) > 1e-3 for value in accuracy.values()),
    "metrics_add_the_old_value_for_each_replica": all(
        abs(value - counted / seen) < 1e-4 for value in accuracy.values()
    ),
    "tf_keras_reports_right": abs(reported_by_tf_keras - truth) < 1e-4,
    "predict_is_right": abs(by_predict - truth) < 1e-4,
    "evaluate_outside_is_right": abs(by_evaluate - truth) < 1e-4,
    "aggregation_sums_the_replicas": bool(
        np.allclose(summed.numpy(), np.array([1.0, 2.0]) - total)
    ),
    "keras3_batch_normalization_raises": replicas == 1
    or became["Keras 3, BatchNormalization"] == "raises the same error",
    "options_of_keras3_raise": replicas == 1
    or {
        became[f"Keras 3, {name}"]
        for name in (
            "a weight constraint",
            "SGD with averages",
            "LossScaleOptimizer",
            "Nadam",
        )
    }
    == {"raises the same error"},
    "adam_trains": became["Keras 3, Adam"] == "trains",
    "keras3_dropout_raises": replicas == 1
    or became["Keras 3, Dropout"] == "raises the same error",
    "other_layers_train": {
        end for name, end in became.items() if name.startswith("tf_") or "Layer" in name
    }
    == {"trains"},
    "a_sum_counts_the_old_value_for_each_replica": counts["sum"]
    == [sum(batch * replicas**i for i in range(len(x) // batch))] * 2
    and (replicas == 1 or counts["sum"][0] > len(x)),
    "n_times_under_mean_is_the_total": counts["N times, mean"] == [len(x)] * 2,
    "mean_is_the_rows_of_one_replica": counts["mean"] == [len(x) / replicas] * 2,
    "no_aggregation_raises": replicas == 1 or "no_aggregation" in errors,
}
measures = {
    "replicas": replicas,
    "variable_type": type(plain).__name__,
    "truth": truth,
    "reported": float(reported),
}
