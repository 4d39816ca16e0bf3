# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# alone = true
# ///
"""Read sharded TFRecord files one after the other and several at once; record when each read took place."""

import itertools
import os
import tempfile
import time
from pathlib import Path

import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:write]
FILES, RECORDS = 8, 12
digits = load_digits()
folder = tempfile.TemporaryDirectory()
paths = [
    str(Path(folder.name) / f"digits-{f:02d}-of-{FILES:02d}.tfrecord")
    for f in range(FILES)
]


def feature(value):
    """Return a value as a feature: bytes or an integer."""
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


for f, path in enumerate(paths):
    with tf.io.TFRecordWriter(path + ".part") as writer:
        for row in range(f, FILES * RECORDS, FILES):
            large = tf.image.resize(digits.images[row][..., None] * 15, (512, 512))
            features = {
                "image": feature(
                    tf.io.encode_png(tf.cast(large, tf.uint8), compression=1).numpy()
                ),
                "label": feature(int(digits.target[row])),
                "row": feature(row),
            }
            writer.write(
                tf.train.Example(
                    features=tf.train.Features(feature=features)
                ).SerializeToString()
            )
    os.replace(path + ".part", path)  # the name says that it is complete
print(len(paths), "files of", RECORDS, "records")
# --8<-- [end:write]

# --8<-- [start:read]
# READ and STEP are seconds: for a record from slow storage, and for a training step.
READ, STEP, BATCH = 0.006, 0.004, 8
PARTS = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "row": tf.io.FixedLenFeature([], tf.int64),
}
spans = []


def wait(row):
    """Sleep as long as a slow disk or a network would take for this record, and note when."""
    start = time.perf_counter()
    time.sleep(READ)
    spans.append((int(row) % FILES, start, time.perf_counter(), "read"))
    return row


def from_storage(path):
    """Return the records of one file; each takes READ seconds. No processor is needed for that time."""

    def read(record):
        example = tf.io.parse_single_example(record, PARTS)
        row = tf.ensure_shape(
            tf.numpy_function(wait, [example["row"]], tf.int64, stateful=False), []
        )
        return example["label"], row

    return tf.data.TFRecordDataset(path).map(read)


def with_decoding(path):
    """Return the records of one file, decoded: no waiting, all of it is work for a processor."""

    def read(record):
        example = tf.io.parse_single_example(record, PARTS)
        small = tf.image.resize(
            tf.io.decode_png(example["image"], channels=3), (96, 96), antialias=True
        )
        return tf.reduce_mean(small), example["row"]

    return tf.data.TFRecordDataset(path).map(read)


# --8<-- [end:read]

# --8<-- [start:pipelines]
naive = tf.data.Options()
naive.experimental_optimization.apply_default_optimizations = False
naive.autotune.enabled = False
roomy = tf.data.Options()
roomy.threading.private_threadpool_size = 16  # for the sleeps in Python, not for files


def one_after_another(read):
    """Return the naive pipeline: a file is opened when the one before it has ended."""
    return (
        tf.data.Dataset.from_tensor_slices(paths)
        .flat_map(read)
        .batch(BATCH)
        .with_options(naive)
    )


def in_turn(read):
    """Return a pipeline that takes a record from each of 8 open files in turn, one at a time."""
    return (
        tf.data.Dataset.from_tensor_slices(paths)
        .interleave(read, cycle_length=8)
        .batch(BATCH)
        .with_options(naive)
    )


def at_once(read):
    """Return a pipeline that reads 8 files at the same time."""
    files = tf.data.Dataset.from_tensor_slices(paths)
    return (
        files.interleave(read, cycle_length=8, num_parallel_calls=8)
        .batch(BATCH)
        .with_options(roomy)
    )


# --8<-- [end:pipelines]


# --8<-- [start:time]
def run(data, step=0.0):
    """Go through a dataset once; return seconds, those on a processor, the rows as they came, and the spans."""
    spans.clear()
    begin, cpu, rows = time.perf_counter(), time.process_time(), []
    for _, row in data:
        start = time.perf_counter()
        time.sleep(step)  # the accelerator is at work
        spans.append((FILES, start, time.perf_counter(), "train"))
        rows += row.numpy().tolist()
    seconds, processor = time.perf_counter() - begin, time.process_time() - cpu
    return (
        seconds,
        processor,
        rows,
        [(lane, a - begin, b - begin, group) for lane, a, b, group in spans],
    )


