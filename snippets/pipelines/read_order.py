# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# ///
"""In which order records come from several files, how many files are open, and what reading can end in."""

import os
import tempfile
import time
from pathlib import Path

import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:files]
FILES, RECORDS = 3, 4
labels = load_digits().target
folder = tempfile.TemporaryDirectory()
for f in range(FILES):
    path = str(Path(folder.name) / f"digits-{f}.tfrecord")
    with tf.io.TFRecordWriter(path + ".part") as writer:
        for n in range(RECORDS):
            label = tf.train.Feature(
                int64_list=tf.train.Int64List(value=[int(labels[f * RECORDS + n])])
            )
            name = tf.train.Feature(
                bytes_list=tf.train.BytesList(value=[f"{'ABC'[f]}{n}".encode()])
            )
            example = tf.train.Example(
                features=tf.train.Features(feature={"label": label, "name": name})
            )
            writer.write(example.SerializeToString())
    os.replace(path + ".part", path)
paths = sorted(str(path) for path in Path(folder.name).glob("*.tfrecord"))
# --8<-- [end:files]

# --8<-- [start:order]
files = tf.data.Dataset.from_tensor_slices(paths)
NAME = {"name": tf.io.FixedLenFeature([], tf.string)}


def names(records):
    """Return the names in a dataset of serialized examples, in the order in which they come."""
    return [
        tf.io.parse_single_example(record, NAME)["name"].numpy().decode()
        for record in records
    ]


read = tf.data.TFRecordDataset
orders = {
    "TFRecordDataset(paths)": names(read(paths)),
    "flat_map": names(files.flat_map(read)),
    "interleave, cycle_length=3": names(files.interleave(read, cycle_length=3)),
    "interleave, cycle_length=2": names(files.interleave(read, cycle_length=2)),
    "interleave, cycle_length=3, block_length=2": names(
        files.interleave(read, cycle_length=3, block_length=2)
    ),
    "interleave, cycle_length=3, num_parallel_calls=3": names(
        files.interleave(read, cycle_length=3, num_parallel_calls=3)
    ),
}
for how, found in orders.items():
    print(f"{how}:", *found)
# --8<-- [end:order]

# --8<-- [start:free]
free = [
    names(
        files.interleave(
            read, cycle_length=3, num_parallel_calls=3, deterministic=False
        )
    )
    for _ in range(3)
]
listed = tf.data.Dataset.list_files(f"{folder.name}/*.tfrecord", seed=3)
listings = [tuple(path.numpy() for path in listed) for _ in range(20)]
ordered = [
    path.numpy().decode()
    for path in tf.data.Dataset.list_files(f"{folder.name}/*.tfrecord", shuffle=False)
]
print(
    "deterministic=False gives every record:",
    all(set(one) == set(orders["flat_map"]) for one in free),
)
print("list_files, 20 epochs: more than one order:", len(set(listings)) > 1)
print("list_files, shuffle=False: sorted by name:", ordered == paths)
# --8<-- [end:free]


# --8<-- [start:open]
CYCLE = 8
many = [str(Path(folder.name) / f"open-{f}") for f in range(5 * CYCLE)]
for path in many:
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(2000):
            writer.write(bytes(1000))


def open_files(calls, expected):
    """Return how many more files are open once that many are, and no more are opened: Linux and macOS list them."""
    before = len(os.listdir("/dev/fd"))
    data = tf.data.Dataset.from_tensor_slices(many)
    data = data.interleave(read, cycle_length=CYCLE, num_parallel_calls=calls)
    records = iter(data)
    for _ in range(CYCLE):
        next(records)
    looks = [0]
    while looks[-1] < expected or len(looks) < 10 or len(set(looks[-10:])) > 1:
        time.sleep(0.1)
        looks.append(len(os.listdir("/dev/fd")) - before)
    return looks[-1]


opened = {None: open_files(None, CYCLE), CYCLE: open_files(CYCLE, 3 * CYCLE)}
for calls, count in opened.items():
    print(f"cycle_length={CYCLE}, num_parallel_calls={calls}: {count} files open")
# --8<-- [end:open]


# --8<-- [start:wrong]
def caught(action) -> str:
    """Return the error that an action raises as `Type: text`, without the place and the name of the folder."""
    try:
        action()
    except (ValueError, tf.errors.OpError) as error:
        text = (
            str(error)
            .replace(folder.name, "")
            .split("}} ")[-1]
            .split(" [Op:")[0]
            .splitlines()[0]
        )
        return f"{type(error).__name__}: {text}"
    return ""


packed = str(Path(folder.name) / "packed.gz")
with tf.io.TFRecordWriter(packed, "GZIP") as writer:
    writer.write(b"some bytes")
