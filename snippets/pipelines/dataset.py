# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# ///
"""What a dataset is: lazy, of known structure, restarted by each loop, and made of traced functions."""

import random
import time

# --8<-- [start:first]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

digits = load_digits()
images, labels = digits.images.astype("float32"), digits.target
data = (
    tf.data.Dataset.from_tensor_slices((images, labels))
    .map(lambda image, label: (image / 16, label))
    .batch(4)
)
for image, label in data.take(2):
    print(image.shape, label.numpy())
# --8<-- [end:first]

# --8<-- [start:lazy]
made = []


def note(number):
    """Remember that this element was made."""
    made.append(int(number))
    return number


# Nothing is rewritten or read ahead, so that the counts below are those of the code.
plain = tf.data.Options()
plain.experimental_optimization.apply_default_optimizations = False
plain.autotune.enabled = False
numbers = (
    tf.data.Dataset.range(5)
    .map(lambda n: tf.numpy_function(note, [n], tf.int64))
    .with_options(plain)
)
made_after_building = len(made)
first_three = [int(n) for n in numbers.take(3)]
print("made after building:", made_after_building)
print("made after taking three:", len(made))
# --8<-- [end:lazy]

# --8<-- [start:again]
once = iter(range(5))  # an iterator: used up after one loop
print("an iterator, twice:", list(once), list(once))
made.clear()
passes = [[int(n) for n in numbers] for _ in range(2)]
print("a dataset, twice:", *passes)
made_twice = len(made)
print("elements made for two loops:", made_twice)
# --8<-- [end:again]

# --8<-- [start:spec]
print(data.element_spec)
print("batches:", len(data))
made.clear()
print("of the noted numbers:", numbers.element_spec)
made_for_spec = len(made)
print("elements made to know that:", made_for_spec)
named = tf.data.Dataset.from_tensor_slices({"image": images, "label": labels})
print({name: spec.shape for name, spec in named.element_spec.items()})
# --8<-- [end:spec]


def caught(action) -> str:
    """Return the error that an action raises, as `Type: text`, first line only."""
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


# --8<-- [start:steps]
unassigned = tf.data.Dataset.range(6)
unassigned.batch(3)  # makes a new dataset, which nobody keeps
assigned = unassigned.batch(3)
print("not assigned:", len(unassigned), "elements; assigned:", len(assigned))
# --8<-- [end:steps]

# --8<-- [start:traced]
calls = []


def augment(number):
    """Add noise twice: from Python, which runs while tracing, and from TensorFlow, which runs for each element."""
    calls.append(number)
    return random.random(), tf.random.uniform([])


noise = list(tf.data.Dataset.range(100).map(augment).as_numpy_iterator())
from_python = len({float(value) for value, _ in noise})
from_tensorflow = len({float(value) for _, value in noise})
print("calls of the Python function:", len(calls))
print("different values from Python:", from_python)
print("different values from TensorFlow:", from_tensorflow)
# --8<-- [end:traced]

# --8<-- [start:varying]
sequences = tf.data.Dataset.range(1, 4).map(tf.range)
padded = next(iter(sequences.padded_batch(3)))
print(padded.numpy())
# --8<-- [end:varying]

# --8<-- [start:lengths]
texts = tf.data.Dataset.range(1, 33).map(tf.range)  # 1 to 32 long
shuffled = texts.shuffle(32, seed=1)
in_buckets = shuffled.bucket_by_sequence_length(
    lambda text: tf.shape(text)[0],
    bucket_boundaries=[9, 17, 25, 33],  # up to 8, 16, 24, 32
    bucket_batch_sizes=[2, 2, 2, 2, 2],
    pad_to_bucket_boundary=True,
    drop_remainder=True,
)
ways = {"padded_batch": shuffled.padded_batch(2), "padded buckets": in_buckets}
lengths = {}
for name, batches in ways.items():
    found = [batch.shape[1] for batch in batches]
    lengths[name] = set(found)
    print(f"{name}: {len(found)} batches, {len(lengths[name])} different lengths")
# --8<-- [end:lengths]


