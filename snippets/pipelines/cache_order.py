# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# ///
"""What a cache freezes: augmentation, order, an old version of the code; and what a half-read cache is worth."""

import pathlib
import tempfile

import keras
import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:augment]
digits = load_digits().images[:4].astype("float32") / 16
EPOCHS = 3


def augment(image, seed):
    """Shift the image by up to two pixels in each direction, and add noise, as the seed says."""
    first, second = tf.unstack(tf.random.split(seed, 2))  # a seed for each draw
    shift = tf.random.stateless_uniform([2], first, -2, 3, tf.int32)
    return tf.roll(image, shift, axis=[0, 1]) + tf.random.stateless_uniform(
        [8, 8], second, maxval=0.3
    )


images = tf.data.Dataset.from_tensor_slices(digits)
# Each epoch draws other seeds.
seeds = tf.data.Dataset.random(seed=1, rerandomize_each_iteration=True).batch(2)
orders = {
    "cache, augment": tf.data.Dataset.zip(images.cache(), seeds).map(augment),
    "augment, cache": tf.data.Dataset.zip(images, seeds).map(augment).cache(),
}
versions, shown = {}, {}
for name, data in orders.items():
    shown[name] = [list(data.as_numpy_iterator()) for _ in range(EPOCHS)]
    versions[name] = len({epoch[0].tobytes() for epoch in shown[name]})
    print(f"{name}: {versions[name]} version(s) of the first image in {EPOCHS} epochs")
# --8<-- [end:augment]

# --8<-- [start:shuffle]
numbers = tf.data.Dataset.range(8)
frozen = numbers.shuffle(8, seed=1).cache()
fresh = numbers.cache().shuffle(8, seed=1)
frozen_orders = [[int(n) for n in frozen] for _ in range(3)]
fresh_orders = [[int(n) for n in fresh] for _ in range(3)]
print("shuffle, cache:", *frozen_orders)
print("cache, shuffle:", *fresh_orders)
# --8<-- [end:shuffle]

# --8<-- [start:take]
made = []
plain = tf.data.Options()  # nothing is made ahead
plain.experimental_optimization.apply_default_optimizations = False


def make(n):
    """Remember that this element was made."""
    made.append(int(n))
    return n


def made_in_two_epochs(pipeline):
    """Return how many elements two epochs of five elements each make the source produce."""
    made.clear()
    data = pipeline(
        tf.data.Dataset.range(20).map(lambda n: tf.numpy_function(make, [n], tf.int64))
    )
    for _ in range(2):
        for _ in data.with_options(plain):
            pass
    return len(made)


cache_take = made_in_two_epochs(lambda data: data.cache().take(5))
take_cache = made_in_two_epochs(lambda data: data.take(5).cache())
print("cache().take(5), elements made in two epochs:", cache_take)
print("take(5).cache(), elements made in two epochs:", take_cache)
# --8<-- [end:take]


# --8<-- [start:validation]
def made_to_validate(pipeline, steps=None):
    """Return how many elements `fit` makes to validate four times on data of 40 elements."""
    made.clear()
    data = tf.data.Dataset.range(40).map(
        lambda n: tf.ensure_shape(tf.numpy_function(make, [n], tf.int64), [])
    )
    data = pipeline(data).map(lambda n: (tf.cast([n], tf.float32), 0.0)).batch(5)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    options = {"validation_data": data.with_options(plain), "validation_steps": steps}
    model.fit(tf.ones((5, 1)), tf.zeros(5), epochs=4, verbose=0, **options)
    return len(made)


validated = {
    "all": made_to_validate(lambda data: data.cache()),
    "half": made_to_validate(lambda data: data.cache(), steps=4),
    "take": made_to_validate(lambda data: data.take(20).cache()),
}
print("four epochs, all 40 elements to validate, made:", validated["all"])
print("validation_steps for half of them, made:", validated["half"])
print("take(20).cache() instead, made:", validated["take"])
# --8<-- [end:validation]

# --8<-- [start:file]
folder = tempfile.TemporaryDirectory()
file = str(pathlib.Path(folder.name, "digits"))


def files():
    """Return the names of the files that are there."""
    return sorted(path.name for path in pathlib.Path(folder.name).iterdir())


