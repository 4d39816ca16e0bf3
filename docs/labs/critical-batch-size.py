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
# # How large a batch still pays
#
# Twice the devices train twice the batch in the same time for a step. That is worth it if training then needs half the
# steps. It does at first, and less and less later. This lab trains one model with batches from 4 to 1024, finds the best
# learning rate for each, and counts the steps to the same loss.
#
# The batch at which more rows begin to save little is called the *critical batch size*. It belongs to the model, the data,
# the optimizer and the loss that you want, not to the machine: devices beyond it bring little.

# %% [markdown]
# ## Many runs at once
#
# A fair comparison needs the best learning rate for each batch, so there are 11 rates, each with 5 seeds. All 55 runs of one
# batch size train at the same time: the weights have two axes more, and one step updates all of them. Runs of one seed see
# the same rows.
#
# The data are the handwritten digits of
# [scikit-learn](https://scikit-learn.org/stable/modules/generated/sklearn.datasets.load_digits.html). The numbers have 64
# bits, so that rounding, which differs from machine to machine, hardly ever moves a count.

# %%
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from IPython.display import display
from sklearn.datasets import load_digits

tf.get_logger().setLevel("ERROR")  # it warns of a graph for each batch: meant here
pixels, digits = load_digits(return_X_y=True)
x = tf.constant(pixels / 16 - 0.3)
y = tf.constant(digits, tf.int32)
ROWS, HIDDEN, SEEDS = len(digits), 32, 5
RATES = 2.0 ** np.arange(-2, 3.5, 0.5)
TARGETS = np.array([0.3, 0.1])
print(f"{ROWS} rows, {64 * HIDDEN + HIDDEN * 10} weights")
print(f"{len(RATES)} rates from {RATES[0]} to {RATES[-1]}")


# %%
def initial():
    """Return the weights of all runs: (seeds, rates, inputs, outputs).

    Those of one seed are equal.
    """
    shapes = [(64, HIDDEN), (HIDDEN, 10)]
    first = []
    for layer, (inputs, outputs) in enumerate(shapes):
        shape = (SEEDS, 1, inputs, outputs)
        normal = tf.random.stateless_normal(shape, seed=(layer, 7), dtype=tf.float64)
        first.append(normal / np.sqrt(inputs))
    return [tf.tile(weights, [1, len(RATES), 1, 1]) for weights in first]


def losses(weights, rows, labels):
    """Return the mean loss of each run; rows have the shape (seeds, batch, 64)."""
    hidden = tf.tanh(tf.einsum("sbi,srij->srbj", rows, weights[0]))
    logits = tf.einsum("srbj,srjk->srbk", hidden, weights[1])
    labels = tf.tile(labels[:, None], [1, tf.shape(logits)[1], 1])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_mean(each, axis=-1)


@tf.function
def steps_to(batch: int, every: int, limit: int):
    """Train all runs. Return after how many steps each had each loss on all rows.

    That is `limit + 1` where it had not. The loss is looked at after every so many
    steps. Training ends when one rate has the last loss with all seeds.
    """
    first, last = initial()
    needed = tf.fill((len(TARGETS), SEEDS, len(RATES)), limit + 1)
    every_row = tf.tile(x[None], [SEEDS, 1, 1]), tf.tile(y[None], [SEEDS, 1])
    rates = tf.constant(RATES)[:, None, None]
    step = 0
    while step < limit and not tf.reduce_any(tf.reduce_all(needed[-1] <= limit, axis=0)):
        draw = {"shape": [batch], "maxval": ROWS, "dtype": tf.int32}
        seeds = range(SEEDS)
        drawn = [tf.random.stateless_uniform(seed=(n, step), **draw) for n in seeds]
        with tf.GradientTape() as tape:
            tape.watch([first, last])
            loss = losses([first, last], tf.gather(x, drawn), tf.gather(y, drawn))
        of_first, of_last = tape.gradient(loss, [first, last])
        first, last = first - rates * of_first, last - rates * of_last
        step += 1
        if step % every == 0:
            reached = losses([first, last], *every_row) < tf.constant(TARGETS)[:, None, None]
            needed = tf.where(reached & (needed > limit), step, needed)
    return needed


