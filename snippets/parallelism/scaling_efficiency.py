# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 180
# alone = true
# ///
"""Measure scaling efficiency: on the GPUs of this machine, or on two of its cores where it has none."""

# --8<-- [start:measure]
import multiprocessing
import os
import time
import warnings

import keras
import numpy as np
import tensorflow as tf

SMALL, LARGE = 4, 128  # rows of a step for each device


def devices(count):
    """Return so many GPUs, or parts of a CPU with one core each; and how many there are."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        tf.config.set_visible_devices(gpus[:count], "GPU")
        return tf.config.list_logical_devices("GPU"), len(gpus)
    if hasattr(os, "sched_setaffinity"):  # Linux has it, macOS has not
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:count])
        if len(cores) < count:
            warnings.warn("parts share a core: this is no speed-up", stacklevel=1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(count)
    part = tf.config.LogicalDeviceConfiguration()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [part] * count)
    return tf.config.list_logical_devices("CPU"), 2


def make_step(strategy, rows):
    """Return a step on one batch that stays on the devices, its model, and its traces."""
    keras.utils.set_random_seed(0)
    with strategy.scope():
        hidden = [keras.layers.Dense(512, "relu") for _ in range(3)]
        model = keras.Sequential([keras.Input((512,)), *hidden, keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)
    total, traces = rows * strategy.num_replicas_in_sync, []
    x = np.random.default_rng(0).normal(size=(total, 512)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(total)
    batch = next(iter(strategy.experimental_distribute_dataset(data)))

    def on_replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(x, training=True) - y) ** 2) / total
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    @tf.function
    def step():
        traces.append(rows)  # Python comes here only while the step is traced
        return strategy.reduce("SUM", strategy.run(on_replica, batch), axis=None)

    return step, model, traces


def seconds(step, steps=3, budget=1.5):
    """Return the seconds of a step: a round ends with a result that needs all its steps.

    The fastest round counts, because other programs can only make one slower.
    """
    times, until = [], time.perf_counter() + budget
    while len(times) < 10 or time.perf_counter() < until:
        begin = time.perf_counter()
        for _ in range(steps):
            loss = step()
        float(loss)  # waits for the devices
        times.append((time.perf_counter() - begin) / steps)
    return min(times)


def measure(count, cases, send):
    """Run in a process of its own: time a step for each number of rows."""
    used, available = devices(count)
    strategy = tf.distribute.MirroredStrategy(used)
    found = {}
    for rows in cases:
        step, model, traces = make_step(strategy, rows)
        begin, traced = time.perf_counter(), [len(traces)]
        float(step())
        first = time.perf_counter() - begin
        traced.append(len(traces))
        for _ in range(2):
            float(step())
        weights = np.concatenate([np.ravel(w) for w in model.get_weights()])
        found[rows] = first, seconds(step), weights, [*traced, len(traces)]
    send((available, found))


# --8<-- [end:measure]


# --8<-- [start:run]
def run(count):
    """Run `measure` in a new process. TensorFlow has not run here yet, so a fork is safe."""
    fork = multiprocessing.get_context("fork")
    ear, mouth = fork.Pipe(duplex=False)
    cases = sorted({SMALL, LARGE // count, LARGE})
    child = fork.Process(target=measure, args=(count, cases, mouth.send), daemon=True)
    child.start()
    mouth.close()  # so that a child that ends without an answer raises EOFError here
    try:
        return ear.recv()
    finally:
        child.kill()
        child.join()


def efficiency(count, rate, rate_of_one):
    """Return which part of `count` times the rate of one device was reached."""
    return rate / (count * rate_of_one)


available, one = run(1)
found = {1: one} | {n: run(n)[1] for n in (2, 4, 8, 16) if n <= available}
_, again = run(1)  # the baseline once more: the faster one counts
rate = {
    (n, rows): n * rows / later
    for n, cases in found.items()
    for rows, (_, later, _, _) in cases.items()
}
rate |= {(1, rows): max(rate[1, rows], rows / again[rows][1]) for rows in again}
reached = {}
for n in list(found)[1:]:
    for kind, rows, rows_of_one in (
        ("weak", SMALL, SMALL),
        ("weak", LARGE, LARGE),
        ("strong", LARGE // n, LARGE),
    ):
        part = efficiency(n, rate[n, rows], rate[1, rows_of_one])
        reached[kind, n, rows] = part
        print(f"{n} devices, {rows:3} rows each, {kind:6} scaling:", end=" ")
        print(f"speed-up {n * part:.2f}x, efficiency {part:.2f}x")
noise = again[LARGE][1] / one[LARGE][1]
print(f"one device, {LARGE} rows, measured again: {noise:.2f}x the time")
# --8<-- [end:run]

# --8<-- [start:first]
first, later, *_ = found[1][SMALL]
print(f"the first step on one device: {1000 * first:.0f} ms")
print(f"a later one: {1000 * later:.2f} ms")
# --8<-- [end:first]


# --8<-- [start:same]
def apart(n, rows):
    """Return how far the weights are from those of one device with LARGE rows."""
    return float(abs(found[n][rows][2] - found[1][LARGE][2]).max())


strong = max(apart(n, LARGE // n) for n in found)
weak = max(apart(n, LARGE) for n in found)
print("strong scaling, after three steps the weights of one device:", strong < 1e-4)
print("weak scaling, the weights of one device:", weak < 1e-4)
# --8<-- [end:same]

traced = [case[3] for cases in found.values() for case in cases.values()]
claims = {
    "strong_trains_as_one_device": strong < 1e-4,
    "weak_trains_otherwise": len(found) == 1 or weak > 1e-3,
    "only_the_first_step_is_traced": all(t == [0, 1, 1] for t in traced),
    "eight_at_3000_are_three_quarters": efficiency(8, 3000, 500) == 0.75,
    "eight_at_3000_are_six": efficiency(8, 3000, 500) == 6,
    "eight_at_3000_are_a_sixth": abs(efficiency(8, 3000, 500) - 1 / 6) < 1e-9,
}
measures = {"first_x": first / later, "noise_x": noise}