begun = iter(numbers.map(lambda n: 2 * n).cache(file))
next(begun)
while_written = files()
del begun  # the loop ends before the data do
after_half = files()
doubled = [int(n) for n in numbers.map(lambda n: 2 * n).cache(file)]
# The program was changed; the file is still there.
tripled = [int(n) for n in numbers.map(lambda n: 3 * n).cache(file)]
print("times 2:", doubled)
print("times 3:", tripled)
complete = files()
print("files of a loop that ended early:", after_half)
print("files of a complete cache:", complete)
# --8<-- [end:file]

# --8<-- [start:shards]
prefix = str(pathlib.Path(folder.name, "worker"))
of_two = [int(n) for n in numbers.shard(2, 0).cache(prefix)]
of_four = [int(n) for n in numbers.shard(4, 0).cache(prefix)]
print("worker 0 of two reads: ", *of_two)
print("worker 0 of four reads:", *of_four)
# --8<-- [end:shards]

# --8<-- [start:two]
shared = numbers.cache(str(pathlib.Path(folder.name, "shared")))
first, second = iter(shared), iter(shared)
next(first)
try:
    next(second)
    locked = ""
except tf.errors.AlreadyExistsError as error:
    text = error.message[error.message.index("There appears") :]
    text = text.partition(" (")[0]  # without the file's name
    locked = f"{type(error).__name__}: {text}"
print(locked)
# --8<-- [end:two]

try:
    next(iter(numbers.cache(str(pathlib.Path(folder.name, "absent", "digits")))))
    no_folder = ""
except tf.errors.NotFoundError as error:
    no_folder = error.message.split("}} ")[-1].partition(" [Op")[0]
    no_folder = f"{type(error).__name__}: {no_folder.replace(folder.name, '')}"

picture = tf.reshape(tf.range(64.0), (8, 8, 1)) / 64


def flipped_and_darker(seed, other):
    """Say whether `tf.image` flips the picture with one seed, and darkens it with the other."""
    flipped = tf.image.stateless_random_flip_left_right(picture, seed)
    changed = tf.image.stateless_random_brightness(picture, 0.2, other)
    return bool(flipped[0, 0] > picture[0, 0]), bool(changed[0, 0] < picture[0, 0])


one_seed = [flipped_and_darker(seed, seed) for seed in seeds.take(100)]
split_seed = [
    flipped_and_darker(*tf.unstack(tf.random.split(seed, 2)))
    for seed in seeds.take(100)
]

errors = {"locked": locked, "no_folder": no_folder}
claims = {
    "cache_then_augment_varies": versions["cache, augment"] == EPOCHS,
    "augment_then_cache_varies": versions["augment, cache"] > 1,
    "shuffle_then_cache_freezes_order": len({tuple(order) for order in frozen_orders})
    == 1,
    "cache_then_shuffle_varies": len({tuple(order) for order in fresh_orders}) == 3,
    "cache_take_keeps_nothing": cache_take >= 10,
    "take_cache_keeps_all": take_cache == 5,
    "whole_validation_fills_the_cache": validated["all"] == 40,
    "validation_steps_never_fill_the_cache": validated["half"] == 4 * 20,
    "take_before_the_cache_fills_it": validated["take"] == 20,
    "a_cache_that_is_written_has_a_lock_and_no_index": any(
        name.endswith(".lockfile") for name in while_written
    )
    and "digits.index" not in while_written,
    "a_loop_that_ends_early_leaves_files": bool(after_half),
    "a_complete_cache_has_an_index_and_no_lock": "digits.index" in complete
    and not any(name.endswith(".lockfile") for name in complete),
    "file_cache_notices_a_changed_map": tripled == [3 * n for n in range(8)],
    "file_cache_gives_old_elements": tripled == doubled,
    "one_seed_ties_two_draws": set(one_seed) == {(False, False), (True, True)},
    "split_seeds_tie_two_draws": len(set(split_seed)) < 4,
    "two_iterators_raise": locked.startswith("AlreadyExistsError"),
}
measures = {
    "epochs": EPOCHS,
    "frozen_versions": versions["augment, cache"],
    "made_again": cache_take,
}
figures = {
    "versions": {
        "kind": "panels",
        "columns": EPOCHS,
        "panels": [
            {
                "kind": "matrix",
                "title": f"{name}: epoch {epoch + 1}",
                "rows": [str(n) for n in range(8)],
                "columns": [str(n) for n in range(8)],
                "values": [[round(float(v), 2) for v in row] for row in image],
            }
            for name, seen in shown.items()
            for epoch, (image, *_) in enumerate(seen)
        ],
    }
}
