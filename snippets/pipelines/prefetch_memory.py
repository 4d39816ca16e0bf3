# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# ///
"""How far a prefetch runs ahead of a slow consumer, and how much memory that takes."""

import multiprocessing
import resource
import sys
import time

# --8<-- [start:child]
ELEMENTS, MIB = 100, 4  # a data set of 400 MiB


def run_ahead(buffer, send, calls=None):
    """Take one element, wait until nothing more is made, and report elements made and memory used."""
    import tensorflow as tf

    made = []

    def note(number):
        made.append(number)
        return number

    def large(number):
        number = tf.ensure_shape(tf.numpy_function(note, [number], tf.int64), [])
        return tf.fill([MIB * 2**20 // 4], tf.cast(number, tf.float32))

    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = buffer == tf.data.AUTOTUNE
    data = tf.data.Dataset.range(ELEMENTS).map(large, num_parallel_calls=calls)
    data = data if buffer is None else data.prefetch(buffer)
    unit = 1 if sys.platform == "darwin" else 1024
    # The first use happens here, so what TensorFlow itself takes is not counted below.
    next(iter(tf.data.Dataset.range(1).map(large).with_options(options)))
    made.clear()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    iterator = iter(data.with_options(options))
    next(iterator)
    expected = min(1 + (buffer or 0) + (calls or 0), ELEMENTS)
    looks = []
    # Until all that is expected is made, and it stands still:
    while len(made) < expected or len(looks) < 10 or len(set(looks[-10:])) > 1:
        time.sleep(0.1)
        looks.append(len(made))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    send((len(made), (peak - before) / 2**20))


# --8<-- [end:child]

# --8<-- [start:run]
context = multiprocessing.get_context("fork")
ahead, grown = {}, {}


def measure(buffer, calls=None):
    """Return elements made and memory taken; in a fresh process, because a peak never falls."""
    ear, mouth = context.Pipe(duplex=False)
    args = (buffer, mouth.send, calls)
    child = context.Process(target=run_ahead, args=args, daemon=True)
    child.start()
    mouth.close()  # so that a child that ends without an answer raises EOFError here
    found = ear.recv()
    child.join()
    return found


for buffer in (None, 1, 10, 1000, -1):  # -1 is tf.data.AUTOTUNE
    ahead[buffer], grown[buffer] = measure(buffer)
in_parallel, _ = measure(10, calls=4)
for buffer in (None, 1, 10, 1000):
    print(
        f"prefetch({buffer}): {ahead[buffer]} made for one taken"
        if buffer
        else f"none: {ahead[None]} made"
    )
print("prefetch(10) behind 4 calls at once makes more:", in_parallel > ahead[10])
print("AUTOTUNE made less than a tenth of the data:", ahead[-1] <= ELEMENTS / 10)
print(
    "prefetch(1000) holds the whole data set in memory:",
    grown[1000] > 0.9 * MIB * ELEMENTS,
)
# --8<-- [end:run]

claims = {
    "none_makes_what_is_asked": ahead[None] == 1,
    "one_runs_one_ahead": ahead[1] == 2,
    "runs_ahead_by_the_buffer": ahead[10] == 11,
    "a_parallel_map_holds_results_of_its_own": in_parallel > ahead[10],
    "large_buffer_takes_everything": ahead[1000] == ELEMENTS,
    "large_buffer_holds_the_data_set": grown[1000] > 0.9 * MIB * ELEMENTS,
    "autotune_stays_small": ahead[-1] <= ELEMENTS / 10,
    "memory_grows_with_the_buffer": grown[1] < grown[10] < grown[1000],
}
measures = {"elements": ELEMENTS, "element_mib": MIB, "data_mib": ELEMENTS * MIB}
measures |= {f"ahead_{buffer}": ahead[buffer] for buffer in (1, 10, 1000)}
figures = {
    "memory": {
        "kind": "bars",
        "timing": True,
        "title": "Memory taken after one element",
        "ylabel": "MiB",
        "categories": [
            "none",
            "prefetch(1)",
            "prefetch(10)",
            "prefetch(1000)",
            "AUTOTUNE",
        ],
        "series": {
            "peak above start": [
                round(grown[buffer]) for buffer in (None, 1, 10, 1000, -1)
            ]
        },
    }
}
