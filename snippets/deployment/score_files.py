# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Score files of images with a SavedModel: python score_files.py MODEL INPUTS OUTPUTS PROCESS PROCESSES.

Process 0 of 3 takes the files 0, 3, 6, ... of the sorted list. What is finished is
skipped. Without arguments it checks itself.
"""

import csv
import os
import pathlib
import sys
import tempfile
import uuid

import tensorflow as tf

# --8<-- [start:read]
BATCH = 64  # as large as memory allows
FEATURES = {
    "key": tf.io.FixedLenFeature([], tf.string),
    "pixels": tf.io.FixedLenFeature([], tf.string),
}


def parse(records):
    """Return the keys and the images of a batch of records."""
    found = tf.io.parse_example(records, FEATURES)
    pixels = tf.reshape(tf.io.decode_raw(found["pixels"], tf.uint8), (-1, 8, 8, 1))
    return found["key"], tf.cast(pixels, tf.float32) / 16


def batches(file):
    """Read one file in its own order; the last batch holds what is left."""
    return tf.data.TFRecordDataset(str(file)).batch(BATCH).map(parse).prefetch(1)


# --8<-- [end:read]


# --8<-- [start:score]
def score(file, target, call):
    """Write key and answer of each row; only a whole file gets its name."""
    # No other process has this name: a scheduler may start another for the file.
    part = target.with_suffix(f".{uuid.uuid4().hex}.part")
    with part.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["key", "digit", "probability"])
        for keys, images in batches(file):
            answers = call(image=images)["output_0"].numpy()
            for key, answer in zip(keys.numpy(), answers, strict=True):
                name = key.decode(errors="backslashreplace")  # a key may be any bytes
                table.writerow([name, answer.argmax(), answer.max()])
        out.flush()
        os.fsync(out.fileno())  # on the disk, before it gets its name
    part.replace(target)


def work(inputs, outputs, process, processes, call):
    """Score this process's share of the files; return the names of what it wrote."""
    written = []
    files = sorted(pathlib.Path(inputs).glob("*.tfrecord"))
    if not files:
        raise FileNotFoundError(f"no *.tfrecord in the folder {inputs}")
    for file in files[process::processes]:
        target = pathlib.Path(outputs, f"{file.stem}.csv")
        if not target.exists():  # else an earlier run has finished it
            score(file, target, call)
            written.append(target.name)
    return written


# --8<-- [end:score]

# --8<-- [start:main]
if __name__ == "__main__" and len(sys.argv) > 1:
    folder, inputs, outputs, process, processes = sys.argv[1:]
    loaded = tf.saved_model.load(folder)
    call = loaded.signatures["serving_default"]
    work(inputs, outputs, int(process), int(processes), call)
    sys.exit()
# --8<-- [end:main]

if __name__ == "__main__":
    # --8<-- [start:check]
    sizes = []

    def bright(image):
        """Answer with the first ten pixels, as if they were probabilities."""
        sizes.append(len(image))
        return {"output_0": tf.reshape(image, (-1, 64))[:, :10]}

    def record(row):
        """Return a record whose key names the row, and whose brightest pixel is `row % 10`."""
        pixels = bytes(16 * (place == row % 10) for place in range(64))
        key = f"row {row}\f\né".encode("latin-1")  # two ends of a line, and not UTF-8
        values = {"key": key, "pixels": pixels}
        features = {
            name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
            for name, value in values.items()
        }
        example = tf.train.Example(features=tf.train.Features(feature=features))
        return example.SerializeToString()

    with tempfile.TemporaryDirectory() as base:
        for number in range(3):
            with tf.io.TFRecordWriter(f"{base}/{number}.tfrecord") as writer:
                for row in range(100 * number, 100 * number + 100):
                    writer.write(record(row))
        cut_off = pathlib.Path(base, "1.0.part")  # of a run that was killed
        cut_off.write_text("half of it")
        shares = [work(base, base, process, 2, bright) for process in range(2)]
        again = [work(base, base, process, 2, bright) for process in range(2)]
        rows = []
        for file in sorted(pathlib.Path(base).glob("*.csv")):
            with file.open(newline="", encoding="utf-8") as text:
                rows += csv.DictReader(text)
        left = sorted(path.name for path in pathlib.Path(base).glob("*.part"))

    print("process 0 wrote", shares[0], "and process 1", shares[1])
    print("a second run wrote", again, "and unfinished files are", left)
    print("rows:", len(rows), "- sizes of the batches of one file:", sizes[:2])
    # --8<-- [end:check]
    claims = {
        "files_are_dealt_in_turn": shares == [["0.csv", "2.csv"], ["1.csv"]],
        "finished_files_are_skipped": again == [[], []],
        "an_unfinished_file_is_done_again": left == [cut_off.name]
        and "1.csv" in shares[1],
        "each_row_once": [row["key"] for row in rows]
        == [f"row {number}\f\n\\xe9" for number in range(300)],
        "answers_belong_to_their_keys": all(
            int(row["digit"]) == int(row["key"].split()[1]) % 10
            and float(row["probability"]) == 1
            for row in rows
        ),
        "the_last_batch_is_smaller": sizes == [64, 36] * 3,
    }
