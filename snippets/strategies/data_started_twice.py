# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 180
# ///
"""Under a strategy `fit` and `evaluate` take a batch, then start the data again: what is read, what is lost."""

# --8<-- [start:rows]
import time

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
mirrored = tf.distribute.MirroredStrategy([device.name for device in devices])
places = {"one device": tf.distribute.get_strategy(), "MirroredStrategy": mirrored}
BATCH = 2 * mirrored.num_replicas_in_sync
ROWS, HELD_OUT, EPOCHS = 10 * BATCH, 15 * BATCH, 3


def pipeline(rows, cached=False, buffer=None):
    """Return a data set, shuffled unless the buffer is 0, and the rows read so far."""
    read = []

    def note(row):
        read.append(int(row))
        return row

    def load(row):  # stands for a file to open, an image to decode
        row = tf.ensure_shape(tf.numpy_function(note, [row], tf.int64), [])
        return tf.cast([row], tf.float32), tf.cast([row], tf.float32)

    data = tf.data.Dataset.range(rows).map(load)
    data = data.cache() if cached else data
    data = data if buffer == 0 else data.shuffle(buffer or rows)
    return data.batch(BATCH), read


def rows_read(place, cached=False, buffers=(None, None)):
    """Return how many rows three epochs of `fit` read, to train and to validate."""
    with place.scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    data, read = pipeline(ROWS, cached, buffers[0])
    validation_data, read_to_validate = pipeline(HELD_OUT, cached, buffers[1])
    model.fit(data, validation_data=validation_data, epochs=EPOCHS, verbose=0)
    return len(read), len(read_to_validate)


read = {name: rows_read(place) for name, place in places.items()}
read_once = {name: rows_read(place, cached=True) for name, place in places.items()}
for title, found in ("read", read), ("read with cache()", read_once):
    for name, (training, validation) in found.items():
        print(f"{title}, {name}: {training} rows to train, {validation} to validate")
small, without = rows_read(mirrored, True, (4, 0)), rows_read(mirrored, False, (4, 0))
print("MirroredStrategy, shuffle(4) to train, no shuffle to validate:")
print("with cache(), each row read once to train:", small[0] == ROWS)
print("and to validate:", small[1] == HELD_OUT)
fewer = (
    without[0] < read["MirroredStrategy"][0],
    without[1] < read["MirroredStrategy"][1],
)
print("without cache(), fewer rows than with the full buffers:", all(fewer))
# --8<-- [end:rows]


# --8<-- [start:order]
def trained(place, shuffled):
    """Return the weights after `fit` on data that are shuffled with a seed, or not at all."""
    with place.scope():
        start = {"kernel_initializer": "zeros"}
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, **start)])
        model.compile(keras.optimizers.SGD(0.2), "mse")
    numbers = np.linspace(-1, 1, ROWS, dtype="float32")[:, None]
    data = tf.data.Dataset.from_tensor_slices((numbers, numbers**2))
    data = data.shuffle(ROWS, seed=1) if shuffled else data
    model.fit(data.batch(BATCH), epochs=EPOCHS, verbose=0)
    return model.get_weights()


