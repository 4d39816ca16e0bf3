# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# alone = true
# ///
"""Python functions and generators in a pipeline: what runs at the same time, and what waits for Python's lock."""

import ctypes
import time

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:functions]
images = load_digits().images[:64].astype("float32")


def in_python(image):
    """Return the sum of the squares of an image, computed by Python, pixel by pixel, five hundred times."""
    for _ in range(500):
        total = 0.0
        for value in image.ravel():
            total += value * value
    return np.float32(total)


def in_operations(image):
    """Return the same sum, also five hundred times, by TensorFlow operations."""
    copies = tf.repeat(image[None], 500, axis=0)
    return tf.reduce_sum(copies * copies, axis=(1, 2))[-1]


usleep = ctypes.PyDLL(None).usleep  # PyDLL keeps Python's lock during the call


def holding(image):
    """Return the same sum after a wait during which nothing else in Python can run."""
    usleep(5000)
    return np.float32(np.sum(image * image))


def sleeping(image):
    """Return the same sum after a wait during which Python's lock is free."""
    time.sleep(0.005)
    return np.float32(np.sum(image * image))


def wrap(function):
    """Return a function for `map` that calls Python."""
    return lambda image: tf.ensure_shape(
        tf.numpy_function(function, [image], tf.float32, stateful=False), []
    )


# --8<-- [end:functions]

# --8<-- [start:compare]
naive, roomy = tf.data.Options(), tf.data.Options()
naive.experimental_optimization.apply_default_optimizations = False
naive.autotune.enabled = False
roomy.threading.private_threadpool_size = 16
source = tf.data.Dataset.from_tensor_slices(images)


def timed(*pipelines, passes=5):
    """Return for each pipeline the seconds of its fastest pass; they take turns, so that a busy moment meets all."""
    seconds = [[] for _ in pipelines]
    for _ in range(passes):
        for data, found in zip(pipelines, seconds, strict=True):
            begin = time.perf_counter()
            for _ in data:
                pass
            found.append(time.perf_counter() - begin)
    return [min(found) for found in seconds]


gains, many_s = {}, {}
for function in (in_python, holding, sleeping):
    name = function.__name__
    one_s, many_s[name] = timed(
        source.map(wrap(function)).with_options(naive),
        source.map(wrap(function), num_parallel_calls=8).with_options(roomy),
    )
    gains[name] = one_s / many_s[name]
    print(f"{name:9} 8 calls at once: {gains[name]:.1f}x")
python = source.map(wrap(in_python)).with_options(naive)
operations = source.map(in_operations).with_options(naive)
python_s, operations_s = timed(python, operations)
print(f"TensorFlow operations in place of the loop: {python_s / operations_s:.1f}x")
# --8<-- [end:compare]


# --8<-- [start:generator]
def rows():
    """Yield one image after another, as many hand-written loaders do."""
    for _ in range(32):
        yield from images


spec = tf.TensorSpec((8, 8), tf.float32)
generated = tf.data.Dataset.from_generator(rows, output_signature=spec).with_options(
    naive
)
slices = source.repeat(32).with_options(naive)
generator_s, slices_s = timed(generated, slices, passes=3)
print(
    f"{len(slices)} elements from slices: {generator_s / slices_s:.1f}x as fast as from a generator"
)
# --8<-- [end:generator]

try:
    list(source.map(wrap(lambda image: image.sum().astype("float64"))))
except tf.errors.OpError as error:
    text = next(line for line in str(error).splitlines() if "returned by" in line)
    errors = {"wrong_type": f"{type(error).__name__}: {text.split(': ')[-1]}"}

# Loops at once would take as many seconds of processors in a second of the clock.
at_once = source.map(wrap(in_python), num_parallel_calls=8).with_options(roomy)
wall_s, processor_s = time.perf_counter(), time.process_time()
list(at_once)
wall_s, processor_s = time.perf_counter() - wall_s, time.process_time() - processor_s
# One call at a time: all its waits.
holding_s = 0.005 * len(images)
claims = {
    "python_gains_nothing": processor_s < 1.3 * wall_s
    and holding_s < 1.3 * many_s["holding"],
    "waits_gain": gains["sleeping"] > 2,
    "operations_beat_the_loop": python_s / operations_s > 2,
    "same_values": bool(np.allclose(list(python), list(operations), rtol=1e-4)),
    "generator_is_slower": generator_s / slices_s > 1.5,
    "generator_gives_the_same": bool(np.array_equal(list(generated), list(slices))),
}
measures = {
    "holding_x": gains["holding"],
    "sleeping_x": gains["sleeping"],
    "operations_x": python_s / operations_s,
    "generator_x": generator_s / slices_s,
}
