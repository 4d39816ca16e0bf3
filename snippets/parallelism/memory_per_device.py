# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Measure what each device holds when a model is copied to all devices, and when it is cut into parts."""

# --8<-- [start:model]
from collections import Counter

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]
WIDTH, LAYERS = 256, 12


def build(
    placement: list[str] | None = None,
) -> tuple[keras.Model, keras.optimizers.Optimizer]:
    """Return a model and its Adam optimizer; layer i lives on `placement[i]`, if given."""
    model = keras.Sequential([keras.Input((WIDTH,))])
    for i in range(LAYERS):
        with tf.device(placement[i] if placement else None):
            model.add(keras.layers.Dense(WIDTH, activation="tanh"))
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    return model, optimizer


def bytes_by_device(
    model: keras.Model, optimizer: keras.optimizers.Optimizer
) -> Counter:
    """Return the bytes of weights and optimizer slots on each device, every copy counted."""
    held = Counter()
    for variable in [*model.trainable_variables, *optimizer.variables]:
        # A mirrored variable has one copy per replica.
        copies = getattr(variable.value, "values", [variable.value])
        for copy in copies:
            if len(copy.shape):  # leaves out the step counter and the learning rate
                held[copy.device] += int(np.prod(copy.shape)) * copy.dtype.size
    return held


# --8<-- [end:model]

# --8<-- [start:copied]
strategy = tf.distribute.MirroredStrategy(DEVICES)
with strategy.scope():
    copied = bytes_by_device(*build())
for device, held in sorted(copied.items()):
    print(f"copied  {device[-5:]}  {held:10,} bytes")
# --8<-- [end:copied]

# --8<-- [start:cut]
whole = sum(bytes_by_device(*build([DEVICES[0]] * LAYERS)).values())
largest = {}
for parts in range(1, len(DEVICES) + 1):
    cut = bytes_by_device(*build([DEVICES[i * parts // LAYERS] for i in range(LAYERS)]))
    largest[parts] = max(cut.values())
    print(
        f"cut in {parts}: {len(cut)} device(s), the fullest holds {largest[parts]:10,} bytes"
    )
# --8<-- [end:cut]

replicas = len(DEVICES)
claims = {
    "copy_on_every_device": len(copied) == replicas and len(set(copied.values())) == 1,
    "data_parallel_saves_memory": max(copied.values()) < whole,
    "data_parallel_bytes_per_device_constant": max(copied.values()) == whole,
    "cut_bytes_are_total_over_parts": all(
        largest[n] == whole / n for n in largest if LAYERS % n == 0
    ),
    "cut_bytes_are_total_on_each": all(largest[n] == whole for n in largest if n > 1)
    and replicas > 1,
    "copies_add_up_to_replicas": sum(copied.values()) == replicas * whole,
}
measures = {
    "whole_bytes": whole,
    "copied_bytes": max(copied.values()),
    "fullest_part_bytes": largest[replicas],
}
figures = {
    "by_parts": {
        "kind": "lines",
        "title": "Weights and Adam slots on the fullest device",
        "xlabel": "devices",
        "ylabel": "million bytes",
        "markers": True,
        "x": list(largest),
        "series": {
            "copied to every device": [max(copied.values()) / 1e6] * len(largest),
            "cut by layers": [held / 1e6 for held in largest.values()],
        },
    }
}
