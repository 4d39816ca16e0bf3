# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""Early stopping, schedules and averaged weights on several replicas: with callbacks of `fit`, and in a loop."""

import contextlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
many = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()
BATCH, EPOCHS, RATE, STEPS = 8 * len(devices), 6, 0.1, 4
random = np.random.default_rng(0)
x = random.normal(size=(2 * STEPS * BATCH, 12)).astype("float32")
y = (x[:, :1] + 0.8 * random.normal(size=(len(x), 1))).astype("float32")
half = STEPS * BATCH
rows = tf.data.Dataset.from_tensor_slices((x[:half], y[:half])).batch(BATCH)
others = tf.data.Dataset.from_tensor_slices((x[half:], y[half:])).batch(BATCH)


def build(strategy):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        layers = [keras.layers.Dense(32, "tanh"), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((12,)), *layers])
        optimizer = keras.optimizers.SGD(RATE, use_ema=True, ema_momentum=0.9)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, "mse")
    return model


def equal(some, others):
    return len(some) == len(others) and all(
        np.allclose(a, b, atol=1e-4) for a, b in zip(some, others, strict=True)
    )


# --8<-- [end:setup]


# --8<-- [start:fit]
def stop():
    return [
        keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(factor=0.5, patience=1),
    ]


def average():
    return [
        keras.callbacks.LearningRateScheduler(lambda epoch: RATE * 0.5**epoch),
        keras.callbacks.SwapEMAWeights(),  # evaluate the averages
    ]


def fit(strategy, callbacks):
    """Return the weights, the loss of validation and the rate of each epoch."""
    model = build(strategy)
    history = model.fit(
        rows,
        validation_data=others,
        epochs=EPOCHS,
        callbacks=callbacks,
        verbose=0,
    ).history
    return model.get_weights(), history["val_loss"], history["learning_rate"]


found = {}
for callbacks in (stop, average):
    alone, together = fit(one, callbacks()), fit(many, callbacks())
    same = all(equal(*pair) for pair in zip(alone, together, strict=True))
    found[callbacks] = same, together
    rates = len({*together[2]})
    print(f"{callbacks.__name__}: {len(together[1])} epochs, {rates} rates")
    print("  weights, losses and rates of one device:", same)
# --8<-- [end:fit]


# --8<-- [start:together]
def stopped_early(swap_on_epoch, restore):
    """Return the best and last loss of validation in `fit`, and that of the weights after it."""
    model = build(one)
    callbacks = [
        keras.callbacks.SwapEMAWeights(swap_on_epoch),  # before the other
        keras.callbacks.EarlyStopping(patience=2, restore_best_weights=restore),
    ]
    losses = model.fit(
        rows, validation_data=others, epochs=20, callbacks=callbacks, verbose=0
    ).history["val_loss"]
    return min(losses), losses[-1], model.evaluate(others, verbose=0)


ends = {
    case: stopped_early(*case) for case in ((False, True), (True, True), (True, False))
}
for (swap, restore), (best, last, after) in ends.items():
    print(f"swap_on_epoch={swap}, restore_best_weights={restore}:")
    print(f"  best {best:.3f}, last {last:.3f}, after fit {after:.3f}")
# --8<-- [end:together]


# --8<-- [start:order]
def interrupt(epoch, logs):
    if epoch == 3:
        raise KeyboardInterrupt


def averages_of(*callbacks):
    """Return the weights after `fit`, or none if it was interrupted."""
    model = build(one)
    with contextlib.suppress(KeyboardInterrupt):
        model.fit(rows, epochs=EPOCHS, callbacks=callbacks, verbose=0)
        return model.get_weights()


def restarted(backup_first):
    """Interrupt a training with both callbacks in this order, and go on; return the weights."""
    with tempfile.TemporaryDirectory() as folder:
        for cut in ([keras.callbacks.LambdaCallback(on_epoch_begin=interrupt)], []):
            pair = [
                keras.callbacks.BackupAndRestore(folder),
                keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
            ]
            weights = averages_of(*(pair if backup_first else pair[::-1]), *cut)
    return weights


unbroken = averages_of(keras.callbacks.SwapEMAWeights(swap_on_epoch=True))
in_order = {first: equal(restarted(first), unbroken) for first in (True, False)}
print("BackupAndRestore first, restarted: weights of one run:", in_order[True])
print("SwapEMAWeights first, restarted: weights of one run:", in_order[False])
# --8<-- [end:order]