cut = Path(folder.name) / "cut"
whole = Path(paths[0]).read_bytes()
cut.write_bytes(whole[:-3])  # as after a copy that was interrupted
damaged = Path(folder.name) / "damaged"
damaged.write_bytes(whole[:-8] + b"?" + whole[-7:])  # one byte of the last record
serialized = next(iter(read(paths)))
parse = tf.io.parse_single_example
errors = {
    "other_store": caught(lambda: list(read("s3://bucket/digits-0.tfrecord"))),
    "wrong_compression": caught(lambda: list(read(packed))),
    "cut_off": caught(lambda: list(read(str(cut)))),
    "damaged": caught(lambda: list(read(str(damaged)))),
    "no_file": caught(lambda: tf.data.Dataset.list_files(f"{folder.name}/*.tfrecords")),
    "missing_feature": caught(
        lambda: parse(serialized, {"image": tf.io.FixedLenFeature([], tf.string)})
    ),
    "wrong_type": caught(
        lambda: parse(serialized, {"label": tf.io.FixedLenFeature([], tf.string)})
    ),
    "int32": caught(
        lambda: parse(serialized, {"label": tf.io.FixedLenFeature([], tf.int32)})
    ),
    "more_calls_than_files": caught(
        lambda: names(files.interleave(read, cycle_length=2, num_parallel_calls=4))
    ),
}
# --8<-- [end:wrong]

# --8<-- [start:silent]
size = len(whole) // RECORDS  # all records of this file are equally long
found = {}
for kept in (2 * size, 2 * size + 11, 0):  # between two records, inside a head, nothing
    cut.write_bytes(whole[:kept])
    found[kept] = len(list(read(str(cut))))
    print(f"cut after {kept} of {len(whole)} bytes: {found[kept]} records, no error")
# --8<-- [end:silent]

# --8<-- [start:skip]
png = tf.io.encode_png(tf.zeros((2, 2, 1), tf.uint8)).numpy()
broken = tf.data.Dataset.from_tensor_slices([png, b"no image", png, png])
decoded = broken.map(tf.io.decode_png)
skipping = {
    "decode, ignore_errors, batch": decoded.ignore_errors().batch(2),
    "decode, batch, ignore_errors": decoded.batch(2).ignore_errors(),
}
kept_images = {
    name: sum(len(batch) for batch in data) for name, data in skipping.items()
}
for name, number in kept_images.items():
    print(f"{name}: {number} of 3 good images")
damaged.write_bytes(whole[: size + 20] + b"?" + whole[size + 21 :])  # record 1
after_damage = len(list(read(str(damaged)).ignore_errors()))
print(f"record 1 of {RECORDS} damaged, ignore_errors: {after_damage} record")
# --8<-- [end:skip]
unpacked = [record.numpy() for record in read(packed, "GZIP")]
folder.cleanup()

sequential, parallel = (
    orders[f"interleave, cycle_length=3{rest}"]
    for rest in ("", ", num_parallel_calls=3")
)
claims = {
    "flat_map_is_file_by_file": orders["flat_map"] == sorted(orders["flat_map"]),
    "interleave_takes_turns": sequential[:4] == ["A0", "B0", "C0", "A1"],
    "block_length_takes_runs": orders["interleave, cycle_length=3, block_length=2"][:4]
    == ["A0", "A1", "B0", "B1"],
    "parallel_order_equals_sequential": parallel == sequential,
    "free_order_has_every_record": all(set(one) == set(sequential) for one in free),
    "ignore_errors_before_batch_keeps_the_good": kept_images
    == {"decode, ignore_errors, batch": 3, "decode, batch, ignore_errors": 2},
    "ignore_errors_loses_the_rest_of_a_damaged_file": after_damage == 1 < RECORDS - 1,
    "list_files_shuffles": len(set(listings)) > 1,
    "list_files_can_be_sorted": ordered == paths,
    "wrong_compression_raises": errors["wrong_compression"].startswith("DataLossError"),
    "cut_off_raises": errors["cut_off"].startswith("DataLossError"),
    "cut_between_records_reads_the_rest": list(found.values()) == [2, 2, 0],
    "sequential_opens_the_cycle": opened[None] == CYCLE,
    "parallel_opens_three_times_the_cycle": opened[CYCLE] == 3 * CYCLE,
    "s3_is_not_read": errors["other_store"].startswith("UnimplementedError"),
    "gs_is_known": "gs" in tf.io.gfile.get_registered_schemes(),
    "right_compression_reads": unpacked == [b"some bytes"],
    "int32_is_refused": bool(errors["int32"]),
    "calls_beyond_cycle_raise": errors["more_calls_than_files"].startswith(
        "InvalidArgumentError"
    ),
}
figures = {
    "order": {
        "kind": "grid",
        "title": "Which file each element comes from",
        "rows": [how.replace("interleave, ", "") for how in orders],
        "columns": list(range(1, FILES * RECORDS + 1)),
        "text": list(orders.values()),
        "group": [[f"file {name[0]}" for name in found] for found in orders.values()],
    }
}
