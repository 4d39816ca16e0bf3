# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""The batch and the rate grow eightfold and the loss becomes NaN: find the step, the operation, and what helps."""

import re

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
RATE, SMALL, FACTOR, EPOCHS = 0.01, 16, 8, 6
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
    "check_numerics_raises": found != "no error",
    "warm_up_is_enough": warmed,
    "the_old_rate_trains": slow,
    "adam_with_the_square_root_trains": adam,
}
errors = {"numerics": f"InvalidArgumentError: ... {found}"}