# --8<-- [start:compiled]
def first_epoch(batches, xla):
    """Return the processor's seconds for the first epoch, which traces and compiles."""
    keras.utils.set_random_seed(0)
    data = batches.map(lambda b: (tf.cast(b, tf.float32)[..., None], tf.zeros(2)))
    layers = [keras.layers.Conv1D(4, 1), keras.layers.GlobalAveragePooling1D()]
    model = keras.Sequential([keras.Input((None, 1)), *layers, keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=xla)
    start = time.process_time()
    model.fit(data, verbose=0)
    return time.process_time() - start


many, few = ways.values()
first_epoch(few.take(1), xla=True)  # what XLA needs once is not counted
cases = (many, False), (many, True), (few, True)
# The quieter of two is taken, since other programs may be running.
turns = [[first_epoch(batches, xla) for batches, xla in cases] for _ in range(2)]
without_xla, with_xla, few_with_xla = map(min, *turns)
print("many lengths: XLA needs over 5 times the work:", with_xla > 5 * without_xla)
print("under XLA: over 1.5 times that of few lengths:", with_xla > 1.5 * few_with_xla)
# --8<-- [end:compiled]

errors = {
    "no_index": caught(lambda: data[0]),
    "list_of_arrays": caught(
        lambda: tf.data.Dataset.from_tensor_slices([images, labels])
    ),
    "called_generator": caught(
        lambda: tf.data.Dataset.from_generator(
            iter([1, 2, 3]), output_signature=tf.TensorSpec([], tf.int64)
        )
    ),
    "unequal_lengths": caught(
        lambda: tf.data.Dataset.from_tensor_slices((images[:4], labels[:3]))
    ),
    "unknown_length": caught(
        lambda: len(data.filter(lambda image, label: label[0] > 3))
    ),
    "infinite_length": caught(lambda: len(data.repeat())),
}
try:
    tf.data.Dataset.range(4).map(lambda n: n.numpy())
except AttributeError as error:
    # AutoGraph wraps the error in a text of its own; its last line is Python's.
    errors["numpy_in_map"] = str(error).strip().splitlines()[-1].strip()

reached = "batch"
one_thread = tf.data.Options()  # with more, either length may come first in the text
one_thread.threading.private_threadpool_size = 1
for name, options in {
    "varying_sizes": one_thread,  # `map` and `batch` become one operation
    "varying_sizes_unmapped": plain,
}.items():
    try:
        batches = sequences.batch(3).with_options(options)
        reached = "element"
        next(iter(batches))
    except tf.errors.InvalidArgumentError as error:
        text = error.message.split("}} ")[-1].split(" [Op:")[0]  # without the machine
        errors[name] = f"{type(error).__name__}: {text}"

claims = {
    "varying_sizes_raise_with_the_batch": {"varying_sizes", "varying_sizes_unmapped"}
    <= {*errors}
    and reached == "element",
    "varying_sizes_raise_where_written": reached == "batch",
    "padded_batch_fills_with_zeros": padded.numpy().tolist()
    == [[0, 0, 0], [0, 1, 0], [0, 1, 2]],
    "padded_batch_makes_many_lengths": len(lengths["padded_batch"]) > 8,
    "padded_buckets_make_few_lengths": lengths["padded buckets"] == {8, 16, 24, 32},
    "xla_compiles_for_each_length": with_xla > 5 * without_xla
    and with_xla > 1.5 * few_with_xla,
    "nothing_made_by_building": made_after_building == 0,
    "made_on_demand": first_three == [0, 1, 2],
    "second_loop_starts_again": passes[0] == passes[1] == list(range(5)),
    "iterator_is_used_up": list(once) == [],
    "second_loop_makes_elements_again": made_twice == 2 * len(passes[0]),
    "structure_known_before_reading": not made_for_spec
    and data.element_spec[0].shape[1:] == images.shape[1:],
    "numpy_function_loses_the_shape": numbers.element_spec.shape.rank is None,
    "batch_returns_a_new_dataset": len(unassigned) == 6 and len(assigned) == 2,
    "python_function_runs_once": len(calls) == 1,
    "python_randomness_is_frozen": from_python == 1,
    "tensorflow_randomness_is_not": from_tensorflow > 50,
    "a_called_generator_raises": "callable" in errors["called_generator"],
    "no_random_access": errors["no_index"].startswith("TypeError"),
    "list_is_one_tensor": errors["list_of_arrays"].startswith("ValueError"),
    "unknown_length_raises": errors["unknown_length"].startswith("TypeError"),
    "same_values_as_numpy": bool(
        np.array_equal(np.concatenate([x for x, _ in data]), images / 16)
    ),
}
