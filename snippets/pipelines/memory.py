# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 90
# ///
"""What `cache` and `shuffle` hold in memory when they stand before or after a `map` that makes elements larger."""

import multiprocessing
import resource
import sys

import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:pipelines]
SIDE = 128
# Each image is 8 x 8 x 1, with one byte for each pixel.
images = load_digits().images.astype("uint8")[..., None]
MAPPED = len(images) * SIDE * SIDE * 4  # bytes of the data set after the map


def enlarge(image):
    """Make 64 KiB of floats from 64 bytes, as decoding and resizing do."""
    return tf.image.resize(image, (SIDE, SIDE)) / 16


PIPELINES = {
    "map": lambda rows: rows.map(enlarge),
    "cache, map": lambda rows: rows.cache().map(enlarge),
    "map, cache": lambda rows: rows.map(enlarge).cache(),
    "shuffle(all), map": lambda rows: rows.shuffle(len(images), seed=1).map(enlarge),
    "map, shuffle(all)": lambda rows: rows.map(enlarge).shuffle(len(images), seed=1),
    "map, shuffle(all/4)": lambda rows: rows.map(enlarge).shuffle(
        len(images) // 4, seed=1
    ),
}
# --8<-- [end:pipelines]


# --8<-- [start:peak]
def peak():
    """Return the largest memory that this process has held so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def epoch(name, send):
    """Run in a process of its own: read one epoch, and say by how much its peak memory grew."""
    tf.config.set_visible_devices([], "GPU")  # CUDA's own memory would count
    rows = tf.data.Dataset.from_tensor_slices(images)
    # After these, what TensorFlow itself needs is there already.
    for _ in rows.map(enlarge).take(32):
        pass
    before = peak()
    for _ in PIPELINES[name](rows):
        pass
    send(peak() - before)


def measure(name):
    """Run `epoch` in a new process. TensorFlow has not run here yet, so a fork is safe."""
    fork = multiprocessing.get_context("fork")
    ear, mouth = fork.Pipe(duplex=False)
    child = fork.Process(target=epoch, args=(name, mouth.send), daemon=True)
    child.start()
    mouth.close()  # so that a child that ends without an answer raises EOFError here
    try:
        return ear.recv()
    finally:
        child.kill()
        child.join()


# --8<-- [end:peak]

# --8<-- [start:run]
held = {}
for name in PIPELINES:
    held[name] = measure(name) / MAPPED
    print(f"{name:20} holds {held[name]:.2f}x the mapped data set")
# --8<-- [end:run]

claims = {
    "cache_before_map_holds_little": held["cache, map"] < 0.35,
    "cache_after_map_holds_everything": held["map, cache"] > 0.7,
    "cache_memory_depends_on_order": held["map, cache"] > 2 * held["cache, map"],
    "shuffle_before_map_holds_little": held["shuffle(all), map"] < 0.35,
    "shuffle_after_map_holds_everything": held["map, shuffle(all)"] > 0.7,
    "shuffle_memory_depends_on_order": held["map, shuffle(all)"]
    > 2 * held["shuffle(all), map"],
    "smaller_buffer_holds_less": held["map, shuffle(all/4)"]
    < 0.85 * held["map, shuffle(all)"],
    "map_alone_holds_little": held["map"] < 0.35,
}
measures = {
    "mapped_mib": round(MAPPED / 2**20),
    "raw_kib": images.nbytes // 1024,
    "cache_x": held["map, cache"],
}
figures = {
    "held": {
        "kind": "bars",
        "timing": True,
        "horizontal": True,
        "categories": list(held),
        "xlabel": "peak memory / size of the mapped data set",
        "series": {"held": [round(share, 3) for share in held.values()]},
    }
}
