# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Cut a model between its layers, put each part on a device, and compare with the uncut model."""

# --8<-- [start:cut]
import re
from collections import Counter

import keras
import numpy as np
import tensorflow as tf

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


def on(device: str, part):
    """Return the part as a function that runs on a device, and computes its gradients there."""

    @tf.custom_gradient
    def run(inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = part(inputs)

        def back(gradient, variables=()):
            with tf.device(device):
                into, *own = tape.gradient(outputs, [inputs, *variables], gradient)
            return (into, own) if variables else into

        return outputs, back

    def run_there(inputs):
        with tf.device(device):
            return run(inputs)

    return run_there


def cut_model(inputs: tf.Tensor, where: list[tuple] | None = None) -> tf.Tensor:
    """Run the parts in turn, each on its device; the activations travel from one to the next."""
    for device, part in zip(DEVICES, parts, strict=True):
        inputs = on(device, part)(inputs)
        if where is not None:
            where.append((inputs.device, len(inputs)))
    return inputs


# --8<-- [end:cut]

# --8<-- [start:compare]
x = tf.constant(np.random.default_rng(1).normal(size=(BATCH, WIDTH)), tf.float32)
places: list[tuple] = []
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
    held[variable.value.device] += variable.numpy().nbytes
total = sum(held.values())
for device, count in sorted(held.items()):
    print(f"{device[-5:]} holds {count:6,} of {total:,} bytes")
crossing = int(np.prod(outputs.shape)) * outputs.dtype.size
print(
    f"across each cut: {crossing:,} bytes of activations forward, as many of gradients back"
)
# --8<-- [end:bytes]


# --8<-- [start:run]
class On(keras.layers.Layer):
    """Make a layer on a device, and run it there, forward and back."""

    def __init__(self, device: str, layer: keras.layers.Layer):
        super().__init__()
        self.device, self.layer = device, layer
        self.supports_jit = False  # XLA compiles for one device

    def build(self, shape):
        with tf.device(self.device):
            self.layer.build(shape)

    def call(self, inputs):
        return on(self.device, self.layer)(inputs)


class Forward(On):
    """The same without `on`."""

    def call(self, inputs):
        with tf.device(self.device):
            return self.layer(inputs)


class OnlyMade(On):
    """Make a layer on a device, and leave open where it runs."""

    def call(self, inputs):
        return self.layer(inputs)


def indices(values) -> list[int]:
    return [tf.DeviceSpec.from_string(v.device).device_index for v in values]


runs = {}
for way in (OnlyMade, Forward, On):
    layers = [way(device, keras.layers.Dense(WIDTH)) for device in DEVICES]
    stack = keras.Sequential([keras.Input((WIDTH,)), *layers])
    kernels = [layer.layer.kernel.value for layer in layers]
    found, result = [], x
    with tf.GradientTape() as tape:
        for layer in layers:
            result = layer(result)
            found.append(result)
    backward = tape.gradient(result, kernels)
    runs[way.__name__] = indices(kernels), indices(found), indices(backward)
    places_of_all = "kernels {}  outputs {}  gradients {}".format(*runs[way.__name__])
    print(f"{way.__name__:9} {places_of_all}")
# --8<-- [end:run]

# --8<-- [start:fit]
slots = {}
for built in (False, True):
    layers = [On(device, keras.layers.Dense(WIDTH)) for device in DEVICES]
    stack = keras.Sequential([keras.Input((WIDTH,)), *layers])
    optimizer = keras.optimizers.Adam()
    if built:
        optimizer.build(stack.trainable_variables)
    stack.compile(optimizer, "mse")
    stack.fit(x, x, verbose=0)
    momenta = [v.value for v in optimizer.variables if len(v.shape) == 2]
    slots[built] = sorted(set(indices(momenta)))
    print(f"Adam built before fit: {built!s:5}  its slots on {slots[built]}")
# --8<-- [end:fit]

# --8<-- [start:xla]
made_there = keras.Sequential([keras.Input((WIDTH,))])
for device in DEVICES:
    with tf.device(device):
        made_there.add(keras.layers.Dense(WIDTH))
made_there.compile("sgd", "mse", jit_compile=True)
try:
    made_there.fit(x, x, verbose=0)
    refusal = ""
except tf.errors.InvalidArgumentError as error:
    refusal = re.sub(
        r"resource \S+ .*? located in device \S+ from device \S+",
        "resource ... located in device ... from device ...",
        re.search(r"Trying to access resource .*", str(error)).group(),
    )
print(refusal)
# --8<-- [end:xla]

# --8<-- [start:copied]
strategy = tf.distribute.MirroredStrategy(DEVICES[::2])  # every other device
with strategy.scope():
    shared = On(DEVICES[-1], keras.layers.Dense(WIDTH))
    shared.build((None, WIDTH))
kernel = shared.layer.kernel.value
copies = indices(getattr(kernel, "values", [kernel]))
results = strategy.experimental_local_results(strategy.run(shared, args=(x,)))
ran = indices(results)
print(f"made and run on {PARTS - 1}: kernels {copies}  outputs {ran}")
# --8<-- [end:copied]


@tf.function
def compiled(inputs):
    """Return the gradients of the last stack."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(stack(inputs) ** 2)
    return tape.gradient(loss, [v.value for v in stack.trainable_variables])


watched = x + 0  # of no weights: its gradient alone, where `on` says
with tf.GradientTape() as tape:
    tape.watch(watched)
    result = on(DEVICES[-1], tf.square)(watched)
squared = [tape.gradient(result, watched)]

graph = compiled.get_concrete_function(x).graph
products = [node for node in graph.get_operations() if node.type == "MatMul"]
asked = Counter(indices(products))

claims = {
    "outputs_equal": output_gap < 1e-5,
    "gradients_equal": gradient_gap < 1e-5,
    "outputs_differ": output_gap >= 1e-5,
    "bytes_are_total_over_parts": len(held) == PARTS
    and set(held.values()) == {total // PARTS},
    "every_device_holds_everything": PARTS > 1 and set(held.values()) == {total},
    "every_variable_exists_once": total == sum(w.nbytes for w in uncut.get_weights()),
    "parts_computed_on_their_devices": all(
        place.endswith(d) for (place, _), d in zip(places, DEVICES, strict=True)
    ),
    "gradients_computed_on_their_devices": all(
        gradient.device == variable.value.device
        for gradient, variable in zip(gradients, variables, strict=True)
    ),
    "made_there_runs_on_the_first": set(runs["OnlyMade"][1]) == {0},
    "a_tape_alone_goes_back_on_the_first": runs["Forward"][1] == list(range(PARTS))
    and set(runs["Forward"][2]) == {0},
    "on_runs_there_both_ways": runs["On"] == (list(range(PARTS)),) * 3,
    "a_part_without_weights_has_its_gradient": bool(
        np.allclose(squared[0], 2 * x) and indices(squared) == [PARTS - 1]
    ),
    "compiled_it_runs_there_both_ways": asked == dict.fromkeys(range(PARTS), 3),
    "slots_made_in_fit_are_on_the_first": slots[False] == [0],
    "slots_built_before_follow_the_weights": slots[True] == list(range(PARTS)),
    "xla_refuses": PARTS == 1 or "Trying to access resource" in refusal,
    "a_strategy_copies_it_to_its_own_devices": copies == list(range(0, PARTS, 2)),
    "on_runs_all_replicas_on_one": ran == [PARTS - 1] * len(copies),
    "all_parts_see_the_same_rows": [rows for _, rows in places] == [BATCH] * PARTS,
    "each_part_gets_a_share_of_the_rows": PARTS > 1
    and all(rows * PARTS == BATCH for _, rows in places),
}
errors = {"xla": f"InvalidArgumentError: {refusal}"} if refusal else {}
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
