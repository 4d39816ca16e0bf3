# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 60
# ///
"""Count the all-reduces of a step: one for all gradients, unless you ask for packs."""

# --8<-- [start:step]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
LAYERS, WIDTH = 6, 128
rows = np.random.default_rng(0).normal(size=(4 * replicas, WIDTH)).astype("float32")


def collectives(step):
    """Return how many all-reduces each replica has in the graph of a step."""
    operations = step.get_concrete_function().graph.get_operations()
    return sum(one.type == "CollectiveReduceV2" for one in operations) / replicas


with strategy.scope():
    dense = [keras.layers.Dense(WIDTH) for _ in range(LAYERS)]
    model = keras.Sequential([keras.Input((WIDTH,)), *dense])
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)


def gradients():
    """Compute the gradients of one replica, from its own rows."""
    me = tf.distribute.get_replica_context().replica_id_in_sync_group
    mine = tf.gather(tf.constant(rows), 4 * me + tf.range(4))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(mine) ** 2) / len(rows)
    return tape.gradient(loss, model.trainable_variables)


@tf.function
def keras_step():
    """Apply them with an optimizer of Keras."""
    strategy.run(lambda: optimizer.apply(gradients(), model.trainable_variables))


print("gradients:", len(model.trainable_variables))
print("all-reduces of the optimizer:", f"{collectives(keras_step):.0f}")
# --8<-- [end:step]


# --8<-- [start:packs]
def reduce_in(bytes_per_pack):
    """Return a function that sums the gradients in packs of at least so many bytes."""
    options = tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=bytes_per_pack
    )

    @tf.function
    def step():
        def on_replica():
            context = tf.distribute.get_replica_context()
            return context.all_reduce("SUM", gradients(), options=options)

        return strategy.run(on_replica)

    return step


one_pack, packs = reduce_in(0), reduce_in(4 * WIDTH * WIDTH)
print("all-reduces without packs:", f"{collectives(one_pack):.0f}")
print("all-reduces in packs:", f"{collectives(packs):.0f}")
# --8<-- [end:packs]

with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(rows) ** 2) / len(rows)
whole = tape.gradient(loss, model.trainable_variables)  # of one device on all rows
equal = {
    name: all(
        np.allclose(copy, one, atol=1e-5)
        for sums, one in zip(step(), whole, strict=True)
        for copy in strategy.experimental_local_results(sums)
    )
    for name, step in {"one pack": one_pack, "packs": packs}.items()
}


# --8<-- [start:again]
options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=4 * WIDTH**2)


@tf.function
def packs_then_apply():
    """Sum the gradients in packs, then hand the sums to an optimizer of Keras: wrong."""

    def on_replica():
        context = tf.distribute.get_replica_context()
        sums = context.all_reduce("SUM", gradients(), options=options)
        optimizer.apply(sums, model.trainable_variables)

    strategy.run(on_replica)


before = model.get_weights()
packs_then_apply()
moved = [old - new for old, new in zip(before, model.get_weights(), strict=True)]
far = max(np.abs(one).max() for one in moved)
right = max(np.abs(0.01 * one).max() for one in whole)  # the learning rate is 0.01
print(f"the weights move {far / right:.2f} times as far as they should")
# --8<-- [end:again]

claims = {
    "optimizer_reduces_once": replicas == 1 or collectives(keras_step) == 1,
    "without_packs_it_reduces_once": replicas == 1 or collectives(one_pack) == 1,
    "one_for_each_gradient": collectives(keras_step) == len(model.trainable_variables),
    "packs_reduce_several_times": replicas == 1 or collectives(packs) > 1,
    "both_equal_one_device": all(equal.values()),
    "apply_sums_again": all(
        np.allclose(one, 0.01 * replicas * gradient, atol=1e-5)
        for one, gradient in zip(moved, whole, strict=True)
    ),
}
measures = {"packs": round(collectives(packs)), "pack_bytes": 4 * WIDTH * WIDTH}
