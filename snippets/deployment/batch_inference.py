# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# processes = 4
# seconds = 600
# tolerance = 0.2
# files = ["score_files.py"]
# ///
"""Score a data set with three processes, kill one, start it again, and see which order `predict` answers in."""

import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

import score_files

# --8<-- [start:data]
keras.utils.set_random_seed(0)
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
model = keras.Sequential(
    [
        keras.Input((8, 8, 1), name="image"),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(images, digits.target, batch_size=32, epochs=10, verbose=0)

temporary = tempfile.TemporaryDirectory()
base = pathlib.Path(temporary.name)
model.export(base / "digits" / "1", verbose=False)
FILES, PROCESSES = 6, 3
keys = [f"scan-{row:04}" for row in range(len(images))]
(base / "in").mkdir()
for number, rows in enumerate(np.array_split(np.arange(len(images)), FILES)):
    file = base / "in" / f"scans-{number}-of-{FILES}.tfrecord"
    with tf.io.TFRecordWriter(str(file)) as writer:
        for row in rows:
            pixels = digits.images[row].astype("uint8").tobytes()
            values = {"key": keys[row].encode(), "pixels": pixels}
            features = {
                name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
                for name, value in values.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
print(len(images), "rows in", FILES, "files")
# --8<-- [end:data]

# --8<-- [start:processes]
# Processes on one machine cannot share its GPU, so these take none.
apart = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
(base / "three").mkdir()
command = [sys.executable, score_files.__file__, base / "digits/1", base / "in"]
running = [
    subprocess.Popen([*command, base / "three", str(index), str(PROCESSES)], env=apart)
    for index in range(PROCESSES)
]
try:
    codes = [process.wait(300) for process in running]
finally:
    for process in running:
        process.kill()
        process.wait()
print("exit codes:", codes)
# --8<-- [end:processes]


# --8<-- [start:compare]
def results(folder):
    """Return all rows of all output files, in the order of files and rows."""
    rows = []
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="", encoding="utf-8") as text:
            rows += csv.DictReader(text)
    return rows


def answers(rows):
    """Return digits and probabilities as arrays."""
    found = [int(row["digit"]) for row in rows]
    return np.array(found), np.array([float(row["probability"]) for row in rows])


loaded = tf.saved_model.load(base / "digits" / "1")
call = loaded.signatures["serving_default"]
(base / "one").mkdir()
written = score_files.work(base / "in", base / "one", 0, 1, call)
three, one = results(base / "three"), results(base / "one")
by_keras = model.predict(images, verbose=0)
covered = [row["key"] for row in three] == keys
same = all(
    np.allclose(*pair, atol=1e-3)
    for pair in zip(answers(three), answers(one), strict=True)
)
print("three processes: each row once:", covered, "- equal to one process:", same)
right = np.abs(answers(three)[1] - by_keras.max(axis=1)).max() < 1e-3
print(
    "equal to Keras:", right and np.array_equal(answers(three)[0], by_keras.argmax(1))
)
# --8<-- [end:compare]

# --8<-- [start:killed]
KILLED = """
import os, signal, sys
import score_files
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
call = loaded.signatures["serving_default"]
asked = []

def until_killed(image):
    asked.append(len(image))
    if len(asked) == 12:  # five batches make a file: this is the third one
        os.kill(os.getpid(), signal.SIGKILL)
    return call(image=image)

score_files.work(*sys.argv[2:4], 0, 1, until_killed)
"""
target = base / "again"
target.mkdir()
killed = subprocess.run(
    [sys.executable, "-c", KILLED, base / "digits/1", base / "in", target],
    env=apart | {"PYTHONPATH": os.path.dirname(score_files.__file__)},
    check=False,
    timeout=300,
)
left = sorted(path.name for path in target.iterdir())
before = {path.name: path.stat().st_mtime_ns for path in sorted(target.glob("*.csv"))}
print("killed by", signal.Signals(-killed.returncode).name, "- finished:", *before)
print("unfinished:", *(name.split(".")[0] for name in left if name not in before))
redone = score_files.work(base / "in", target, 0, 1, call)
print("the next run wrote:", *redone)
untouched = all((target / name).stat().st_mtime_ns == before[name] for name in before)
whole = results(target)
print("finished files untouched:", untouched, "- rows:", len(whole))
# --8<-- [end:killed]

# --8<-- [start:broken]
bad, partly = base / "bad", base / "partly"
shutil.copytree(base / "in", bad)
partly.mkdir()
second = sorted(bad.glob("*.tfrecord"))[1]
second.write_bytes(second.read_bytes()[:1000])  # as if its upload was cut off
command = [sys.executable, score_files.__file__, base / "digits/1", bad, partly]
codes_of_bad, errors_of_bad, done = [], [], []
for _ in range(2):  # the same command, twice
    ended = subprocess.run(
        [*command, "0", "1"],
        env=apart,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
    )
    codes_of_bad.append(ended.returncode)
    last = ended.stderr.strip().splitlines()[-1]
    # The module of the error, the node and the operation are left out.
    errors_of_bad.append(re.sub(r"^.*\.(?=\w+Error)|\{\{.*\}\} | \[Op:.*", "", last))
    done.append([path.name for path in sorted(partly.glob("*.csv"))])
    print("exit code", ended.returncode, "- finished:", *done[-1])
    print(errors_of_bad[-1])
# --8<-- [end:broken]


# --8<-- [start:predict]
def share(predicted):
    """Return how many answers are those of the row at the same place."""
    return float(np.mean(predicted.argmax(1) == by_keras.argmax(1)))


def image_only(key, image):
    return image


scans = tf.data.Dataset.from_tensor_slices((keys, images))
in_order = model.predict(scans.batch(64).map(image_only), verbose=0)
mixed = scans.shuffle(len(images), seed=0).batch(64)
shuffled = model.predict(mixed.map(image_only), verbose=0)
later = np.concatenate([key for key, _ in mixed])  # a second pass, in another order
place = {key: row for row, key in enumerate(keys)}
by_later = np.empty_like(shuffled)
by_later[[place[key.decode()] for key in later]] = shuffled
print(f"the data in order: {share(in_order):.0%} of the answers in their places")
print(
    f"shuffled: {share(shuffled):.0%}, by keys from a second pass: {share(by_later):.0%}"
)

beside = np.empty_like(shuffled)
for key, image in mixed:
    batch = [place[one.decode()] for one in key.numpy()]
    beside[batch] = model.predict_on_batch(image)
print(f"shuffled, each batch with its keys: {share(beside):.0%}")

full = scans.batch(64, drop_remainder=True)
whole_batches = model.predict(full.map(image_only), verbose=0)
print("rows with drop_remainder:", len(whole_batches), "of", len(images))
# --8<-- [end:predict]

# --8<-- [start:strategy]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy(devices)
model.save(base / "digits.keras")
with strategy.scope():
    mirrored = keras.models.load_model(base / "digits.keras")
over_replicas = mirrored.predict(scans.batch(64).map(image_only), verbose=0)
print(f"under MirroredStrategy: {share(over_replicas):.0%} in their places")
# --8<-- [end:strategy]
temporary.cleanup()

claims = {
    "three_processes_cover_each_row_once": codes == [0] * PROCESSES and covered,
    "three_processes_equal_one": same and [row["key"] for row in one] == keys,
    "outputs_equal_keras": bool(right),
    "one_output_file_for_each_input": written
    == [f"scans-{number}-of-{FILES}.csv" for number in range(FILES)],
    "a_killed_process_leaves_only_whole_files_and_one_part": killed.returncode
    == -signal.SIGKILL
    and len(before) == 2
    and len(left) == 3
    and left[2].endswith(".part"),
    "only_unfinished_files_are_done_again": untouched
    and sorted([*before, *redone]) == sorted(written),
    "everything_is_done_again": len(redone) == FILES,
    "after_the_restart_each_row_once": [row["key"] for row in whole] == keys,
    "a_broken_file_ends_its_process_each_time": codes_of_bad == [1, 1]
    and all(error.startswith("DataLossError") for error in errors_of_bad),
    "files_after_a_broken_one_are_not_scored": done == [[written[0]]] * 2,
    "its_error_names_no_file": not any(second.stem in text for text in errors_of_bad),
    "predict_answers_in_the_order_of_the_data": np.allclose(
        in_order, by_keras, atol=1e-3
    ),
    "a_shuffled_data_set_mixes_the_answers": share(shuffled) < 0.5,
    "predict_sorts_the_answers": share(shuffled) > 0.99,
    "keys_from_a_second_pass_are_of_other_rows": share(by_later) < 0.5,
    "keys_beside_the_answers_survive_a_shuffle": share(beside) > 0.99,
    "drop_remainder_loses_rows": len(whole_batches) < len(images),
    "mirrored_predict_keeps_the_order": np.allclose(over_replicas, by_keras, atol=1e-3),
}
errors = {"broken_file": errors_of_bad[-1]}
measures = {
    "rows": len(images),
    "files": FILES,
    "processes": PROCESSES,
    "lost": len(images) - len(whole_batches),
    "mixed": share(shuffled),
    "second_pass": share(by_later),
}
