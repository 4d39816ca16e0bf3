# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Save the place of an iterator in a checkpoint: which pipelines allow it, and what the files hold."""

import tempfile
from pathlib import Path

import keras
import tensorflow as tf


# --8<-- [start:place]
def batches(seed=1):
    """Return an iterator over two epochs of shuffled batches."""
    data = tf.data.Dataset.range(100).shuffle(100, seed=seed).batch(10)
    return iter(data.repeat(2).prefetch(2))


def rest(iterator):
    """Return what is left: eight batches of the first epoch, ten of the second."""
    return [batch.numpy().tolist() for batch in iterator]


left, restored = {}, {}
with tempfile.TemporaryDirectory() as folder:
    for seed in (1, None):
        iterator = batches(seed)
        for _ in range(2):
            next(iterator)
        place = tf.train.Checkpoint(iterator=iterator).write(f"{folder}/{seed}")
        left[seed] = rest(iterator)
        iterator = batches(seed)
        tf.train.Checkpoint(iterator=iterator).read(place)
        restored[seed] = rest(iterator)
anew = rest(batches())
print("a new iterator goes on where the first stopped:", anew == left[1])
print("restored, it does:", restored[1] == left[1])
print("without a seed, in this epoch:", restored[None][:8] == left[None][:8])
print("without a seed, in the next epoch:", restored[None][8:] == left[None][8:])
# --8<-- [end:place]


# --8<-- [start:no_place]
def saved(iterator, after=1):
    """Write the place of an iterator; return the bytes of its files, or the error."""
    for _ in range(after):
        next(iterator)
    with tempfile.TemporaryDirectory() as folder:
        try:
            tf.train.Checkpoint(iterator=iterator).write(f"{folder}/place")
        except (tf.errors.OpError, ValueError) as error:
            text = str(error).split("}} ")[-1].split(" [Op:")[0].split(" object at")[0]
            return f"{type(error).__name__}: {text}"
        return sum(path.stat().st_size for path in Path(folder).iterdir())


many = tf.data.Dataset.range(10_000)
flip = keras.layers.RandomFlip(seed=1)
strategy = tf.distribute.MirroredStrategy(["CPU:0"])
sources = {
    "shuffle(10)": many.shuffle(10, seed=1),
    "shuffle(10_000)": many.shuffle(10_000, seed=1),
    "stateless_uniform in map": many.map(
        lambda n: tf.random.stateless_uniform([], [n, 1])
    ),
    "uniform in map": many.map(lambda n: tf.random.uniform([])),
    "RandomFlip in map": many.map(lambda n: flip(tf.zeros((2, 2, 1)), training=True)),
    "numpy_function in map": many.map(lambda n: tf.numpy_function(abs, [n], tf.int64)),
    "from_generator": tf.data.Dataset.from_generator(
        lambda: iter(range(100)), output_signature=tf.TensorSpec([], tf.int64)
    ),
    "py_function in map": many.map(lambda n: tf.py_function(abs, [n], tf.int64)),
    "distributed": strategy.experimental_distribute_dataset(many.batch(10)),
}
places = {name: saved(iter(data)) for name, data in sources.items()}
for name, found in places.items():
    print(f"{name}: saved: {isinstance(found, int)}")
print(
    "the buffer of 10,000 makes the files a hundred times as large:",
    places["shuffle(10_000)"] > 100 * places["shuffle(10)"],
)
cached = many.cache().repeat()
first_epoch, second_epoch = (saved(iter(cached), after) for after in (1, 10_001))
print("so does a cache that is full:", second_epoch > 100 * first_epoch)
# --8<-- [end:no_place]

# --8<-- [start:warn]
warn = tf.data.Options()
warn.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.WARN
warned = {
    name: saved(iter(data.with_options(warn)))
    for name, data in sources.items()
    if name != "distributed" and not isinstance(places[name], int)
}
for name, found in warned.items():
    print(f"{name}, under WARN: saved: {isinstance(found, int)}")

tf.random.set_seed(1)
drawn = tf.data.Dataset.range(200).map(lambda n: (n, tf.random.uniform([])))


def values(iterator, count):
    """Return the numbers of some rows, and what was drawn for them."""
    found = [next(iterator) for _ in range(count)]
    return [int(n) for n, _ in found], [float(draw) for _, draw in found]


iterator = iter(drawn.with_options(warn))
rows_before, draws_before = values(iterator, 100)
with tempfile.TemporaryDirectory() as folder:
    place = tf.train.Checkpoint(iterator=iterator).write(f"{folder}/place")
    rows_without, draws_without = values(iterator, 100)
    iterator = iter(drawn.with_options(warn))
    tf.train.Checkpoint(iterator=iterator).read(place)
    rows_after, draws_after = values(iterator, 100)
print("after a restart, the rows as without one:", rows_after == rows_without)
print("the random numbers as without one:", draws_after == draws_without)
print("the first random number comes again:", draws_before[0] in draws_after)
# --8<-- [end:warn]

claims = {
    "a_new_iterator_starts_again": anew[2:] == left[1] and len(anew) == 20,
    "a_restored_iterator_goes_on": restored[1] == left[1] and len(left[1]) == 18,
    "without_a_seed_it_finishes_the_epoch": restored[None][:8] == left[None][:8],
    "without_a_seed_the_next_epoch_is_the_same": restored[None] == left[None],
    "the_place_holds_the_buffer": places["shuffle(10_000)"]
    > 100 * places["shuffle(10)"],
    "the_place_holds_a_full_cache": second_epoch > 100 * first_epoch,
    "stateless_numbers_can_be_saved": isinstance(
        places["stateless_uniform in map"], int
    ),
    "stateful_numbers_can_be_saved": isinstance(places["uniform in map"], int),
    "a_random_layer_can_be_saved": isinstance(places["RandomFlip in map"], int),
    "python_can_be_saved": any(
        isinstance(places[name], int)
        for name in ("numpy_function in map", "py_function in map", "from_generator")
    ),
    "warn_saves_all_but_a_generator": [
        name for name, found in warned.items() if not isinstance(found, int)
    ]
    == ["from_generator"],
    "under_warn_the_rows_go_on": rows_after == rows_without == [*range(100, 200)],
    "under_warn_random_numbers_start_again": draws_before[0] in draws_after
    and draws_after != draws_without,
    "a_distributed_iterator_can_be_saved": isinstance(places["distributed"], int),
}
errors = {
    "python_in_the_place": str(places["numpy_function in map"]),
    "random_in_the_place": str(places["uniform in map"]),
    "distributed_place": str(places["distributed"]),
}