# --8<-- [start:again]
def epochs_of(*callbacks):
    """Train what never improves, until a patience of 3; return the epochs done."""
    model = build(many)
    model.optimizer.learning_rate = 0.0
    done = []

    def note(epoch, logs):
        done.append(epoch)

    callbacks = [
        keras.callbacks.EarlyStopping(patience=3, min_delta=1e-3),
        keras.callbacks.LambdaCallback(on_epoch_end=note),
        *callbacks,
    ]
    with contextlib.suppress(KeyboardInterrupt):
        model.fit(
            rows, validation_data=others, epochs=20, callbacks=callbacks, verbose=0
        )
    return done


undisturbed = epochs_of()
with tempfile.TemporaryDirectory() as folder:
    backup = keras.callbacks.BackupAndRestore(folder)
    begun = epochs_of(backup, keras.callbacks.LambdaCallback(on_epoch_begin=interrupt))
    after_restart = epochs_of(keras.callbacks.BackupAndRestore(folder))
print("never improves, patience 3: epochs", *undisturbed)
print("stopped after epoch", begun[-1], "and restarted: epochs", *after_restart)
# --8<-- [end:again]


# --8<-- [start:best]
def best_file(path, rate, **options):
    """Train at this rate, and return the loss of validation of the weights in the file."""
    model = build(one)
    model.optimizer.learning_rate = rate
    keep = keras.callbacks.ModelCheckpoint(
        path, save_best_only=True, save_weights_only=True, **options
    )
    model.fit(rows, validation_data=others, epochs=2, callbacks=[keep], verbose=0)
    model.load_weights(path)
    return model.evaluate(others, verbose=0)


with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/best.weights.h5"
    best = best_file(path, RATE)
    # A second start that is worse: it does not learn.
    guarded = best_file(path, 0.0, initial_value_threshold=best)
    replaced = best_file(path, 0.0)
print(f"in the file after the first start: {best:.3f}")
print(
    f"after a worse start, with the threshold: {guarded:.3f}, without: {replaced:.3f}"
)
# --8<-- [end:best]

# --8<-- [start:loop]
model = build(many)
optimizer = model.optimizer


@tf.function
def step(batch):
    def on_replica(features, labels):
        with tf.GradientTape() as tape:
            outputs = model(features, training=True)
            losses = keras.losses.mean_squared_error(labels, outputs)
            loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)  # and the averages

    many.run(on_replica, args=batch)


for epoch in range(EPOCHS):
    optimizer.learning_rate = RATE * 0.5**epoch  # assigns: no new trace
    for batch in many.experimental_distribute_dataset(rows):
        step(batch)
raw = model.get_weights()
# This overwrites the weights: do it at the end, or save a checkpoint first.
with many.scope():
    optimizer.finalize_variable_values(model.trainable_variables)
averages = model.get_weights()
traces = step.experimental_get_tracing_count()
print("traces:", traces, "- averages of `fit`:", equal(averages, found[average][1][0]))
# --8<-- [end:loop]

(stops_alike, stopped), (averages_alike, fitted) = found.values()
without, swapped, lost = ends.values()
claims = {
    "early_stopping_stops_as_on_one_device": stops_alike and len(stopped[1]) < EPOCHS,
    "plateau_lowers_the_rate": stops_alike and len({*stopped[2]}) > 1,
    "schedule_and_averages_as_on_one_device": averages_alike
    and len({*fitted[2]}) == EPOCHS,
    "early_stopping_forgets_at_a_restart": undisturbed == [0, 1, 2, 3]
    and begun == [0, 1, 2]
    and after_restart == [3, 4, 5, 6],
    "a_worse_start_replaces_the_best_file": replaced > 1.05 * best,
    "with_a_threshold_the_best_file_stays": bool(np.isclose(guarded, best, rtol=1e-4)),
    "restored_weights_are_not_the_averages": without[-1] > 1.05 * without[0],
    "with_swap_on_epoch_they_are": bool(np.isclose(swapped[0], swapped[-1], rtol=1e-4)),
    "a_stop_without_restoring_leaves_the_averages": bool(
        np.isclose(lost[1], lost[-1], rtol=1e-2)
    ),
    "a_stop_without_restoring_leaves_the_weights": lost[-1] > 1.05 * lost[1],
    "a_backup_before_the_swap_goes_on": in_order[True],
    "a_backup_after_the_swap_goes_on": in_order[False],
    "loop_gives_the_averages_of_fit": equal(averages, fitted[0]),
    "averages_are_not_the_weights": not equal(averages, raw),
    "a_new_rate_needs_a_new_trace": traces > 1,
}
measures = {"epochs": EPOCHS, "stopped_after": len(stopped[1])}
