# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""The batch and the rate grow eightfold and the loss becomes NaN: find the step, the operation, and what helps."""

import contextlib
import re
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
RATE, SMALL, FACTOR, EPOCHS = 0.01, 16, 8, 6
SMALL -= SMALL % strategy.num_replicas_in_sync
LARGE = FACTOR * SMALL
LARGE -= LARGE % strategy.num_replicas_in_sync
STEPS = 1024 // LARGE  # in an epoch with the large batch
random = np.random.default_rng(0)
x = random.normal(size=(1024, 16)).astype("float32")
y = 3 * x @ random.normal(size=(16, 1)).astype("float32")


def build(optimizer):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        layers = [keras.layers.Dense(64, "relu") for _ in range(3)]
        model = keras.Sequential([keras.Input((16,)), *layers, keras.layers.Dense(1)])
        model.compile(optimizer(), "mse")
    return model


def fit(model, batch, *callbacks):
    rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1024, seed=1)
    rows = rows.batch(batch, drop_remainder=True)
    fitted = model.fit(rows, epochs=EPOCHS, callbacks=list(callbacks), verbose=0)
    return fitted.history["loss"][-1]


def finite(model):
    return all(np.isfinite(weights).all() for weights in model.get_weights())


# --8<-- [end:setup]


# --8<-- [start:stop]
def scaled():
    return keras.optimizers.SGD(FACTOR * RATE)


unwatched, watched = build(scaled), build(scaled)
loss = fit(unwatched, LARGE)
print("loss:", loss, "weights finite:", finite(unwatched))
fit(watched, LARGE, keras.callbacks.TerminateOnNaN())
all_steps, steps = (int(m.optimizer.iterations.numpy()) for m in (unwatched, watched))
print("TerminateOnNaN stops before the end:", steps < all_steps)
print("the weights are finite then:", finite(watched))
# --8<-- [end:stop]

# --8<-- [start:backup]
cases = {  # arguments of TerminateOnNaN and of BackupAndRestore
    "defaults": ({}, {}),
    "delete_checkpoint=False": ({}, {"delete_checkpoint": False}),
    "raise_error=True": ({"raise_error": True}, {}),
}
held = {}
with tempfile.TemporaryDirectory() as top:
    for case, (terminate, backup) in cases.items():
        model = build(lambda: keras.optimizers.SGD(RATE))
        callbacks = [
            keras.callbacks.LearningRateScheduler(
                lambda epoch: FACTOR * RATE if epoch else RATE
            ),
            keras.callbacks.TerminateOnNaN(**terminate),
            keras.callbacks.BackupAndRestore(f"{top}/{case}", **backup),
        ]
        with contextlib.suppress(RuntimeError):
            fit(model, LARGE, *callbacks)
        held[case] = "no backup"
        for file in Path(top, case).glob("*.weights.h5"):
            model.load_weights(file)
            held[case] = "finite weights" if finite(model) else "NaN"
        print(f"{case}: {held[case]}")

    # The folder of the last case: go on from there, at half the rate of its epoch.
    lowered = build(lambda: keras.optimizers.SGD(RATE / 2))
    rates = []

    def lower(logs):
        rates.append(float(lowered.optimizer.learning_rate.numpy()))
        lowered.optimizer.learning_rate = RATE / 2

    after = fit(
        lowered,
        LARGE,
        keras.callbacks.BackupAndRestore(f"{top}/{case}"),
        keras.callbacks.LambdaCallback(on_train_begin=lower),  # after the other
    )
came_back, ended = rates[0], float(lowered.optimizer.learning_rate.numpy())
print(f"compiled with {RATE / 2}, restored {came_back:.3g}, ends with {ended:.3g}")
# --8<-- [end:backup]


# --8<-- [start:rates]
def restored(old, new):
    """Save the optimizer `old`, restore `new` from it; return the rate of `new`."""
    for optimizer in old, new:
        optimizer.build([keras.Variable([0.0])])
    old.iterations.assign(STEPS)
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(optimizer=old).write(f"{folder}/old")
        try:
            tf.train.Checkpoint(optimizer=new).read(path)
        except ValueError as error:
            return type(error).__name__
    return round(float(new.learning_rate.numpy()), 6)


def halving(rate):
    return keras.optimizers.schedules.ExponentialDecay(rate, STEPS, 0.5)


