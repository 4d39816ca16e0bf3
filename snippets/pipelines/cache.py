# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# alone = true
# ///
"""Seconds of the first and of a later epoch: no cache, a cache after reading, after the map, and on disk."""

import pathlib
import tempfile
import time

import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:files]
FILES, EPOCHS = 64, 3
folder = tempfile.TemporaryDirectory()
paths = [str(pathlib.Path(folder.name, f"{index:03}.png")) for index in range(FILES)]
for path, image in zip(paths, load_digits().images, strict=False):
    tf.io.write_file(path, tf.io.encode_png(tf.cast(image[..., None] * 15, tf.uint8)))
# --8<-- [end:files]


# --8<-- [start:stages]
spans = []  # what ran: lane, begin and end


def read(path, seconds):
    """Read a file. The sleep stands for a slow disk or a network; it frees Python's lock as they do."""
    begun = time.time()
    time.sleep(float(seconds))
    data = pathlib.Path(path.decode()).read_bytes()
    spans.append((0, begun, time.time()))
    return data


def transform(png, size):
    """Decode and resize twice, all in TensorFlow operations; also say from when to when."""
    with tf.control_dependencies([png]):
        begun = tf.timestamp()
    with tf.control_dependencies([begun]):
        image = tf.image.resize(tf.io.decode_png(png), (size, size), "bicubic")
    image = tf.image.resize(image, (32, 32), "area")
    with tf.control_dependencies([image]):
        return image, begun, tf.timestamp()


def truly_naive(data):
    """Switch off what tf.data does unasked: it would make the map parallel and read ahead."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return data.with_options(options)


# --8<-- [end:stages]

# --8<-- [start:pipelines]
LOADS = {
    "I/O-bound": {"seconds": 0.004, "size": 32},
    "CPU-bound": {"seconds": 0.0, "size": 640},
}


def pipeline(place, seconds, size):
    """Read and transform, with a cache in one place."""
    data = tf.data.Dataset.from_tensor_slices(paths)
    data = data.map(
        lambda path: tf.numpy_function(read, [path, seconds], tf.string, stateful=False)
    )
    if place == "after reading":
        data = data.cache()
    data = data.map(lambda png: transform(png, size))
    if place == "after the map":
        data = data.cache()
    if place == "on disk":
        data = data.cache(str(pathlib.Path(tempfile.mkdtemp(dir=folder.name), "cache")))
    return truly_naive(data.batch(16))


def epoch(data):
    """Read one epoch, and wait 5 ms for each batch: that stands for a step on an accelerator."""
    start, images = time.perf_counter(), []
    for image, begun, ended in data:
        # A cached element brings the times of its first making along: they count once.
        spans.extend(
            {(1, float(a), float(b)) for a, b in zip(begun, ended, strict=True)}
            - set(spans)
        )
        now = time.time()
        time.sleep(0.005)
        spans.append((2, now, time.time()))
        images.append(image.numpy())
    return time.perf_counter() - start, images


# --8<-- [end:pipelines]

# --8<-- [start:run]
PLACES = ["nowhere", "after reading", "after the map", "on disk"]
rows, later, first_images, drawn, equal = [], {}, {}, {}, True
at_first, maps = {}, {}
for load, amounts in LOADS.items():
    for place in PLACES:
        first, _ = epoch(pipeline(place, **amounts))
        spans, data = [], pipeline(place, **amounts)
        runs = [epoch(data)]
        at_first[load, place] = sum(lane < 2 for lane, *_ in spans)  # reads and maps
        runs += [epoch(data) for _ in range(EPOCHS - 1)]
        maps[load, place] = sum(lane == 1 for lane, *_ in spans)
        took = [seconds for seconds, _ in runs]
        first = min(first, took[0])  # the best of two, as for later epochs
        later[load, place], drawn[load, place] = min(took[1:]), spans
        reference = first_images.setdefault(load, runs[0][1])
        equal &= all(
            (a == b).all()
            for _, images in runs
            for a, b in zip(images, reference, strict=True)
        )
        gain = later[load, "nowhere"] / later[load, place]
        rows.append(
            [
                load,
                place,
                round(first, 3),
                round(later[load, place], 3),
                round(gain, 1),
            ]
        )
        print(
            f"{load}, cache {place:13}: first epoch {first:.2f} s, later {later[load, place]:.2f} s, {gain:.1f}x"
        )
# --8<-- [end:run]

gains = {key: later[key[0], "nowhere"] / seconds for key, seconds in later.items()}
claims = {
    "cached_elements_are_equal": bool(equal),
    "cache_helps_io": gains["I/O-bound", "after the map"] > 1.3,
    "cache_helps_cpu": gains["CPU-bound", "after the map"] > 1.3,
    "disk_cache_helps": gains["I/O-bound", "on disk"] > 1.3
    and gains["CPU-bound", "on disk"] > 1.3,
    "cache_after_reading_helps_io": gains["I/O-bound", "after reading"] > 1.3,
    "cache_after_reading_saves_the_map": maps["CPU-bound", "after reading"]
    < FILES * EPOCHS,
    "cache_after_the_map_saves_it": maps["CPU-bound", "after the map"] == FILES,
    "first_epoch_does_all_the_work": set(at_first.values()) == {2 * FILES},
}
measures = {
    "io_x": gains["I/O-bound", "after the map"],
    "cpu_x": gains["CPU-bound", "after the map"],
    "io_read_x": gains["I/O-bound", "after reading"],
    "cpu_read_x": gains["CPU-bound", "after reading"],
    "files": FILES,
}
tables = {
    "gains": {
        "columns": ["load", "cache", "first epoch [s]", "later epoch [s]", "gain [x]"],
        "rows": rows,
    }
}

LANES = ["read", "map", "train"]


def timeline(title, spans):
    """Draw the first two epochs' spans, from the start on."""
    start = min(begun for _, begun, _ in spans)
    cut = sorted(ended for lane, _, ended in spans if lane == 2)[2 * FILES // 16 - 1]
    return {
        "kind": "timeline",
        "title": title,
        "xlabel": "seconds",
        "lanes": LANES,
        "spans": [
            {
                "lane": lane,
                "start": begun - start,
                "end": ended - start,
                "label": "",
                "group": LANES[lane],
            }
            for lane, begun, ended in sorted(spans, key=lambda span: span[1])
            if ended <= cut
        ],
    }


figures = {
    "epochs": {
        "kind": "panels",
        "columns": 1,
        "panels": [
            timeline(f"cache {place}", drawn["I/O-bound", place])
            for place in ("nowhere", "after the map")
        ],
    }
}
