# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 180
# env = { TF_CPP_MIN_LOG_LEVEL = "1" }
# ///
"""What becomes of a declared length under a strategy: a right one, one that is too large, and what the log says."""

# --8<-- [start:cases]
import os
import tempfile
import warnings
from pathlib import Path

import keras
import tensorflow as tf

ROWS, BATCH, EPOCHS = 40, 8, 6
STEPS = ROWS // BATCH
RAN_OUT = "Your input ran out of data"
Policy = tf.data.experimental.AutoShardPolicy
folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.txt")
path.write_text("1\n" * ROWS)


def parse(lines):
    """Return inputs of 0 and targets of 1: each row has the loss 1 and the gradient 0."""
    y = tf.strings.to_number(lines)[:, None]
    return 0 * y, y


def read(length, policy):
    """Return the batches of a file, with a declared length."""
    data = tf.data.TextLineDataset(str(path)).batch(BATCH, drop_remainder=True)
    data = data.map(parse).apply(tf.data.experimental.assert_cardinality(length))
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return data.with_options(options)


def fit(strategy, data):
    """Train; return the least loss of an epoch, whether data ran out, and the error."""
    with strategy.scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            loss = min(model.fit(data, epochs=EPOCHS, verbose=0).history["loss"])
            error = None
        except tf.errors.FailedPreconditionError as raised:
            loss, error = None, type(raised).__name__
    return loss, any(RAN_OUT in str(one.message) for one in said), error


# --8<-- [end:cases]

# --8<-- [start:log]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
one, all_of_them = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(devices)
cases = {
    "one device, right": (one, STEPS, Policy.AUTO),
    "one device, too large": (one, STEPS + 2, Policy.AUTO),
    "MirroredStrategy, AUTO, right": (all_of_them, STEPS, Policy.AUTO),
    "MirroredStrategy, AUTO, too large": (all_of_them, STEPS + 2, Policy.AUTO),
    "MirroredStrategy, DATA, too large": (all_of_them, STEPS + 2, Policy.DATA),
}
found, logs, log = {}, {}, Path(folder.name, "log")
for name, (strategy, length, policy) in cases.items():
    usual = os.dup(2)  # TensorFlow writes its log to this file descriptor
    with open(log, "wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        found[name] = fit(strategy, read(length, policy))
    finally:
        os.dup2(usual, 2)
        os.close(usual)
    lines = [line.partition("] ")[2] for line in log.read_text().splitlines()]
    logs[name] = [line for line in lines if "assert_cardinality" in line]
    loss, ran_out, error = found[name]
    outcome = error or f"loss {'right' if loss > 0.99 else 'too small'}"
    print(f"{name}: {outcome}, ran out of data: {ran_out}", end=", ")
    print("check dropped:", bool(logs[name]))
# --8<-- [end:log]
folder.cleanup()

DROPPED, KEPT = "MirroredStrategy, AUTO, ", "MirroredStrategy, DATA, "
said = logs[DROPPED + "too large"] or logs[DROPPED + "right"]
claims = {
    "one_device_raises": found["one device, too large"][2] is not None,
    "a_right_length_cures_under_a_strategy": (found[DROPPED + "right"][0] or 0) > 0.99
    and not found[DROPPED + "right"][1],
    "a_strategy_drops_the_check": found[DROPPED + "too large"][2] is None
    and found[DROPPED + "too large"][1],
    "the_extra_step_is_back": (found[DROPPED + "too large"][0] or 1) < 0.99,
    "the_log_says_so": bool(said),
    "the_line_comes_with_a_right_length_too": bool(logs[DROPPED + "right"]),
    "data_keeps_the_check": found[KEPT + "too large"][2] is not None
    and not logs[KEPT + "too large"],
}
errors = {"check_dropped": said[0]} if said else {}
