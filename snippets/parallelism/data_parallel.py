# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Let a strategy train data-parallel, count which rows each replica saw, and compare with one device."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]
strategy = tf.distribute.MirroredStrategy(DEVICES)
REPLICAS = strategy.num_replicas_in_sync
BATCH, STEPS = 4 * REPLICAS, 3
random = np.random.default_rng(7)
# A number for every row, so that we can see where it goes.
rows = np.arange(BATCH * STEPS)
x = random.normal(size=(len(rows), 6)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))


def build() -> keras.Model:
    """Return a small network, always with the same weights."""
    keras.utils.set_random_seed(3)
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(16, activation="tanh"),
            keras.layers.Dense(1),
        ]
    )


# --8<-- [end:setup]

# --8<-- [start:train]
with strategy.scope():
    model = build()
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
dataset = strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((rows, x, y)).batch(BATCH)
)


@tf.function
def step(number, inputs, targets):
    """Run on every replica with its part of the batch; `apply` sums the gradients over the replicas."""
    with tf.GradientTape() as tape:
        # Divide by the global batch.
        loss = tf.reduce_sum((model(inputs, training=True) - targets) ** 2) / BATCH
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return number


seen = []  # seen[step][replica] is the list of row numbers
for batch in dataset:
    numbers = strategy.run(step, args=batch)
    seen.append(
        [part.numpy().tolist() for part in strategy.experimental_local_results(numbers)]
    )
for index, parts in enumerate(seen):
    print(f"step {index}, rows of each replica:", *parts)
# --8<-- [end:train]

# --8<-- [start:compare]
alone = build()
for start in range(0, len(rows), BATCH):
    inputs, targets = x[start : start + BATCH], y[start : start + BATCH]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((alone(inputs) - targets) ** 2)
    for variable, gradient in zip(
        alone.trainable_variables,
        tape.gradient(loss, alone.trainable_variables),
        strict=True,
    ):
        variable.assign_sub(0.1 * gradient)

gap = max(
    float(abs(a - b).max())
    for a, b in zip(model.get_weights(), alone.get_weights(), strict=True)
)
kernel = [
    copy.numpy()
    for copy in strategy.experimental_local_results(model.trainable_variables[0].value)
]
print("largest difference from one device:", "below 1e-6" if gap < 1e-6 else gap)
print(
    "copies of the first kernel that equal copy 0:",
    sum(bool((k == kernel[0]).all()) for k in kernel),
)
# --8<-- [end:compare]

everything = [set(part) for parts in seen for part in parts]
union = set().union(*everything)
claims = {
    "equals_one_device": gap < 1e-5,
    "weights_identical_on_replicas": all((k == kernel[0]).all() for k in kernel),
    "parts_disjoint": sum(map(len, everything)) == len(union),
    "union_is_the_batch": all(
        sorted(row for part in parts for row in part)
        == list(range(i * BATCH, (i + 1) * BATCH))
        for i, parts in enumerate(seen)
    ),
    "a_replica_saw_the_whole_batch": any(len(part) == BATCH for part in everything)
    and REPLICAS > 1,
    "a_replica_saw_the_whole_data_set": any(
        len(part) == len(rows) for part in everything
    ),
    "every_replica_same_architecture": len({k.shape for k in kernel}) == 1
    and len(kernel) == REPLICAS,
    "same_rows_every_step": REPLICAS > 1 and all(parts == seen[0] for parts in seen),
}
measures = {
    "replicas": REPLICAS,
    "rows_per_replica_and_step": len(seen[0][0]),
    "rows": len(rows),
}
owner = {
    row: f"replica {i}"
    for parts in seen
    for i, part in enumerate(parts)
    for row in part
}
figures = {
    "who_saw_what": {
        "kind": "grid",
        "title": "Which replica saw which row",
        "rows": [f"step {i}" for i in range(STEPS)],
        "columns": [f"{i}" for i in range(BATCH)],
        "xlabel": "place in the global batch",
        "text": [[str(i * BATCH + j) for j in range(BATCH)] for i in range(STEPS)],
        "group": [[owner[i * BATCH + j] for j in range(BATCH)] for i in range(STEPS)],
    }
}
