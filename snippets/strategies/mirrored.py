# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""Train a Keras model with `fit` on every device of one machine; the result is that of one device."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
print("replicas:", replicas)
# --8<-- [end:setup]

# --8<-- [start:data]
per_replica_batch = 6  # any number will do
global_batch = per_replica_batch * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(5 * global_batch, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(global_batch)
# --8<-- [end:data]


# --8<-- [start:model]
def build():
    """Return a compiled model with the same first weights at each call."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="tanh"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
    return model


with strategy.scope():
    model = build()
# --8<-- [end:model]

# --8<-- [start:fit]
history = model.fit(data, epochs=3, verbose=0).history
for epoch, (loss, mae) in enumerate(
    zip(history["loss"], history["mae"], strict=True), start=1
):
    print(f"epoch {epoch}: loss {loss:.4f}, mae {mae:.4f}")
# --8<-- [end:fit]

# --8<-- [start:check]
alone = build()  # outside the scope: one device, the same global batches
alone_history = alone.fit(data, epochs=3, verbose=0).history
difference = max(
    np.abs(a - b).max()
    for a, b in zip(model.get_weights(), alone.get_weights(), strict=True)
)
steps = int(model.optimizer.iterations.numpy())
print(
    f"{steps} steps of {global_batch} rows; weights equal to one device's: {bool(difference < 1e-4)}"
)
# --8<-- [end:check]

first = next(iter(strategy.experimental_distribute_dataset(data)))[0]
sizes = [len(part) for part in strategy.experimental_local_results(first)]
claims = {
    "equal_to_one_device": bool(difference < 1e-4),
    "same_loss_as_one_device": bool(
        np.allclose(history["loss"], alone_history["loss"], rtol=1e-4)
    ),
    "same_metric_as_one_device": bool(
        np.allclose(history["mae"], alone_history["mae"], rtol=1e-4)
    ),
    "batch_size_is_global": steps == 3 * len(x) // global_batch,
    "batch_is_per_replica_times_replicas": sizes == [per_replica_batch] * replicas,
    "power_of_two_not_needed": global_batch.bit_count() != 1
    and bool(difference < 1e-4),
    "fit_works_outside_scope": history["loss"][-1] < history["loss"][0],
}
measures = {
    "replicas": replicas,
    "per_replica_batch": per_replica_batch,
    "global_batch": global_batch,
    "steps": steps,
    "largest_difference": float(difference),
}
