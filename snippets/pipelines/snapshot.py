# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""`snapshot` keeps elements on disk under a number made from the steps above it: what it notices, and what not."""

import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflow as tf

# --8<-- [start:again]
if len(sys.argv) > 1:  # a run of its own, whose Python function holds another number
    folder, factor = sys.argv[1], int(sys.argv[2])
    data = tf.data.Dataset.range(4).map(
        lambda x: tf.numpy_function(lambda n: n * factor, [x], tf.int64)
    )
    print([int(x) for x in data.snapshot(folder)])
    sys.exit()
# --8<-- [end:again]

# --8<-- [start:code]
kept = tempfile.TemporaryDirectory()


def times(factor, keep):
    """Return the numbers 0 to 3, times a factor, kept by `keep`."""
    return keep(tf.data.Dataset.range(4).map(lambda x: x * factor))


def read(data):
    return [int(element) for element in data]


def made_in(name):
    """Return how many versions a folder holds."""
    return sum(one.is_dir() for one in Path(kept.name, name).iterdir())


ways = {
    "cache": lambda data: data.cache(f"{kept.name}/cache"),
    "snapshot": lambda data: data.snapshot(f"{kept.name}/code"),
}
changed = {}
for name, keep in ways.items():
    changed[name] = [read(times(factor, keep)) for factor in (2, 2, 3)]
    print(f"{name:9}", *changed[name])
print("versions in the folder:", made_in("code"))
# --8<-- [end:code]

# --8<-- [start:blind]
factor = tf.Variable(2, dtype=tf.int64)
words = Path(kept.name, "words.txt")


def by_variable():
    data = tf.data.Dataset.range(4).map(lambda x: x * factor)
    return read(data.snapshot(f"{kept.name}/variable"))


def by_file():
    lines = tf.data.TextLineDataset(str(words)).snapshot(f"{kept.name}/file")
    return [line.decode() for line in lines.as_numpy_iterator()]


def by_function(number):
    """Run this file again: each run gives its first Python function the same name."""
    command = [sys.executable, __file__, f"{kept.name}/function", str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


words.write_text("one\ntwo\n")
first = [by_variable(), by_file(), by_function(2)]
factor.assign(3)
words.write_text("three\n")
second = [by_variable(), by_file(), by_function(3)]
for what, old, new in zip(("variable", "file", "function"), first, second, strict=True):
    print(f"{what:9}", old, new)
# --8<-- [end:blind]

claims = {
    "cache_returns_the_old_elements": changed["cache"][0] == changed["cache"][2],
    "snapshot_notices_a_changed_map": changed["snapshot"]
    == [[0, 2, 4, 6], [0, 2, 4, 6], [0, 3, 6, 9]],
    "both_versions_stay_on_disk": made_in("code") == 2,
    "a_variable_is_not_noticed": first[0] == second[0] == [0, 2, 4, 6],
    "a_changed_file_is_not_noticed": first[1] == second[1] == ["one", "two"],
    "a_python_function_is_not_noticed": first[2] == second[2] == "[0, 2, 4, 6]",
}
kept.cleanup()
