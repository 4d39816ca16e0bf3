# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 300
# alone = true
# ///
"""Time a training step in float32, float16 and bfloat16, with and without XLA, on the device at hand."""

import os

# The tests set it on a GPU: no TensorFloat-32, whatever the program says.
os.environ.pop("NVIDIA_TF32_OVERRIDE", None)

# --8<-- [start:step]
import gc
import time

import keras
import tensorflow as tf

gpu = bool(tf.config.list_physical_devices("GPU"))
# Units of each of four layers, and rows of a batch. A CPU would take minutes for what a GPU is built for.
SIZES = {"small": (64, 64), "large": (4096, 4096) if gpu else (512, 256)}
# What the layers compute in, and whether float32 products may round to TensorFloat-32.
KINDS = {
    "float32": ("float32", False),
    "TensorFloat-32": ("float32", True),
    "mixed_float16": ("mixed_float16", True),
    "mixed_bfloat16": ("mixed_bfloat16", True),
}


def make_step(policy, units, rows, xla):
    """Return a training step of a network of dense layers."""
    keras.utils.set_random_seed(0)
    dense = keras.layers.Dense
    hidden = [dense(units, "relu", dtype=policy) for _ in range(4)]
    last = dense(1, dtype="float32")
    model = keras.Sequential([keras.Input((units,)), *hidden, last])
    optimizer = keras.optimizers.SGD(0.01)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    x = tf.random.stateless_normal([rows, units], seed=[1, 2])
    y = tf.reduce_mean(x, axis=1, keepdims=True)

    @tf.function(jit_compile=xla)
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    return step


# --8<-- [end:step]


# --8<-- [start:time]
def seconds(step, rounds=5, budget=2.0):
    """Return the seconds of a step in the fastest round: other programs can only slow one down."""
    times, until = [], time.perf_counter() + budget
    steps = 10 if gpu else 2
    while len(times) < rounds and (not times or time.perf_counter() < until):
        begin = time.perf_counter()
        for _ in range(steps):
            loss = step()
        float(loss)  # waits for the device
        times.append((time.perf_counter() - begin) / steps)
    return min(times)


def peak():
    """Return the most bytes that were in use on the GPU since the last call; 0 on a CPU."""
    if not gpu:
        return 0
    found = tf.config.experimental.get_memory_info("GPU:0")["peak"]
    tf.config.experimental.reset_memory_stats("GPU:0")
    return found


took, memory, losses = {}, {}, {}
for kind, (policy, rounds_to_tf32) in KINDS.items():
    tf.config.experimental.enable_tensor_float_32_execution(rounds_to_tf32)
    for xla in (False, True):
        for size, (units, rows) in SIZES.items():
            case = kind, xla, size
            step = make_step(policy, units, rows, xla)
            losses[case] = [float(step()) for _ in range(3)]
            peak()
            took[case] = seconds(step)
            memory[case] = peak()
            del step
            gc.collect()


def gain(kind, xla, size):
    """Return how many times as fast it is as float32 without XLA."""
    return took["float32", False, size] / took[kind, xla, size]


def name(kind, xla):
    return kind + (" with XLA" if xla else "")


for kind in KINDS:
    for xla in (False, True):
        gains = [f"{size} {gain(kind, xla, size):.1f}x" for size in SIZES]
        print(f"{name(kind, xla):24}", *gains)
# --8<-- [end:time]


def cell(device, value):
    """Return a cell of the table: the value where this is that device, else the other record's."""
    here = device == ("gpu" if gpu else "cpu")
    return value if here else {"text": "not run", "device": device}


rows = []
for kind in KINDS:
    for xla in (False, True):
        row = [name(kind, xla)]
        for device in ("cpu", "gpu"):
            row += [cell(device, round(gain(kind, xla, size), 3)) for size in SIZES]
        used = memory[kind, xla, "large"] / max(1, memory["float32", False, "large"])
        rows.append([*row, cell("gpu", round(used, 3))])
columns = ["the layers compute in"]
columns += [f"{device}, {size} [x]" for device in ("CPU", "GPU") for size in SIZES]
tables = {"speed": {"columns": [*columns, "GPU, large: memory [x]"], "rows": rows}}


def falls_alike(kind, xla, size):
    """Return whether the loss falls as in float32, to the digits that 16 bits leave."""
    return all(
        abs(one - other) < 0.05 * other
        for one, other in zip(
            losses[kind, xla, size], losses["float32", False, size], strict=True
        )
    )


claims = {
    "the_loss_falls_alike": all(falls_alike(*case) for case in took),
    "small_float16_gains_little": gain("mixed_float16", False, "small") < 1.5,
    "large_float16_is_faster_on_a_gpu": not gpu
    or gain("mixed_float16", False, "large") > 1.5,
    "large_bfloat16_is_faster_on_a_gpu": not gpu
    or gain("mixed_bfloat16", False, "large") > 1.5,
    "a_cpu_is_slower_in_float16": gpu or gain("mixed_float16", False, "large") < 1,
}
measures = {
    "small_xla_x": gain("float32", True, "small"),
    "large_float16_x": gain("mixed_float16", False, "large"),
    "large_bfloat16_x": gain("mixed_bfloat16", False, "large"),
    "large_tf32_x": gain("TensorFloat-32", False, "large"),
}
