# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# alone = true
# ///
"""Find the slow stage of a pipeline three ways: the clock around `next`, a cached batch, TensorFlow's profiler."""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from tensorflow.tsl.profiler.protobuf import xplane_pb2

# --8<-- [start:pipeline]
# READ, MAP and STEP are seconds: to read a record, to prepare it, to train on a batch.
READ, MAP, STEP, BATCH = 0.001, 0.004, 0.016, 8
images = load_digits().images[:160].astype("float32")


def stage(seconds):
    """Return a function for `map` that takes so long; it sleeps, as for a disk, another machine or a device."""

    def wait(image):
        time.sleep(seconds)
        return image

    return lambda image: tf.ensure_shape(
        tf.numpy_function(wait, [image], tf.float32, stateful=False), [8, 8]
    )


naive = tf.data.Options()
naive.experimental_optimization.apply_default_optimizations = False
naive.autotune.enabled = False
naive.threading.private_threadpool_size = 16
read = tf.data.Dataset.from_tensor_slices(images).map(stage(READ))
slow = read.map(stage(MAP)).batch(BATCH).with_options(naive)


def step(batch):
    """Train for STEP seconds on an accelerator, which leaves the processor free."""
    time.sleep(STEP)


# --8<-- [end:pipeline]


# --8<-- [start:clock]
def breakdown(data, steps=20):
    """Return the median milliseconds of a step spent waiting for data and spent training; the first is left out."""
    iterator = iter(data)
    step(next(iterator))
    waited, trained = [], []
    for _ in range(steps - 1):
        begin = time.perf_counter()
        batch = next(iterator)
        middle = time.perf_counter()
        step(batch)
        waited.append(1000 * (middle - begin))
        trained.append(1000 * (time.perf_counter() - middle))
    return statistics.median(waited), statistics.median(trained)


# The quieter of two is taken, here and below, since other programs may be running.
found = {"naive": min((breakdown(slow) for _ in range(2)), key=sum)}
waited_ms, trained_ms = found["naive"]
share = {"naive": waited_ms / (waited_ms + trained_ms)}
print(f"a step: {waited_ms:.1f} ms waiting for data, {trained_ms:.1f} ms training")
# --8<-- [end:clock]

# --8<-- [start:limit]
one_batch = slow.take(1).cache().repeat()
found["one cached batch"] = min((breakdown(one_batch) for _ in range(2)), key=sum)
print(f"with one cached batch: {sum(found['one cached batch']):.1f} ms a step")
print(
    f"so a perfect pipeline would be {sum(found['naive']) / sum(found['one cached batch']):.1f}x as fast"
)
# --8<-- [end:limit]

# --8<-- [start:profile]
STEPS = 10
with tempfile.TemporaryDirectory() as folder:
    with tf.profiler.experimental.Profile(folder):
        profiled = breakdown(slow, steps=STEPS)
    space = xplane_pb2.XSpace()
    space.ParseFromString(next(Path(folder).rglob("*.xplane.pb")).read_bytes())

events = [
    (
        plane.event_metadata[event.metadata_id].name.split("#")[0],
        line.timestamp_ns / 1e6 + event.offset_ps / 1e9,
        event.duration_ps / 1e9,
    )
    for plane in space.planes
    for line in plane.lines
    for event in line.events
]
# `calls` holds, for each iterator, when its calls began and their milliseconds. A name
# is the path from the last step of the pipeline to the first.
calls = {}
for name, begin, took in events:
    if name.startswith("Iterator::Root::"):
        calls.setdefault(name, []).append((begin, took))
depth = sorted(calls, key=len)  # each name contains the one before it


def a_step(milliseconds):
    """Return the milliseconds of one step by the median: a call may have been delayed."""
    return statistics.median(milliseconds) * len(milliseconds) / STEPS


own = {}
for name, inner in zip(depth, [*depth[1:], None], strict=True):
    own[name] = a_step(
        [
            took - sum(t for b, t in calls.get(inner, []) if begin <= b < begin + took)
            for begin, took in calls[name]
        ]
    )
    print(
        f"{name.removeprefix('Iterator::Root::')}: {own[name]:.1f} ms a step of its own"
    )
# --8<-- [end:profile]

# --8<-- [start:model]
measured = tf.data.Options()  # the model exists only where autotuning is on
measured.experimental_optimization.apply_default_optimizations = False
watched = read.map(stage(MAP)).batch(BATCH).with_options(measured)


