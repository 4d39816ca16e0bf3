# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""Batch normalisation under MirroredStrategy: a replica normalises its own rows, unless the layer is synchronised."""

# --8<-- [start:setup]
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
claims = {
    "equal_without_batch_normalisation": plain < 1e-4,
    "each_replica_normalises_its_own_rows": replicas > 1 and local > 1e-3,
    "synchronised_equals_one_device": whole < 1e-4,
    "several_all_reduces_for_each_layer": replicas > 1
    and (forward, backward) == (3, 2),
}
measures = {"replicas": replicas, "largest_difference": round(local, 3)}
measures |= {"forward": forward, "backward": backward}