results = {}
for load, read in {"waiting": from_storage, "decoding": with_decoding}.items():
    ways = one_after_another, in_turn, at_once
    # They take turns, so that a busy moment of the machine meets all.
    passes = [[run(make(read)) for make in ways] for _ in range(5)]
    for make, found in zip(ways, zip(*passes, strict=True), strict=True):
        results[load, make.__name__] = min(found, key=lambda result: result[0])
    one_s, turn_s, at_once_s = (results[load, make.__name__][0] for make in ways)
    processor = results[load, "one_after_another"][1]
    print(
        f"{load}: {one_s:.2f} s one after another, {processor:.2f} s of processor time"
    )
    print(f"{load}: in turn {one_s / turn_s:.1f}x, at once {one_s / at_once_s:.1f}x")
# --8<-- [end:time]


def timeline(title, make):
    """Return the figure of a pass with training steps."""
    _, _, _, drawn = run(make(from_storage), STEP)
    return {
        "kind": "timeline",
        "title": title,
        "xlabel": "seconds",
        "lanes": [f"read, file {f}" for f in range(FILES)] + ["train"],
        "spans": [
            {"lane": lane, "start": round(a, 4), "end": round(b, 4), "group": group}
            for lane, a, b, group in sorted(drawn)
        ],
    }


ratio = {
    key: results[key[0], "one_after_another"][0] / value[0]
    for key, value in results.items()
}


def at_a_time(spans):
    """Return how many reads were under way at once, at most."""
    ends = sorted(
        moment
        for _, start, end, group in spans
        if group == "read"
        for moment in ((start, 1), (end, -1))
    )
    return max(itertools.accumulate(change for _, change in ends))


reads = {
    name: at_a_time(value[3])
    for (load, name), value in results.items()
    if load == "waiting"
}
rows = {name: value[2] for (load, name), value in results.items() if load == "waiting"}
claims = {
    "parallel_reads_are_faster": ratio["waiting", "at_once"] > 2,
    # One read at a time is no faster, whatever else the machine does meanwhile.
    "interleave_alone_is_faster": ratio["waiting", "in_turn"] > 1.3
    and reads["in_turn"] > 1,
    "parallel_reads_overlap": reads["at_once"] > 4,
    # Seconds on a processor: a core gives one in each second, however busy it is.
    # To sleep and wake again takes some too, on some machines more than a millisecond.
    "decoding_needs_the_processor": results["decoding", "one_after_another"][1]
    > 1.2 * results["waiting", "one_after_another"][1],
    "decoding_at_once_needs_as_much": results["decoding", "at_once"][1]
    > 0.6 * results["decoding", "one_after_another"][1],
    "waiting_needs_no_processor": results["waiting", "one_after_another"][1]
    < 0.5 * results["waiting", "one_after_another"][0],
    "same_records": sorted(rows["one_after_another"])
    == sorted(rows["at_once"])
    == list(range(FILES * RECORDS)),
    "order_of_flat_map_is_file_by_file": rows["one_after_another"][:3]
    == [0, FILES, 2 * FILES],
    "order_of_interleave_is_in_turn": rows["in_turn"] == list(range(FILES * RECORDS)),
    "parallel_keeps_the_order": rows["at_once"] == rows["in_turn"],
}
measures = {
    "read_ms": READ * 1000,
    "step_ms": STEP * 1000,
    "waiting_x": ratio["waiting", "at_once"],
    "waiting_in_turn_x": ratio["waiting", "in_turn"],
    "decoding_x": ratio["decoding", "at_once"],
}
figures = {
    "timeline": {
        "kind": "panels",
        "columns": 1,
        "panels": [
            timeline("One file after another", one_after_another),
            timeline("Interleave, one at a time", in_turn),
            timeline("Interleave, 8 at once", at_once),
        ],
    }
}
folder.cleanup()