def stages():
    """Return what the model knows of each stage after STEPS steps, the last one first."""
    iterator = iter(watched)
    for _ in range(STEPS):
        step(next(iterator))
    model = tf.data.experimental.get_model_proto(iterator)
    return [node for _, node in sorted(model.nodes.items()) if node.name != "Root"]


# The quietest of three is taken, since other programs may be running.
nodes = min(
    (stages() for _ in range(3)), key=lambda each: sum(n.processing_time for n in each)
)
for node in nodes:
    print(f"{node.name}: {node.processing_time / 1e6 / STEPS:.1f} ms a step")
# --8<-- [end:model]

# --8<-- [start:cure]
read_at_once = tf.data.Dataset.from_tensor_slices(images).map(
    stage(READ), num_parallel_calls=8
)
others = {
    "parallel read": read_at_once.map(stage(MAP)).batch(BATCH).with_options(naive),
    "parallel prepare": read.map(stage(MAP), num_parallel_calls=8)
    .batch(BATCH)
    .with_options(naive),
    "both, and prefetch": read_at_once.map(stage(MAP), num_parallel_calls=8)
    .batch(BATCH)
    .prefetch(2)
    .with_options(naive),
}
for name, data in others.items():
    found[name] = min((breakdown(data) for _ in range(2)), key=sum)
    share[name] = found[name][0] / sum(found[name])
    print(
        f"{name}: {found[name][0]:.1f} ms waiting, {sum(found['naive']) / sum(found[name]):.1f}x"
    )
# --8<-- [end:cure]


# --8<-- [start:computed]
values = np.linspace(0.0, 1.0, 4_000_000)


def processor_ms(data, steps=9):
    """Return the median milliseconds of a processor that a step needs if it computes, in this thread alone."""
    iterator, found = iter(data), []
    for _ in range(steps):
        next(iterator)
        begin = time.thread_time()
        np.tan(values)
        found.append(1000 * (time.thread_time() - begin))
    return statistics.median(found)


naive_ms, cured_ms = processor_ms(slow), processor_ms(others["both, and prefetch"])
print(f"a step that computes, naive: {naive_ms:.1f} ms of a processor")
print(f"the same step, with the cure: {cured_ms:.1f} ms")
# --8<-- [end:computed]

errors = {}
try:
    tf.data.experimental.get_model_proto(iter(slow))
except tf.errors.NotFoundError as error:
    text = str(error).split("}} ")[-1].split(" See more")[0]
    errors["no_model"] = f"NotFoundError: {text}"

gain = {name: sum(found["naive"]) / sum(one) for name, one in found.items()}
claims = {
    "naive_is_input_bound": share["naive"] > 0.6,
    "cached_batch_hardly_waits": found["one cached batch"][0] < 0.2 * found["naive"][0],
    "profiler_agrees_with_the_clock": abs(
        a_step([took for _, took in calls[depth[0]]]) - profiled[0]
    )
    < 0.5 * profiled[0],
    "profiler_names_the_slow_map": max(own, key=own.get) == depth[1],
    "model_names_the_slow_map": max(nodes, key=lambda node: node.processing_time)
    is nodes[1],
    "model_needs_autotuning": "no_model" in errors,
    "right_stage_gains_most": gain["parallel prepare"] > 1.3 * gain["parallel read"],
    "cure_halves_the_share": share["both, and prefetch"] < 0.5 * share["naive"],
    # Time of the processor, not of the clock, which also counts other programs.
    "a_step_trains_as_long_as_before": 0.5 * naive_ms < cured_ms < 2 * naive_ms,
}
measures = {
    "share_naive_x": share["naive"],
    "share_cured_x": share["both, and prefetch"],
    "wrong_stage_x": gain["parallel read"],
    "right_stage_x": gain["parallel prepare"],
    "cured_x": gain["both, and prefetch"],
    "limit_x": gain["one cached batch"],
}
figures = {
    "breakdown": {
        "kind": "bars",
        "timing": True,
        "stacked": True,
        "horizontal": True,
        "title": "Where a step's time goes",
        "xlabel": "milliseconds",
        "categories": list(found),
        "series": {
            part: [round(one[n], 1) for one in found.values()]
            for n, part in enumerate(("waiting for data", "training"))
        },
    }
}
tables = {
    "profile": {
        "columns": ["iterator", "what it is", "own time of a step [ms]"],
        "rows": [
            [name.removeprefix("Iterator::Root::"), what, round(own[name], 1)]
            for name, what in zip(
                depth, ("batch", "prepare", "read", "slices"), strict=True
            )
        ],
    }
}
