# /// script
# requires-python = ">=3.11"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Cut a model between its layers, put each part on a device, and compare with the uncut model."""

# --8<-- [start:cut]
from collections import Counter

import numpy as np
import tensorflow as tf
from tensorflow import keras

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]
PARTS, PER_PART, WIDTH, BATCH = len(DEVICES), 2, 64, 32
keras.utils.set_random_seed(2)

parts = []
for device in DEVICES:
    with tf.device(device):  # the variables are made, and stay, on this device
        part = keras.Sequential(
            [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(PER_PART)]
        )
        part.build((None, WIDTH))
    parts.append(part)
variables = [variable for part in parts for variable in part.trainable_variables]


def cut_model(inputs: tf.Tensor, where: list[str] | None = None) -> tf.Tensor:
    """Run the parts in turn, each on its device; the activations travel from one to the next."""
    for device, part in zip(DEVICES, parts, strict=True):
        with tf.device(device):
            inputs = part(inputs)
            if where is not None:
                where.append(inputs.device)
    return inputs


# --8<-- [end:cut]

# --8<-- [start:compare]
x = tf.constant(np.random.default_rng(1).normal(size=(BATCH, WIDTH)), tf.float32)
places: list[str] = []
with tf.GradientTape() as tape:
    outputs = cut_model(x, places)
    loss = tf.reduce_mean(outputs**2)
gradients = tape.gradient(loss, [v.value for v in variables])

with tf.device(DEVICES[0]):
    uncut = keras.Sequential(
        [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(PARTS * PER_PART)]
    )
    uncut.build((None, WIDTH))
    uncut.set_weights([v.numpy() for v in variables])
    with tf.GradientTape() as tape:
        expected = uncut(x)
        loss = tf.reduce_mean(expected**2)
    expected_gradients = tape.gradient(
        loss, [v.value for v in uncut.trainable_variables]
    )

output_gap = float(tf.reduce_max(abs(outputs - expected)))
gradient_gap = max(
    float(tf.reduce_max(abs(a - b)))
    for a, b in zip(gradients, expected_gradients, strict=True)
)
print("outputs equal to the uncut model:  ", output_gap < 1e-6)
print("gradients equal to the uncut model:", gradient_gap < 1e-6)
# --8<-- [end:compare]

# --8<-- [start:bytes]
held = Counter()
for variable in variables:
    held[variable.value.device] += tf.as_dtype(variable.dtype).size * int(
        np.prod(variable.shape)
    )
total = sum(held.values())
for device, count in sorted(held.items()):
    print(f"{device[-5:]} holds {count:6,} of {total:,} bytes")
crossing = int(np.prod(outputs.shape)) * outputs.dtype.size
print(
    f"across each cut: {crossing:,} bytes of activations forward, as many of gradients back"
)
# --8<-- [end:bytes]

claims = {
    "outputs_equal": output_gap < 1e-5,
    "gradients_equal": gradient_gap < 1e-5,
    "outputs_differ": output_gap >= 1e-5,
    "bytes_are_total_over_parts": len(held) == PARTS
    and set(held.values()) == {total // PARTS},
    "every_device_holds_everything": PARTS > 1 and set(held.values()) == {total},
    "every_variable_exists_once": total == sum(w.nbytes for w in uncut.get_weights()),
    "parts_computed_on_their_devices": all(
        p.endswith(d) for p, d in zip(places, DEVICES, strict=True)
    ),
    "all_parts_see_the_same_rows": all(
        part.output_shape == (None, WIDTH) for part in parts
    )
    and outputs.shape[0] == BATCH,
    "each_part_gets_a_share_of_the_rows": PARTS > 1
    and outputs.shape[0] * PARTS == BATCH,
}
measures = {
    "parts": PARTS,
    "total_bytes": total,
    "bytes_per_device": max(held.values()),
    "crossing_bytes": crossing,
}
figures = {
    "held": {
        "kind": "bars",
        "title": "Bytes of weights on each device",
        "xlabel": "device",
        "ylabel": "thousand bytes",
        "categories": [str(i) for i in range(PARTS)],
        "series": {
            "cut by layers": [held[d] / 1e3 for d in sorted(held)],
            "copied (data parallel)": [total / 1e3] * PARTS,
        },
    }
}
