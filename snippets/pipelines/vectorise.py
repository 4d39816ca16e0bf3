# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# alone = true
# ///
"""Map single elements and then batch, or batch and then map: the same numbers, at what speed."""

import time

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:order]
images = load_digits().images.astype("float32")
naive = tf.data.Options()
naive.experimental_optimization.apply_default_optimizations = False
naive.autotune.enabled = False
source = tf.data.Dataset.from_tensor_slices(images).repeat(4).with_options(naive)


def scale(image):
    """Scale pixels to 0..1 and shift them; works on one image and on a batch of them."""
    return image / 16 - 0.5


def seconds(*pipelines, passes=7):
    """Return the time of each one's fastest pass; they take turns, so each gets a calm moment."""
    times = [[] for _ in pipelines]
    for _ in range(passes):
        for found, data in zip(times, pipelines, strict=True):
            begin = time.perf_counter()
            for _ in data:
                pass
            found.append(time.perf_counter() - begin)
    return [min(found) for found in times]


one_by_one, by_batch = source.map(scale).batch(256), source.batch(256).map(scale)
one_s, batch_s = seconds(one_by_one, by_batch)
equal = all(np.array_equal(a, b) for a, b in zip(one_by_one, by_batch, strict=True))
print("equal batches:", equal)
print(f"batch, then map: {one_s / batch_s:.1f}x as fast as map, then batch")
# --8<-- [end:order]

# --8<-- [start:work]
large = tf.data.Dataset.from_tensor_slices(images[:64]).with_options(naive)


def work(image):
    """Do much work for each image: the cost of a call hardly counts."""
    x = tf.reshape(image, [-1, 8, 8])
    for _ in range(20):
        x = tf.tanh(tf.image.resize(x[..., None], (64, 64))[:, ::8, ::8, 0])
    return x


work_one_s, work_batch_s = seconds(large.map(work).batch(64), large.batch(64).map(work))
print(f"with much work for each image: {work_one_s / work_batch_s:.1f}x")
# --8<-- [end:work]


# --8<-- [start:parse]
FORM = {
    "pixels": tf.io.FixedLenFeature([64], tf.float32),
    "label": tf.io.FixedLenFeature([], tf.int64),
}
example = tf.train.Example()
example.features.feature["pixels"].float_list.value.extend(images[0].ravel())
example.features.feature["label"].int64_list.value.append(0)
records = tf.data.Dataset.from_tensors(example.SerializeToString()).repeat(5_000)
records = records.with_options(naive)
parse_one_s, parse_batch_s = seconds(
    records.map(lambda one: tf.io.parse_single_example(one, FORM)).batch(256),
    records.batch(256).map(lambda batch: tf.io.parse_example(batch, FORM)),
)
print(f"parse_example of a batch: {parse_one_s / parse_batch_s:.1f}x as fast")
# --8<-- [end:parse]


# --8<-- [start:axis]
def flip(image):
    """Turn an image upside down; written for one image, it reverses the first axis."""
    return tf.reverse(image, axis=[0])


right = next(iter(source.map(flip).batch(4)))
wrong = next(iter(source.batch(4).map(flip)))
print(
    "a function for one image, mapped over batches, gives the same:",
    np.array_equal(right, wrong),
)
print(
    "what it reversed instead is the order of the rows:",
    np.array_equal(wrong, images[:4][::-1]),
)
# --8<-- [end:axis]

claims = {
    "same_batches": equal,
    "batch_first_is_faster": one_s / batch_s > 3,
    "parsing_a_batch_is_faster": parse_one_s / parse_batch_s > 3,
    "gain_is_larger_for_cheap_functions": one_s / batch_s > work_one_s / work_batch_s,
    "function_must_fit_a_batch": not np.array_equal(right, wrong),
    "batch_axis_was_reversed": bool(np.array_equal(wrong, images[:4][::-1])),
}
measures = {
    "cheap_x": one_s / batch_s,
    "work_x": work_one_s / work_batch_s,
    "parse_x": parse_one_s / parse_batch_s,
    "call_us": one_s / len(source) * 1e6,
}