def apart(some, others):
    """Return the largest difference of two lists of weights."""
    pairs = zip(some, others, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


single = tf.distribute.OneDeviceStrategy(devices[0].name)
in_order, shuffled = (
    [trained(place, seeded) for place in (*places.values(), single)]
    for seeded in (False, True)
)
unshuffled, seeded = apart(in_order[1], in_order[0]), apart(shuffled[1], shuffled[0])
from_single = apart(shuffled[1], shuffled[2])
print(f"MirroredStrategy, no shuffle: {unshuffled:.4f} from one device")
print(f"shuffle with a seed: {seeded:.4f} from one device")
print(f"shuffle with a seed: {from_single:.4f} from OneDeviceStrategy")
# --8<-- [end:order]

# --8<-- [start:batches]
BATCHES = 20
numbers = np.arange(1.0, BATCHES + 1)  # of the batches, each its own label


def batch(n):
    """Return batch `n`: its rows use the weight `n` of the model, and no other."""
    rows = 2 * mirrored.num_replicas_in_sync
    return np.eye(BATCHES, dtype="float32")[[n] * rows], np.full((rows, 1), numbers[n])


def generate():
    for n in range(BATCHES):
        yield batch(n)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return BATCHES

    def __getitem__(self, n):
        return batch(n)


def dataset(function):
    x, y = (tf.TensorSpec(part.shape, part.dtype) for part in batch(0))
    return tf.data.Dataset.from_generator(function, output_signature=(x, y))


def slow_at_first():
    """Return a loss that takes its time when first traced, as a large model does."""
    pauses = [0.5]  # the pipeline reads ahead meanwhile

    def squared_error(y, prediction):
        time.sleep(pauses.pop() if pauses else 0)
        return (y - prediction) ** 2

    return squared_error


def compiled(place, build=False):
    with place.scope():
        dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = keras.Sequential([dense])
        model.compile(keras.optimizers.SGD(0.25), slow_at_first())
        if build:
            model(batch(0)[0])
    return model


# --8<-- [end:batches]

# --8<-- [start:others]
evaluated, predicted = {}, {}
for name, place in places.items():
    loss = compiled(place).evaluate(generate(), verbose=0)
    evaluated[name] = bool(np.isclose(loss, np.mean(numbers**2)))
    rows = compiled(place).predict(generate(), verbose=0)
    predicted[name] = len(rows) == BATCHES * len(batch(0)[0])
    print(f"{name}: evaluate(generator) is right: {evaluated[name]}")
    print(f"{name}: predict(generator) gives all rows: {predicted[name]}")
# --8<-- [end:others]


# --8<-- [start:fit]
def times_trained(place, data, build=False, **options):
    """Return how often one epoch of `fit` trains on each batch: a step halves its error."""
    model = compiled(place, build)
    model.fit(data, shuffle=False, verbose=0, **options)
    return np.round(-np.log2(1 - model.get_weights()[0][:, 0] / numbers))


def same(generator):
    """Return a function that hands out this one generator, used up or not."""
    return lambda: generator


cases = {
    "a generator": lambda place: times_trained(place, generate()),
    "a generator, the model called before `fit`": lambda place: times_trained(
        place, generate(), build=True
    ),
    "a generator, `steps_per_epoch`": lambda place: times_trained(
        place, generate(), steps_per_epoch=BATCHES
    ),
    "`from_generator`, always the same generator": lambda place: times_trained(
        place, dataset(same(generate()))
    ),
    "`from_generator`, a new generator each time": lambda place: times_trained(
        place, dataset(generate)
    ),
    "`PyDataset`": lambda place: times_trained(place, Batches()),
}
trained = {
    case: {name: train(place) for name, place in places.items()}
    for case, train in cases.items()
}
# --8<-- [end:fit]


def word(times):
    """Say what became of the batches, in words that do not depend on how far was read ahead."""
    missing, twice = np.any(times == 0), np.any(times > 1)
    if missing:
        return "some twice, some never" if twice else "some never"
    return "some twice" if twice else "each once"


words = {
    case: {name: word(times) for name, times in found.items()}
    for case, found in trained.items()
}
GENERATOR, BUILT, STEPS, SAME, NEW, PY = cases
ONE, MANY = places
lost = trained[GENERATOR][MANY]
claims = {
    "without_a_shuffle_as_on_one_device": unshuffled < 1e-4,
    "with_a_seeded_shuffle_as_on_one_device": seeded < 1e-3,
    "one_device_strategy_has_the_same_order": from_single < 1e-4,
    "one_device_reads_each_row_once_an_epoch": read[ONE]
    == (EPOCHS * ROWS, EPOCHS * HELD_OUT),
    "training_starts_once_more": read[MANY][0] == (EPOCHS + 1) * ROWS,
    "each_validation_starts_twice": read[MANY][1] == 2 * EPOCHS * HELD_OUT,
    "cache_reads_each_row_once": read_once[ONE] == read_once[MANY] == (ROWS, HELD_OUT),
    "a_small_buffer_breaks_the_cache": small[0] > ROWS and small[1] > HELD_OUT,
    "small_buffers_read_less": all(fewer),
    "one_device_trains_on_each_once": all(
        found[ONE] == "each once" for found in words.values()
    ),
    "generator_loses_batches": words[GENERATOR][MANY] == "some never",
    "first_two_are_trained_then_a_gap": lost[:3].tolist() == [1, 1, 0],
    "the_first_batch_is_lost": bool(lost[0] == 0),
    "no_batch_of_a_generator_twice": bool(np.all(lost <= 1)),
    "building_first_helps": words[BUILT][MANY] == "each once",
    "steps_per_epoch_helps": words[STEPS][MANY] == "each once",
    "the_same_generator_helps": words[SAME][MANY] == "each once",
    "a_new_generator_helps": words[NEW][MANY] == "each once",
    "a_py_dataset_helps": words[PY][MANY] == "each once",
    "evaluate_is_wrong": evaluated[ONE] and not evaluated[MANY],
    "predict_gives_all_rows": all(predicted.values()),
}
measures = {"batches": BATCHES, "epochs": EPOCHS, "rows": ROWS, "held_out": HELD_OUT}
measures |= {"order_apart": round(seeded, 4), "order_cured": round(from_single, 4)}
tables = {
    "trained": {
        "columns": ["data of `fit`", *places],
        "rows": [[case, *found.values()] for case, found in words.items()],
    }
}
