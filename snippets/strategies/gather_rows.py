# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
# ///
"""Gather what every row gave, in order, though the parts of the last batch differ in length."""

# --8<-- [start:gather]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
batch = 2 * replicas
x = np.random.default_rng(0).normal(size=(batch + replicas + 1, 3)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((np.arange(len(x)), x)).batch(batch)
batches = strategy.experimental_distribute_dataset(data)
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])


def on_replica(number, x):
    return number, model(x, training=False)


@tf.function
def predict(rows):
    """Return the numbers of the rows of a batch, and a prediction for each."""
    numbers, predictions = strategy.run(on_replica, args=rows)
    return strategy.gather(numbers, axis=0), strategy.gather(predictions, axis=0)


parts, numbers, predictions = [], [], []
for rows in batches:
    parts.append([len(p) for p in strategy.experimental_local_results(rows[0])])
    some_numbers, some_predictions = predict(rows)
    numbers.extend(some_numbers.numpy().tolist())
    predictions.extend(some_predictions.numpy())

kernel, bias = model.get_weights()
right = np.allclose(predictions, x @ kernel + bias, atol=1e-5)
print("rows on each replica:", *parts)
print("gathered rows:", *numbers)
print("predictions are those of NumPy:", right)
# --8<-- [end:gather]

eagerly = [
    int(number)
    for rows in batches
    for number in strategy.gather(strategy.run(on_replica, args=rows)[0], axis=0)
]
kept = numbers == list(range(len(x)))
claims = {
    "every_row_in_order": kept and bool(right),
    "the_same_eagerly": eagerly == numbers,
    "parts_differ_in_length": len(set(parts[-1])) > 1,
    "a_part_is_empty": 0 in parts[-1],
    "predict_gives_the_same": bool(
        np.allclose(model.predict(data.map(lambda _, x: x), verbose=0), predictions)
    ),
}
measures = {"replicas": replicas}
