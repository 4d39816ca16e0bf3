# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""Look inside one step under MirroredStrategy: copies of a variable, parts of a batch, gradients that meet."""

# --8<-- [start:variable]
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync

with strategy.scope():
    weights = tf.Variable([1.0, 0.0, -1.0], name="weights")
plain = tf.Variable(0.0, name="plain")  # made outside the scope

print(type(weights).__name__)
for copy in strategy.experimental_local_results(weights):
    print(copy.device.split("task:0/")[-1], copy.numpy())
print(type(plain).__name__, "on", plain.device.split("task:0/")[-1])
# --8<-- [end:variable]

# --8<-- [start:batch]
per_replica_batch = 3
global_batch = per_replica_batch * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(global_batch, 3)).astype("float32")
y = rng.normal(size=global_batch).astype("float32")
rows = tf.range(global_batch)
dataset = tf.data.Dataset.from_tensor_slices((rows, x, y)).batch(global_batch)
batch = next(iter(strategy.experimental_distribute_dataset(dataset)))

parts = [
    part.numpy().tolist() for part in strategy.experimental_local_results(batch[0])
]
for replica, part in enumerate(parts):
    print(f"replica {replica} holds rows {part}")
# --8<-- [end:batch]


# --8<-- [start:step]
@tf.function
def step(batch):
    """One step of gradient descent; returns each replica's own gradient and the sum that each applies."""

    def on_replica(_, x, y):
        with tf.GradientTape() as tape:
            error = tf.linalg.matvec(x, weights) - y
            loss = tf.reduce_sum(error**2) / global_batch
        own = tape.gradient(loss, weights)
        total = tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.SUM, own
        )
        weights.assign_sub(0.1 * total)
        return own, total

    return strategy.run(on_replica, args=batch)


before = weights.numpy()
own, total = (
    np.array(strategy.experimental_local_results(value)) for value in step(batch)
)
after = np.array(
    [copy.numpy() for copy in strategy.experimental_local_results(weights)]
)
for replica in range(replicas):
    print(
        f"replica {replica}: own gradient {own[replica].round(3)}, applied {total[replica].round(3)}"
    )
print(
    f"weights afterwards: {after[0].round(4)}, the same on every device: {bool((after == after[0]).all())}"
)
# --8<-- [end:step]

# --8<-- [start:check]
# NumPy takes the whole batch at once.
reference = 2 / global_batch * x.T @ (x @ before - y)
print("the whole batch's gradient:", reference.round(3))
# --8<-- [end:check]

claims = {
    "one_copy_per_device": len(after) == len(devices)
    and type(weights).__name__ == "MirroredVariable",
    "made_outside_is_not_mirrored": len(strategy.experimental_local_results(plain)) == 1
    and type(plain).__name__ != "MirroredVariable",
    "parts_make_up_the_batch": sorted(row for part in parts for row in part)
    == list(range(global_batch)),
    "parts_have_equal_size": {len(part) for part in parts} == {per_replica_batch},
    "own_gradients_differ": replicas == 1 or not np.allclose(own[0], own[1], atol=1e-3),
    "sum_equals_whole_batch": bool(np.allclose(total, reference, atol=1e-5)),
    "own_gradient_is_the_whole_batch": replicas > 1
    and bool(np.allclose(own, reference, atol=1e-3)),
    "weights_equal": bool((after == after[0]).all()),
    "weights_are_the_one_device_step": bool(
        np.allclose(after, before - 0.1 * reference, atol=1e-5)
    ),
    "numpy_reads_the_first_copy": bool((weights.numpy() == after[0]).all()),
}
measures = {
    "replicas": replicas,
    "per_replica_batch": per_replica_batch,
    "global_batch": global_batch,
    "variable_type": type(weights).__name__,
    "plain_type": type(plain).__name__,
}
names = [f"replica {replica}" for replica in range(replicas)]
split = {
    "kind": "grid",
    "title": "Rows of the batch",
    "xlabel": "row",
    "rows": names,
    "columns": [str(row) for row in range(global_batch)],
    "text": [
        [str(row) if row in part else "" for row in range(global_batch)]
        for part in parts
    ],
    "group": [
        [names[i] if row in part else "" for row in range(global_batch)]
        for i, part in enumerate(parts)
    ],
}
gradients = {
    "kind": "bars",
    "title": "Gradients",
    "ylabel": "gradient",
    "categories": [f"weight {i}" for i in range(3)],
    "series": {
        **{name: own[i].tolist() for i, name in enumerate(names)},
        "sum, applied by all": total[0].tolist(),
        "whole batch, NumPy": reference.tolist(),
    },
}
figures = {
    "batch_split": {"kind": "panels", "panels": [split, gradients], "columns": 1}
}