Adam = keras.optimizers.Adam
rate_again = restored(Adam(0.08), Adam(0.02))
schedule_again = restored(Adam(halving(0.08)), Adam(halving(0.02)))
changed = restored(Adam(0.08), Adam(halving(0.02)))
print("saved 0.08, compiled 0.02:", rate_again)
print("both of them schedules, halved by then:", schedule_again)
print("a schedule in place of a rate:", changed)
# --8<-- [end:rates]


# --8<-- [start:refused]
def cosine():
    return keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(RATE, 10**6))


on_a_schedule = build(cosine)
reduce = keras.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=1000.0)
each_epoch = keras.callbacks.LearningRateScheduler(lambda epoch: RATE / 2)
refused = {}
for callback in (reduce, each_epoch):
    try:
        fit(on_a_schedule, LARGE, callback)
    except TypeError as error:
        refused[type(callback).__name__] = f"TypeError: {error}"
try:
    on_a_schedule.optimizer.learning_rate = RATE / 2
except TypeError as error:
    refused["an assignment"] = f"TypeError: {error}"
print("raise the same error:", ", ".join(refused))
on_a_schedule.optimizer.learning_rate = halving(RATE)
last_on_schedule = fit(on_a_schedule, LARGE)
print("another schedule is taken:", bool(np.isfinite(last_on_schedule)))
# --8<-- [end:refused]

# --8<-- [start:numerics]
tf.debugging.enable_check_numerics()  # before the model is traced
try:
    fit(build(scaled), LARGE)
    found = "no error"
except tf.errors.InvalidArgumentError as error:
    found = re.search(r"!!! Detected Infinity or NaN.* op", error.message).group()
    print(type(error).__name__, found)
tf.debugging.disable_check_numerics()  # it slows every operation
# --8<-- [end:numerics]


# --8<-- [start:cures]
def warm_up(top):
    """Raise the rate for three epochs; after that it hardly falls."""
    schedule = keras.optimizers.schedules.CosineDecay
    rate = schedule(RATE, 10**6, warmup_target=top, warmup_steps=3 * STEPS)
    return keras.optimizers.SGD(rate)


runs = {
    f"batch {SMALL}, SGD": (SMALL, lambda: keras.optimizers.SGD(RATE)),
    f"batch {LARGE}, SGD, {FACTOR} times the rate": (LARGE, scaled),
    "  the same after a warm-up": (LARGE, lambda: warm_up(FACTOR * RATE)),
    "  the old rate": (LARGE, lambda: keras.optimizers.SGD(RATE)),
    "  Adam, the root of 8 times 0.001": (
        LARGE,
        lambda: keras.optimizers.Adam(FACTOR**0.5 * 0.001),
    ),
}
first = float(np.mean(y**2))  # the loss of a model that answers 0
trains = {}
for name, (batch, optimizer) in runs.items():
    model = build(optimizer)
    last = fit(model, batch)
    trains[name] = finite(model) and last < 0.2 * first
    print(f"{name:35}", "trains" if trains[name] else f"loss {last}")
# --8<-- [end:cures]

small, direct, warmed, slow, adam = trains.values()
claims = {
    "the_old_batch_trains": small,
    "the_scaled_rate_is_nan": bool(np.isnan(loss)) and not finite(unwatched),
    "without_a_watch_it_trains_on": all_steps == EPOCHS * STEPS,
    "terminate_on_nan_stops_early": steps < all_steps,
    "weights_are_finite_when_it_stops": finite(watched),
    "it_deletes_the_backup": held["defaults"] == "no backup",
    "it_saves_the_nan_weights": held["delete_checkpoint=False"] == "NaN",
    "raising_keeps_a_finite_backup": held["raise_error=True"] == "finite weights",
    "the_old_rate_comes_back": bool(np.allclose([came_back, rate_again], [RATE, 0.08])),
    "a_rate_assigned_afterwards_stays": bool(np.isclose(ended, RATE / 2))
    and finite(lowered)
    and after < first,
    "a_new_schedule_counts_on": schedule_again == 0.01,
    "a_schedule_in_place_of_a_rate_raises": changed == "ValueError",
    "a_rate_in_place_of_a_schedule_is_refused": len(refused) == 3
    and len(set(refused.values())) == 1,
    "another_schedule_is_taken": bool(np.isfinite(last_on_schedule)),
    "check_numerics_raises": found != "no error",
    "warm_up_is_enough": warmed,
    "the_old_rate_trains": slow,
    "adam_with_the_square_root_trains": adam,
}
errors = {
    "numerics": f"InvalidArgumentError: ... {found}",
    "refused": refused["an assignment"],
}
