# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Look at the values inside a map: `tf.print`, the debug mode of tf.data, and a switch that changes nothing there."""

import tempfile
import threading
import time
import warnings
from pathlib import Path

import tensorflow as tf

# --8<-- [start:look]
folder = tempfile.TemporaryDirectory()
kept = Path(folder.name, "values")
seen = []


def double(n):
    """Note what Python sees of n; `tf.print` writes to a file here, so that it can be shown."""
    tf.print("n =", n, output_stream=f"file://{kept}")
    seen.append(int(n) if tf.executing_eagerly() else "no value")
    return 2 * n


def look(data):
    """Return what Python sees while the data are made."""
    seen.clear()
    assert [int(n) for n in data()] == [0, 2, 4]
    return list(seen)


def build():
    return tf.data.Dataset.range(3).map(double)


usually = look(build)
printed = kept.read_text().splitlines()
print("tf.print:", ", ".join(printed))
print("Python:", usually)

tf.config.run_functions_eagerly(True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    eagerly = look(build)
tf.config.run_functions_eagerly(False)
print("Python, run_functions_eagerly:", eagerly)

built_before = build()
tf.data.experimental.enable_debug_mode()
debugged = look(build)
print("Python, debug mode:", debugged)
earlier = look(lambda: built_before)
print("Python, debug mode, built before:", earlier)
# --8<-- [end:look]
folder.cleanup()

lock, running, most = threading.Lock(), 0, 0


def slow(n):
    """Take a while; note how many calls run at once."""
    global running, most
    with lock:
        running += 1
        most = max(most, running)
    time.sleep(0.02)
    with lock:
        running -= 1
    return n


list(tf.data.Dataset.range(16).map(slow, num_parallel_calls=8).prefetch(4))
ignored = [f"{type(one.message).__name__}: {one.message}" for one in said]
claims = {
    "tf_print_shows_values": printed == ["n = 0", "n = 1", "n = 2"],
    "python_sees_no_value": usually == ["no value"],
    "running_functions_eagerly_changes_nothing": eagerly == usually,
    "debug_mode_shows_values_to_python": debugged == ["no value", 0, 1, 2],
    "a_pipeline_built_before_stays_traced": earlier == [],
    "one_call_at_a_time_in_debug_mode": most == 1,
}
errors = {"eager_switch_ignored": ignored[0]} if ignored else {}
