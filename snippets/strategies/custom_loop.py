# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""Write the training loop yourself: distribute the data set, run a step on every replica, reduce what it returns."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync

global_batch = 6 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(5 * global_batch, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(global_batch)
# --8<-- [end:setup]


# --8<-- [start:model]
def build():
    """Return a model and an optimizer, with the same first weights at each call."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="tanh"),
            keras.layers.Dense(1),
        ]
    )
    optimizer = keras.optimizers.Adam(0.01)
    # Make its slots now, not inside tf.function.
    optimizer.build(model.trainable_variables)
    return model, optimizer


with strategy.scope():
    model, optimizer = build()
    mean_loss = keras.metrics.Mean()  # each replica keeps a sum and a count of its own
# --8<-- [end:model]


# --8<-- [start:step]
def on_replica(x, y):
    """Train on one replica's rows, and note the loss of each."""
    with tf.GradientTape() as tape:
        # This gives one loss for each row.
        losses = tf.reduce_mean(tf.square(model(x, training=True) - y), axis=-1)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=global_batch)
    gradients = tape.gradient(loss, model.trainable_variables)
    # `apply` sums the gradients over the replicas first.
    optimizer.apply(gradients, model.trainable_variables)
    mean_loss.update_state(losses)


@tf.function
def step(rows):
    """Train on one global batch."""
    strategy.run(on_replica, args=rows)


# --8<-- [end:step]

# --8<-- [start:loop]
distributed = strategy.experimental_distribute_dataset(data)
history = []
for epoch in range(3):
    for rows in distributed:
        step(rows)
    history.append(float(mean_loss.result()))  # the only wait for the devices
    count = int(mean_loss.count.numpy())
    print(f"epoch {epoch + 1}: loss {history[-1]:.4f} over {count} rows")
    mean_loss.reset_state()
# --8<-- [end:loop]

# --8<-- [start:reduce]
first = next(iter(distributed))[0]
print(
    "a distributed batch:",
    [tuple(part.shape) for part in strategy.experimental_local_results(first)],
)


@tf.function
def size_on_replica(x):
    """Return how many rows this replica holds."""
    return tf.shape(x)[0]


sizes = strategy.run(size_on_replica, args=(first,))
print("sizes:", [int(size) for size in strategy.experimental_local_results(sizes)])
print("reduced by SUM:", int(strategy.reduce("SUM", sizes, axis=None)))
print("reduced by MEAN:", int(strategy.reduce("MEAN", sizes, axis=None)))
# --8<-- [end:reduce]

# --8<-- [start:check]
alone, alone_optimizer = build()  # outside the scope, trained by `fit` on one device
alone.compile(optimizer=alone_optimizer, loss="mse")
alone_history = alone.fit(data, epochs=3, verbose=0).history["loss"]
difference = max(
    np.abs(a - b).max()
    for a, b in zip(model.get_weights(), alone.get_weights(), strict=True)
)
print("weights equal to `fit` on one device:", bool(difference < 1e-4))
# --8<-- [end:check]

claims = {
    "loop_equals_fit_on_one_device": bool(difference < 1e-4),
    "loop_reports_the_loss_of_fit": bool(
        np.allclose(history, alone_history, rtol=1e-4)
    ),
    "every_row_counted_once": count == len(x),
    "reduce_sum_gives_the_global_batch": int(strategy.reduce("SUM", sizes, axis=None))
    == global_batch,
    "reduce_mean_gives_the_replica_batch": int(
        strategy.reduce("MEAN", sizes, axis=None)
    )
    == global_batch // replicas,
}
measures = {
    "replicas": replicas,
    "global_batch": global_batch,
    "largest_difference": float(difference),
}
