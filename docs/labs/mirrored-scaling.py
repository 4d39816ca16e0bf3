# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Batch size, replicas and step time
#
# How long does a step of `MirroredStrategy` take when you add replicas, and when you add rows? This lab measures both on
# the machine it runs on, and draws the result.
#
# A *step* here is one update of the weights: every replica computes gradients on its share of the global batch, the
# gradients are summed, every replica applies the same update.

# %% [markdown]
# ## Devices
#
# On a machine with several GPUs the lab uses up to four of them. It splits a single GPU into two logical devices and,
# where there is no GPU, the CPU into four. The parts share the same hardware, so several replicas have no more to compute
# with than one.

# %%
import time

import matplotlib.pyplot as plt
import tensorflow as tf
from IPython.display import display

tf.get_logger().setLevel("ERROR")  # a strategy announces its devices each time it is made
kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
machine = tf.config.list_physical_devices(kind)
if len(machine) == 1:
    # A part of a GPU needs a limit in MB; a part of a CPU takes none.
    parts = [tf.config.LogicalDeviceConfiguration(memory_limit=2048)] * 2
    if kind == "CPU":
        parts = [tf.config.LogicalDeviceConfiguration()] * 4
    tf.config.set_logical_device_configuration(machine[0], parts)
names = [device.name for device in tf.config.list_logical_devices(kind)]
print(f"{len(names)} logical devices, kind {kind}")

# %% [markdown]
# ## One step, timed
#
# The model is a small dense network with random rows, so the input pipeline costs nothing and only the step is timed.
# The first calls trace the function and are left out. Of the others the fastest counts: whatever else the machine does can
# only make a step slower.
#
# Several strategies in one process need care: the default reduction of `MirroredStrategy` uses collectives whose keys
# start again at the same number for each strategy object
# ([source](https://github.com/tensorflow/tensorflow/blob/v2.21.0/tensorflow/python/distribute/cross_device_utils.py)).
# `ReductionToOneDevice` has no such keys, so the lab uses it for all of them.


# %%
def step_time(replicas, global_batch, steps=20):
    """Return the seconds of a training step, the fastest of several."""
    strategy = tf.distribute.MirroredStrategy(names[:replicas], cross_device_ops=tf.distribute.ReductionToOneDevice())
    with strategy.scope():
        weights = [
            tf.Variable(tf.random.stateless_normal(shape, seed=(0, n), stddev=0.05))
            for n, shape in enumerate([(256, 512), (512, 512), (512, 1)])
        ]
        # Variables, so that each replica has the rows on its device and no step copies them.
        rows = tf.random.stateless_normal((global_batch // replicas, 256), seed=(1, 1))
        x = tf.Variable(rows, trainable=False)
        y = tf.Variable(tf.reduce_sum(rows, axis=1, keepdims=True), trainable=False)

    def on_replica():
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.nn.relu(x @ weights[0]) @ weights[1])
            loss = tf.reduce_sum((hidden @ weights[2] - y) ** 2) / global_batch
        gradients = tape.gradient(loss, weights)
        summed = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        for weight, gradient in zip(weights, summed, strict=True):
            weight.assign_sub(1e-4 * gradient)
        return loss

    step = tf.function(lambda: strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(on_replica), axis=None))
    for _ in range(3):
        step().numpy()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step().numpy()
        times.append(time.perf_counter() - start)
    return min(times)


# %% [markdown]
# ## The measurement

# %%
counts = [n for n in (1, 2, 4) if n <= len(names)]
batches = [64, 256, 1024, 4096]
seconds = {n: [step_time(n, batch) for batch in batches] for n in counts}
print("global batch " + "".join(f"{batch:>12}" for batch in batches))
for n in counts:
    print(f"{n} replica{'s' if n > 1 else ' '}   " + "".join(f"{1000 * s:9.2f} ms" for s in seconds[n]))

# %%
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for n, marker in zip(counts, "os^", strict=False):
    label = f"{n} replica{'s' if n > 1 else ''}"
    axes.plot(batches, [batch / s for batch, s in zip(batches, seconds[n], strict=True)], marker=marker, label=label)
axes.set(xscale="log", xlabel="global batch (rows)", ylabel="rows per second")
axes.set_xticks(batches, [str(batch) for batch in batches])
axes.minorticks_off()
axes.set_ylim(bottom=0)
axes.legend()
plt.close(figure)
rates = {n: [f"{batch / s:,.0f} rows/s" for batch, s in zip(batches, seconds[n], strict=True)] for n in counts}
ends = "; ".join(f"{n} replica{'s' if n > 1 else ''}: from {rates[n][0]} to {rates[n][-1]}" for n in counts)
alt = f"Rows per second against the global batch from {batches[0]} to {batches[-1]} rows, one line for each count. {ends}."
display(figure, metadata={"image/png": {"alt": alt}})

# %%
for index, batch in enumerate(batches):
    ratios = ", ".join(f"{n} replicas {seconds[n][index] / seconds[1][index]:.2f}x" for n in counts if n > 1)
    print(f"step time against one replica, {batch:>4} rows: {ratios}")

# %% [markdown]
# ## What to read from it
#
# * **A small batch pays for the step itself.** Calling the step, starting its operations and updating the weights cost the
#   same for 64 rows as for 4096, also with one replica; each further replica adds its own start and its part of the sum.
#   Rows per second show it: a larger batch spreads that cost over more rows.
# * **These are not four devices.** Without several GPUs, logical devices share the cores or the GPU of one machine, with
#   whatever else runs there. A second replica adds no hardware, so a ratio below 1x in the list above is no speed-up that
#   you could buy: it comes from how the same work is cut into pieces, and it changes from run to run. For a speed-up that
#   means something, run the lab on a machine with several GPUs. There, take out `cross_device_ops` and measure one count of
#   replicas for each process: adding up on one device is slower than the default.
# * **Compare at the same global batch.** A step with four replicas and four times the rows does more work. Its time says
#   nothing about scaling until you divide by the rows.
#
# The page about [MirroredStrategy](../strategies/mirrored.md) explains the step, and shows that its result is that of one
# device.
