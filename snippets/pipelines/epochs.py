# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Where `repeat` stands decides where an epoch ends, and what becomes of the short last batch."""

import warnings

import keras
import tensorflow as tf

# --8<-- [start:repeat]
ROWS = 100
rows = tf.data.Dataset.range(ROWS)
pipelines = {
    "shuffle, then repeat": rows.shuffle(ROWS, seed=1).repeat(2),
    "repeat, then shuffle": rows.repeat(2).shuffle(ROWS, seed=1),
}
missing = {}
for name, data in pipelines.items():
    first_epoch = {int(n) for n in data.take(ROWS)}
    missing[name] = ROWS - len(first_epoch)
    print(f"{name}: of the first {ROWS} elements, rows missing: {missing[name]}")
# --8<-- [end:repeat]

# --8<-- [start:sizes]
few = tf.data.Dataset.range(10)


def sizes(data):
    """Return how many rows each batch has."""
    return [len(batch) for batch in data.as_numpy_iterator()]


batch_repeat = sizes(few.batch(4).repeat(2))
repeat_batch = sizes(few.repeat(2).batch(4))
dropped = sizes(few.batch(4, drop_remainder=True).repeat(2))
print("batch(4).repeat(2):                     ", batch_repeat)
print("repeat(2).batch(4):                     ", repeat_batch)
print("batch(4, drop_remainder=True).repeat(2):", dropped)
# --8<-- [end:sizes]

# --8<-- [start:mean]
loss_of_each_row = tf.data.Dataset.from_tensor_slices([1.0] * 8 + [6.0] * 2)
of_batches = [float(tf.reduce_mean(batch)) for batch in loss_of_each_row.batch(4)]
of_rows = [float(loss) for loss in loss_of_each_row]
mean_of_means, mean = sum(of_batches) / len(of_batches), sum(of_rows) / len(of_rows)
print(f"mean of the batches' means: {mean_of_means:.2f}; mean of the rows: {mean:.2f}")
# --8<-- [end:mean]

# --8<-- [start:shape]
print("batch(4):", few.batch(4).element_spec.shape)
print("drop_remainder=True:", few.batch(4, drop_remainder=True).element_spec.shape)
kept = few.shuffle(10, seed=1).batch(4, drop_remainder=True)
left_out = [
    sorted(set(range(10)) - {int(n) for batch in kept for n in batch}) for _ in range(3)
]
print("rows left out in three epochs:", *left_out)
# --8<-- [end:shape]


# --8<-- [start:fit]
class Steps(keras.callbacks.Callback):
    """Count the steps of each epoch; stop where an epoch takes 50, or it would never end."""

    def on_train_begin(self, logs=None):
        self.counts = []

    def on_epoch_begin(self, epoch, logs=None):
        self.counts.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.counts[-1] += 1
        if self.counts[-1] == 50:
            self.model.stop_training = True


def fit(data, steps_per_epoch):
    """Train for four epochs; return the steps and the loss of each, and what was warned of."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    steps = Steps()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        history = model.fit(
            data,
            epochs=4,
            steps_per_epoch=steps_per_epoch,
            callbacks=[steps],
            verbose=0,
        )
    warned = any("Your input ran out of data" in str(w.message) for w in caught)
    return steps.counts, history.history["loss"], warned


known = tf.data.Dataset.from_tensor_slices(([[1.0]] * 16, [[2.0]] * 16)).batch(4)
unknown = known.filter(lambda x, y: True)  # four batches too, but nobody knows that
cases = {
    "unknown length, steps_per_epoch=2": (unknown, 2),
    "unknown length, steps_per_epoch=4": (unknown, 4),
    "unknown length, steps_per_epoch=5": (unknown, 5),
    "known length, steps_per_epoch=4": (known, 4),
    "known length, steps_per_epoch=3": (known, 3),
    "repeat(), steps_per_epoch=3": (known.repeat(), 3),
    "repeat() alone": (known.repeat(), None),
}
fits = {name: fit(*case) for name, case in cases.items()}
for name, (counts, losses, warned) in fits.items():
    print(f"{name}: steps {counts}, a loss of 0: {0.0 in losses}, warns: {warned}")
# --8<-- [end:fit]

claims = {
    "shuffle_repeat_gives_whole_epochs": missing["shuffle, then repeat"] == 0,
    "repeat_shuffle_gives_whole_epochs": missing["repeat, then shuffle"] == 0,
    "repeat_shuffle_loses_rows": sorted(
        int(n) for n in pipelines["repeat, then shuffle"]
    )
    != sorted([*range(ROWS)] * 2),
    "every_epoch_ends_short": batch_repeat == [4, 4, 2, 4, 4, 2],
    "batches_cross_epochs": repeat_batch == [4, 4, 4, 4, 4],
    "drop_remainder_loses_rows": sum(dropped) < 20,
    "drop_remainder_pads": sum(dropped) == 24,
    "mean_of_means_is_the_mean": abs(mean_of_means - mean) < 1e-6,
    "static_shape_with_drop_remainder": few.batch(
        4, drop_remainder=True
    ).element_spec.shape[0]
    == 4,
    "static_shape_without": few.batch(4).element_spec.shape[0] == 4,
    "fit_trains_on_nothing_in_every_second_epoch": fits[
        "unknown length, steps_per_epoch=4"
    ][0]
    == [4, 0, 4, 0]
    and [loss == 0 for loss in fits["unknown length, steps_per_epoch=4"][1]]
    == [False, True] * 2,
    "fit_trains_on_nothing_after_the_last_batch": fits[
        "unknown length, steps_per_epoch=2"
    ][0]
    == [2, 2, 0, 2],
    "fit_cuts_too_long_epochs_short": fits["unknown length, steps_per_epoch=5"][0]
    == [4] * 4,
    "fit_starts_a_known_length_again": fits["known length, steps_per_epoch=4"][0]
    == [4] * 4,
    "fit_cuts_every_second_epoch_short": fits["known length, steps_per_epoch=3"][0]
    == [3, 1, 3, 1],
    "fit_with_repeat_has_whole_epochs": fits["repeat(), steps_per_epoch=3"][0]
    == [3] * 4,
    "fit_ends_the_first_epoch_of_endless_data": fits["repeat() alone"][0] != [50],
    "other_rows_left_out_each_epoch": len({tuple(rows) for rows in left_out}) > 1,
}
measures = {
    "rows": ROWS,
    "missing": missing["repeat, then shuffle"],
    "mean_of_means": mean_of_means,
    "mean": mean,
}