# %% [markdown]
# ## The measurement
#
# The steps of a rate are the mean over the seeds; the best rate is the one that needs the fewest. Training stops once one
# rate has the lower loss with all seeds. So for that loss the best rate is the one whose slowest seed arrives first.

# %%
batches = [4 * 2**n for n in range(9)]
steps, best = np.zeros((2, len(TARGETS), len(batches)))
for index, batch in enumerate(batches):
    needed = steps_to(batch, max(1, 64 // batch), 4000).numpy().mean(axis=1)
    steps[:, index], best[:, index] = needed.min(axis=1), RATES[needed.argmin(axis=1)]

print("loss 0.1 on all rows:")
print("batch   best rate   steps   times fewer than half the batch   rows")
for index, batch in enumerate(batches):
    count = steps[1, index]
    fewer = f"{steps[1, index - 1] / count:.2f}" if index else "-"
    line = f"{batch:>5}   {best[1, index]:9.2f}   {count:5.1f}"
    print(f"{line}   {fewer:>31}   {count * batch:,.0f}")

# %% [markdown]
# Where it says 2 times fewer, doubling the batch halves the steps: perfect scaling. Where it says 1, it saves none. The best rate grows with the batch at first, by a factor of 1.4 to 2 for each doubling: between the square
# root and the [linear scaling rule](../strategies/batch-size-and-learning-rate.md). It stops growing at 64, near the
# critical batch size found below.
#
# ## The critical batch size
#
# [McCandlish and others (2018)](https://arxiv.org/abs/1812.06162) derive how the steps fall, for the best rate of each batch:
#
# steps = least steps × (1 + critical batch size / batch)
#
# Two numbers, fitted here to nine measurements.


# %%
def fit(counts):
    """Return the least steps and the critical batch size, by least relative squares.

    The steps are a line over 1 / batch.
    """
    columns = np.stack([np.ones(len(batches)), 1 / np.array(batches)], axis=1)
    ones = np.ones(len(batches))
    least, slope = np.linalg.lstsq(columns / counts[:, None], ones, rcond=None)[0]
    return least, slope / least


fits = [fit(counts) for counts in steps]
for target, (least, critical), counts in zip(TARGETS, fits, steps, strict=True):
    away = np.abs(least * (1 + critical / np.array(batches)) / counts - 1).max()
    print(f"loss {target}: critical batch size {critical:.0f}, at least {least:.0f} steps")
    print(f"          the formula is within {away:.0%} of every measurement")
    near = int(np.abs(np.log(np.array(batches) / critical)).argmin())
    rows = counts * batches
    print(
        f"          measured at {batches[near]}: {counts[near] / counts.min():.1f} times the least steps,"
        f" {rows[near] / rows.min():.1f} times the least rows"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
curve = np.geomspace(batches[0], batches[-1], 100)
for target, counts, (least, critical), marker in zip(TARGETS, steps, fits, "os", strict=True):
    (line,) = left.plot(batches, counts, marker, label=f"to loss {target}")
    fitted = least * (1 + critical / curve)
    left.plot(curve, fitted, color=line.get_color())
    left.axvline(critical, color=line.get_color(), linestyle=":")
    right.plot(counts, counts * batches, marker, label=f"to loss {target}")
    right.plot(fitted, fitted * curve, color=line.get_color())
perfect = steps[1, 0] * batches[0] / np.array(batches)
left.plot(batches, perfect, color="gray", linestyle="--", label="perfect scaling")
left.set(xscale="log", yscale="log", xlabel="batch (dotted: critical)", ylabel="steps")
right.set(xscale="log", yscale="log", xlabel="steps: time", ylabel="rows: cost")
ticks = [20, 50, 100, 200, 500]
left.set_xticks(batches[::2], batches[::2])
left.set_yticks(ticks, ticks)
right.set_xticks(ticks, ticks)
right.set_yticks([1000, 3000, 10000, 30000], ["1,000", "3,000", "10,000", "30,000"])
for axes in (left, right):
    axes.minorticks_off()
    axes.legend()
plt.close(figure)
bends = " and ".join(f"{critical:.0f}" for _, critical in fits)
alt = (
    "Left, steps against the batch from 4 to 1024: they fall like perfect scaling, bend "
    f"at {bends}, and become flat. Right, rows against steps: fewer steps cost ever more."
)
display(figure, metadata={"image/png": {"alt": alt}})

# %% [markdown]
# ## What it means for devices
#
# Say that a device is busy with 16 rows. More devices at 16 rows each:

# %%
for index, batch in enumerate(batches):
    if batch >= 16:
        devices, fewer = batch // 16, steps[1, batches.index(16)] / steps[1, index]
        share = f"{fewer / devices:.0%} of perfect"
        print(f"devices {devices:>2}, batch {batch:>4}: {fewer:4.2f} times fewer steps, {share}")

# %% [markdown]
# ## Guess it without many runs
#
# The same paper predicts the critical batch size from the gradients alone: how much they differ from row to row, against
# how long their mean is. With a gradient for each row, that is the sum of the variances over the weights, divided by the
# squared length of the mean. It is called the *simple noise scale*.


# %%
@tf.function
def noise_scale(weights):
    """Return the simple noise scale of one run, from the gradients of all rows."""

    def of_row(row):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            loss = losses(weights, row[0][None, None], row[1][None, None])
        parts = tape.gradient(loss, weights)
        return tf.concat([tf.reshape(part, [-1]) for part in parts], axis=0)

    gradients = tf.vectorized_map(of_row, (x, y))
    mean = tf.reduce_mean(gradients, axis=0)
    return tf.reduce_sum(tf.math.reduce_variance(gradients, axis=0)) / tf.reduce_sum(mean**2)


@tf.function
def train(weights, batch: int, rate: float, count: int):
    """Train one run; return its weights."""
    first, last = weights
    for step in tf.range(count):
        drawn = tf.random.stateless_uniform([1, batch], (9, step), maxval=ROWS, dtype=tf.int32)
        with tf.GradientTape() as tape:
            tape.watch([first, last])
            loss = losses([first, last], tf.gather(x, drawn), tf.gather(y, drawn))
        of_first, of_last = tape.gradient(loss, [first, last])
        first, last = first - rate * of_first, last - rate * of_last
    return [first, last]


weights = [part[:1, :1] for part in initial()]
for _ in range(6):
    loss = losses(weights, x[None], y[None]).numpy().item()
    print(f"loss {loss:5.2f}: noise scale {noise_scale(weights).numpy():6.1f}")
    weights = train(weights, 64, 1.0, 40)

# %% [markdown]
# ## What to read from it
#
# * **Below the critical batch size devices buy time; above it they buy less and less.** By the formula, training at that batch needs
#   twice the least steps and twice the least rows (the lines under the fit say what was measured): no number of devices can more than halve the steps. [Shallue and others (2019)](https://arxiv.org/abs/1811.03600) found the same three
#   regions, perfect scaling, less and less, and none, in all models and data sets that they tried, at very different
#   batches.
# * **It grows while the loss falls.** The lower loss has the larger critical batch size, and the noise scale rises during
#   training: the mean gradient shrinks faster than the differences between rows. So a batch that is too large at the start can
#   be right later.
# * **The noise scale is a guess of the order of magnitude.** It looks at one moment, the critical batch size at a whole run.
#   With several replicas it costs nothing more: the gradients before and after the all-reduce are those of a small and of a
#   large batch, from which the paper's appendix estimates it.
# * **Steps are not seconds.** Multiply by the time of a step, which [grows with the devices](../parallelism/scaling-efficiency.md)
#   too. And a step with too few rows [leaves a device idle](mirrored-scaling.ipynb).
# * **The numbers are those of this small network**, with plain SGD and the loss on the rows that it trains with. Look for
#   yours: train to a loss that you care about, with two batches and the best rate of each.
