# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 1
# seconds = 120
# ///
"""What `gradient_accumulation_steps` counts, beside NumPy: a schedule, an average, the end of an epoch."""

# --8<-- [start:setup]
import keras
import numpy as np

EVERY, BATCH, RATE = 4, 8, 0.1
rng = np.random.default_rng(0)
x = rng.normal(size=(16 * BATCH, 4)).astype("float32")
y = x @ np.array([[1.0], [2.0], [3.0], [4.0]], "float32")
schedule = keras.optimizers.schedules.PolynomialDecay(RATE, 16, 0.0)


def train(batches, rate=RATE, batch=BATCH, epochs=1, extra=0, **options):
    """Train on so many small batches, and `extra` rows; return weights and optimizer."""
    start = {"kernel_initializer": "zeros", "use_bias": False}
    layers = [keras.Input((4,)), keras.layers.Dense(1, **start)]
    model, optimizer = keras.Sequential(layers), keras.optimizers.SGD(rate, **options)
    model.compile(optimizer, "mse")
    rows = slice(batches * BATCH + extra)
    model.fit(x[rows], y[rows], batch, epochs, shuffle=False, verbose=0)
    return model.get_weights()[0], optimizer


def by_hand(groups, rate=lambda update: RATE):
    """NumPy: one update for each group of small batches; return all weights."""
    weights = [np.zeros((4, 1))]
    for update, group in enumerate(groups):
        rows = np.concatenate([np.arange(b * BATCH, (b + 1) * BATCH) for b in group])
        error = x[rows] @ weights[-1] - y[rows]
        gradient = 2 * x[rows].T @ error / len(rows)
        weights.append(weights[-1] - rate(update) * gradient)
    return weights


def equal(some, others):
    return bool(np.allclose(some, others, atol=1e-4))


option = {"gradient_accumulation_steps": EVERY}
fours = np.arange(16).reshape(-1, EVERY)  # batches 0 to 3, 4 to 7, ...
# --8<-- [end:setup]

# --8<-- [start:schedule]
falling, accumulated = train(16, schedule, **option)
large, applied_once = train(16, schedule, batch=EVERY * BATCH)
counts = int(accumulated.iterations), int(applied_once.iterations)
rates = [float(o.learning_rate) for o in (accumulated, applied_once)]
small = by_hand(fours, lambda update: RATE * (1 - (EVERY * update + 3) / 16))
updates = by_hand(fours, lambda update: RATE * (1 - update / 16))
print(f"16 small batches: {counts[0]} iterations, the rate is {rates[0]:.3f}")
print("  the schedule counts small batches:", equal(falling, small[-1]))
print(f"4 large batches: {counts[1]} iterations, the rate is {rates[1]:.3f}")
print("  the schedule counts updates:", equal(large, updates[-1]))
# --8<-- [end:schedule]


# --8<-- [start:average]
def average(held):
    """Average these weights one after the other, with momentum 0.5."""
    mean = held[0]
    for weights in held[1:]:
        mean = 0.5 * mean + 0.5 * weights
    return mean


ema = {"use_ema": True, "ema_momentum": 0.5}
# After `fit` the weights are the averages.
averaged, _ = train(16, **option, **ema)
averaged_large, _ = train(16, batch=EVERY * BATCH, **ema)
_, *held = by_hand(fours)  # the weights after each update
each_batch = [weights for weights in held[:-1] for _ in range(EVERY)] + held[-1:]
print("16 small batches: an average of updates:", equal(averaged, average(held)))
print("  an average of small batches:", equal(averaged, average(each_batch)))
print("4 large batches: of updates:", equal(averaged_large, average(held)))
# --8<-- [end:average]

# --8<-- [start:remainder]
epochs = 4
carried, optimizer = train(7, epochs=epochs, **option)
order = np.tile(np.arange(7), epochs).reshape(-1, EVERY)  # 0 to 3, 4 5 6 0, ...
each_alone = [group for _ in range(epochs) for group in (range(4), range(4, 7))]
print("7 small batches, 4 epochs: updates", int(optimizer.iterations))
print("  groups run across epochs:", equal(carried, by_hand(order)[-1]))
print("  each epoch by itself:", equal(carried, by_hand(each_alone)[-1]))
lost, _ = train(7, **option)
print("1 epoch: the last 3 change nothing:", equal(lost, by_hand([range(4)])[-1]))
# --8<-- [end:remainder]


# --8<-- [start:short]
def first_gradient(rows):
    """Return the gradient at weights of zero, the mean over these rows."""
    return -2 * x[rows].T @ y[rows] / len(rows)


short, _ = train(3, extra=1, **option)  # three batches and one row: one update
rows = np.arange(3 * BATCH + 1)
parts = np.split(rows, [BATCH, 2 * BATCH, 3 * BATCH])
batches_count = equal(short, -RATE * np.mean([first_gradient(p) for p in parts], 0))
rows_count = equal(short, -RATE * first_gradient(rows))
print("3 batches and a row: each batch counts the same:", batches_count)
print("  each row counts the same:", rows_count)
# --8<-- [end:short]

claims = {
    "schedule_counts_small_batches": equal(falling, small[-1])
    and not equal(falling, updates[-1])
    and abs(rates[0]) < 1e-6,
    "iterations_counts_updates": counts == (4, 4),
    "applied_once_the_schedule_counts_updates": equal(large, updates[-1])
    and abs(rates[1] - 0.75 * RATE) < 1e-6,
    "use_ema_averages_small_batches": equal(averaged, average(each_batch))
    and not equal(averaged, average(held)),
    "on_large_batches_it_averages_updates": equal(averaged_large, average(held)),
    "a_part_group_is_carried_on": equal(carried, by_hand(order)[-1])
    and not equal(carried, by_hand(each_alone)[-1]),
    "a_short_batch_counts_as_a_batch": batches_count and not rows_count,
    "the_last_part_group_is_lost": equal(lost, by_hand([range(4)])[-1]),
}
