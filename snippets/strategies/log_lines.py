# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# processes = 4
# seconds = 240
# ///
"""What TensorFlow logs in a program without a mistake, and which of these lines TF_CPP_MIN_LOG_LEVEL hides."""

# --8<-- [start:child]
import os
import re
import subprocess
import sys

CHILD = """
import os, sys, time
import tensorflow as tf

level_after_import, slow = sys.argv[1:]
if level_after_import:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = level_after_import
tf.config.set_visible_devices([], "GPU")
(cpu,) = tf.config.list_physical_devices("CPU")
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def begin(part):
    print("begin", part, file=sys.stderr, flush=True)


begin("a loop over a data set")
for element in tf.data.Dataset.range(3):
    pass
begin("a loop over a distributed data set")
for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4)):
    pass
if slow:
    begin("a shuffle buffer that is slow to fill")

    def late(n):
        time.sleep(0.5)
        return n

    data = tf.data.Dataset.range(24)
    data = data.map(lambda n: tf.numpy_function(late, [n], tf.int64))
    next(iter(data.shuffle(24)))
"""
# --8<-- [end:child]

# --8<-- [start:run]
# TensorFlow 2.20 and 2.21 begin a line in different ways; the level is a letter.
LINE = re.compile(r"(?:([IWEF])\d{4} \S+ +\d+|\S+ \S+: ([IWEF])) \S+\] (.*)")


def start(level, level_after_import="", slow=""):
    """Start the child in a process of its own, with a level in its environment."""
    command = [sys.executable, "-c", CHILD, level_after_import, slow]
    env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": level}
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


def read(child):
    """Return the lines of the log before the first part, and in each part, as level and text without numbers."""
    with child:
        log = child.communicate()[1]
    assert child.returncode == 0, log
    parts = [("before", [])]
    for line in log.splitlines():
        if line.startswith("begin "):
            parts.append((line.removeprefix("begin "), []))
        elif found := LINE.match(line):
            text = re.sub(r"\d+", "N", found[3])
            parts[-1][1].append((found[1] or found[2], text))
    return {part: sorted(set(lines)) for part, lines in parts}


children = {
    "0": start("0", slow="slow"),
    "1": start("1"),
    "2": start("2"),
    "2, after the import": start("0", level_after_import="2"),
}
logs = {level: read(child) for level, child in children.items()}
before = {level: parts.pop("before") for level, parts in logs.items()}
for part, lines in logs["0"].items():
    print(f"{part}:")
    for level, text in lines:
        print(f"    {level} {text}")
# --8<-- [end:run]

# --8<-- [start:levels]
distributed = "a loop over a distributed data set"
shown = {
    level: {letter for letter, _ in parts[distributed]} for level, parts in logs.items()
}
for level, letters in shown.items():
    print(f"TF_CPP_MIN_LOG_LEVEL={level}: lines of level", *sorted(letters) or ["none"])
early = {level: {text for _, text in lines} for level, lines in before.items()}
# What is logged while TensorFlow is imported, about a missing GPU for example.
kept = all("cuda drivers" not in text or text in early["2"] for text in early["0"])
print("level 2 keeps the line on missing drivers, where there is one:", kept)
# --8<-- [end:levels]

texts = [text for lines in logs["0"].values() for _, text in lines]


def line_with(words):
    """Return the line that holds these words; "" where there is none."""
    return next((text for text in texts if words in text), "")


errors = {
    "optimized": line_with("will not be optimized"),
    "filling": line_with("Filling up shuffle buffer"),
}
claims = {
    "a_distributed_data_set_is_warned_of": bool(errors["optimized"]),
    "a_slow_buffer_says_so": bool(errors["filling"]),
    "the_end_of_the_data_is_logged": bool(line_with("OUT_OF_RANGE")),
    "memory_rows_warn_of_sharding": bool(line_with("AUTO sharding policy")),
    "level_1_hides_warnings": "W" not in shown["1"],
    "level_1_hides_information": "I" not in shown["1"],
    "level_2_hides_warnings": "W" not in shown["2"],
    "set_after_the_import_it_hides": shown["2, after the import"] != shown["0"],
    "level_2_keeps_what_comes_early": kept,
}
