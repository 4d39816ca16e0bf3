# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# ///
"""What the profiler calls stages that TensorFlow joined, read ahead or cached, and whose model autotuning keeps."""

import tempfile
import time
from pathlib import Path

import tensorflow as tf

# Not public: it may move with any version of TensorFlow.
from tensorflow.tsl.profiler.protobuf import xplane_pb2


# --8<-- [start:names]
def stages(iterator):
    """Read an iterator to its end under the profiler; return the names of the stages that worked meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            for _ in iterator:
                pass
        space = xplane_pb2.XSpace()
        space.ParseFromString(next(Path(folder).rglob("*.xplane.pb")).read_bytes())
    events = (
        plane.event_metadata[event.metadata_id].name
        for plane in space.planes
        for line in plane.lines
        for event in line.events
    )
    paths = [name.split("#")[0] for name in events if name.startswith("Iterator::Root")]
    return sorted({stage for path in paths for stage in path.split("::")[2:]})


numbers, made = tf.data.Dataset.range(64), []


def note(n):
    """Return the number, and remember that it was made."""
    made.append(n)
    return n


batches = numbers.map(lambda n: n + 1).batch(8)
noted = numbers.map(lambda n: tf.numpy_function(note, [n], tf.int64)).batch(8)
for _ in range(10):  # on a busy machine the last batch may come into the buffer late
    made.clear()
    ready = iter(noted.prefetch(8))
    next(ready)
    while len(made) < 64:
        time.sleep(0.1)
    time.sleep(1)
    full = stages(ready)
    if full == ["Prefetch"]:
        break
parallel = numbers.map(lambda n: n + 1, num_parallel_calls=2)
cached = batches.cache()
for _ in cached:
    pass
found = {
    "map, batch": stages(iter(batches)),
    "map, 2 calls": stages(iter(parallel)),
    "all made before": full,
    "second epoch of a cache": stages(iter(cached)),
}
for name, names in found.items():
    print(f"{name}:", ", ".join(names))
# --8<-- [end:names]

errors = {}
# --8<-- [start:distributed]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy(devices)
iterator = iter(batches)
next(iterator)
model = tf.data.experimental.get_model_proto(iterator)
print("the dataset itself:", len(model.nodes), "stages")
try:
    parts = iter(strategy.experimental_distribute_dataset(batches))
    tf.data.experimental.get_model_proto(parts)
except ValueError as error:
    errors["distributed"] = f"ValueError: {error}"
# --8<-- [end:distributed]

claims = {
    "map_and_batch_are_one_stage": "MapAndBatch" in found["map, batch"],
    "parallel_stages_begin_with_parallel": any(
        name.startswith("Parallel") for name in found["map, 2 calls"]
    ),
    "a_full_buffer_shows_itself_alone": found["all made before"] == ["Prefetch"],
    "a_cache_shows_itself": "MemoryCache" in found["second epoch of a cache"],
    "what_is_cached_shows": any(
        "Map" in name or "Range" in name for name in found["second epoch of a cache"]
    ),
    "a_dataset_has_a_model": len(model.nodes) > 1,
    "a_distributed_dataset_has_a_model": "distributed" not in errors,
}
