# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# ///
"""Fork before and after the first operation, and run code that has no file."""

# --8<-- [start:fork]
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflow as tf

SIZE = 1024


def multiply():
    """Exit with 0 when a product of two matrices has come out right."""
    product = tf.linalg.matmul(tf.ones((SIZE, SIZE)), tf.ones((SIZE, SIZE)))
    os._exit(int(product[0, 0] != SIZE))


def child_ends(method, limit):
    """Start a child and say whether it ended well within `limit` seconds."""
    child = multiprocessing.get_context(method).Process(target=multiply, daemon=True)
    child.start()
    child.join(limit)
    ended = child.exitcode
    if ended is None:
        child.kill()
        child.join()
    return ended == 0


# --8<-- [end:fork]

# --8<-- [start:before]
waited_s = 15  # TensorFlow itself waits without end
before = child_ends("fork", 60)
print("forked before the first operation: works:", before)

tf.linalg.matmul(tf.ones((SIZE, SIZE)), tf.ones((SIZE, SIZE)))
after = child_ends("fork", waited_s)
print("forked after it: works:", after)
# --8<-- [end:before]

# --8<-- [start:exec]
CODE = """
import tensorflow as tf


@tf.function
def double_until(x, limit):
    while x < limit:
        x = x * 2
    return x
"""


def double(code, name):
    """Run `code` under the name of a module; return what its function makes of 3."""
    names = {"__name__": name}
    exec(code, names)
    try:
        return int(names["double_until"](tf.constant(3), tf.constant(20)))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition('. ')[0]}"


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "code.py")
    file.write_text(CODE)
    from_file = double(compile(CODE, str(file), "exec"), "some_module")
from_string = double(CODE, "some_module")
print("compiled as a file:", from_file)
print("from a string:", from_string)
# --8<-- [end:exec]

# --8<-- [start:main]
LAUNCHER = """import sys

import tensorflow as tf

@tf.function
def triple_until(x, limit):
    while x < limit:
        x = x * 3
    return x

names = {"__name__": "__main__"}
exec(compile(sys.stdin.read(), "job", "exec"), names)
print(int(names["double_until"](tf.constant(3), tf.constant(20))))
"""

with tempfile.TemporaryDirectory() as folder:
    launcher = Path(folder, "launcher.py")
    launcher.write_text(LAUNCHER)
    command = [sys.executable, str(launcher)]
    as_main = int(subprocess.check_output(command, input=CODE, text=True))
print("as __main__, compiled under a name that is no file:", as_main)
# --8<-- [end:main]

claims = {
    "child_forked_before_works": before,
    "child_forked_after_works": after,
    "code_of_a_file_is_converted": from_file == 24,
    "code_of_a_string_is_converted": from_string == 24,
    "as_main_lines_of_the_launcher_run": as_main == 27,
}
measures = {"waited_s": waited_s}
errors = {"no_source": str(from_string)}
