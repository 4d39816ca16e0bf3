# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""The same images as a file each and packed into a few: how many reads, and how many files to write. Linux only."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:write]
IMAGES, SHARDS, SIDE = 128, 8, 96
digits = load_digits()
by_class = np.argsort(digits.target[:IMAGES], kind="stable")  # as folders of classes
large = tf.image.resize(
    digits.images[by_class, ..., None] * 15, (SIDE, SIDE), "bicubic"
)
encoded = [
    tf.io.encode_jpeg(tf.cast(tf.clip_by_value(image, 0, 255), tf.uint8)).numpy()
    for image in large
]
labels = digits.target[by_class]
folder = tempfile.TemporaryDirectory()
singles = [str(Path(folder.name, f"{n:03}-{labels[n]}.jpg")) for n in range(IMAGES)]
for path, content in zip(singles, encoded, strict=True):
    Path(path).write_bytes(content)


def pack(order, name):
    """Write the encoded bytes in this order; return paths, and classes in each."""
    paths, classes = [], []
    for shard, places in enumerate(np.split(order, SHARDS)):
        paths.append(str(Path(folder.name, f"{name}-{shard}-of-{SHARDS}.tfrecord")))
        classes.append(len({int(labels[n]) for n in places}))
        with tf.io.TFRecordWriter(paths[-1]) as writer:
            for n in places:
                feature = {
                    "image": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[encoded[n]])
                    )
                }
                features = tf.train.Features(feature=feature)
                writer.write(tf.train.Example(features=features).SerializeToString())
    return paths, classes


as_stored = np.arange(IMAGES)
mixed = np.random.default_rng(0).permutation(IMAGES)
_, classes_as_stored = pack(as_stored, "stored")
shards, classes_mixed = pack(mixed, "mixed")
print("classes in each file, as stored:", classes_as_stored)
print("classes in each file, shuffled once:", classes_mixed)
# --8<-- [end:write]

# --8<-- [start:read]
AT_ONCE = 4


def reads():
    """Return how many read calls this process has made so far, as Linux counts them."""
    counters = Path("/proc/self/io").read_text().split()
    return int(counters[counters.index("syscr:") + 1])


def image_of(record):
    kinds = {"image": tf.io.FixedLenFeature([], tf.string)}
    return tf.io.parse_single_example(record, kinds)["image"]


def small():
    """Read a file for each image, several at a time."""
    files = tf.data.Dataset.from_tensor_slices(singles)
    return files.map(tf.io.read_file, num_parallel_calls=AT_ONCE)


def packed():
    """Read the images out of a few files, as many at a time."""
    return tf.data.Dataset.from_tensor_slices(shards).interleave(
        lambda path: tf.data.TFRecordDataset(path).map(image_of),
        cycle_length=AT_ONCE,
        num_parallel_calls=AT_ONCE,
    )


def second_epoch(data):
    """Read two epochs; return the images of the second, and how many read calls it made."""
    list(data)
    before = reads()
    images = [image.numpy() for image in data]
    return images, reads() - before


many, reads_of_many = second_epoch(small())
few, reads_of_few = second_epoch(packed())
print(f"{IMAGES} files: a read or more for each:", reads_of_many >= IMAGES)
print(f"{SHARDS} files: less than a third of that:", reads_of_few < reads_of_many / 3)
print("the same images:", sorted(many) == sorted(few))
# --8<-- [end:read]

# --8<-- [start:plan]
MB = 10**6


def plan(total, hosts):
    """Return how many files: up to ten for each host, of 10 MB or more where it can be."""
    return hosts * max(1, min(10, total // (10 * MB * hosts)))


TOTAL = 200_000 * 100_000  # 200,000 JPEG files of 100 KB
plans = {hosts: plan(TOTAL, hosts) for hosts in (1, 4, 16, 64, 256)}
# --8<-- [end:plan]

sizes = {hosts: TOTAL // files // MB for hosts, files in plans.items()}


def remark(hosts):
    """Say which part of the rule decides."""
    if sizes[hosts] >= 100:
        return "ten for each host"
    if plans[hosts] == 10 * hosts:
        return "ten for each host, smaller than ideal"
    return "fewer than ten for each host, or they get too small"


folder.cleanup()
claims = {
    "a_read_for_each_small_file": reads_of_many >= IMAGES,
    "packed_files_take_fewer_reads": reads_of_few < reads_of_many / 3,
    "same_images": sorted(many) == sorted(few) and len(set(many)) > IMAGES // 2,
    "as_stored_files_hold_few_classes": max(classes_as_stored) <= 3,
    "mixed_files_hold_most_classes": min(classes_mixed) >= 6,
    "encoded_is_smaller": sum(map(len, encoded)) < IMAGES * SIDE * SIDE / 2,
    "four_hosts_take_forty_files": plans[4] == 40 and sizes[4] == 500,
    "more_hosts_always_take_more_files": plans[256] == 2560,
}
measures = {
    "decoded": round(IMAGES * SIDE * SIDE / sum(map(len, encoded))),
    "images": IMAGES,
    "shards": SHARDS,
}
tables = {
    "plan": {
        "columns": ["hosts that read", "files", "MB in each", "why"],
        "rows": [[hosts, plans[hosts], sizes[hosts], remark(hosts)] for hosts in plans],
    }
}
