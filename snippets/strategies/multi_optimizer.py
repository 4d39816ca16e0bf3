# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""A head that learns faster than its base, in `fit`: one optimizer that hands the variables out to two."""

import tempfile

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:fit]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
many = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()
BATCH = 8 * len(devices)
random = np.random.default_rng(0)
x = random.normal(size=(6 * BATCH, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)


def train(strategy, base_rate=0.0001, head_rate=0.01, pattern="head/.*"):
    """Train one epoch; return the model, its first and last weights, and who had any."""
    keras.utils.set_random_seed(0)
    with strategy.scope():
        inputs = keras.Input((8,))
        hidden = keras.layers.Dense(16, "tanh", name="base")(inputs)
        model = keras.Model(inputs, keras.layers.Dense(1, name="head")(hidden))
        slow, fast = keras.optimizers.Adam(base_rate), keras.optimizers.Adam(head_rate)
        which = keras.optimizers.OptimizerMap(slow, {pattern: fast})  # else `slow`
        model.compile(keras.optimizers.MultiOptimizer(which), loss="mse")
    first = model.get_weights()
    model.fit(rows, verbose=0)
    return model, first, model.get_weights(), (slow.built, fast.built)


# --8<-- [end:fit]


# --8<-- [start:compare]
def apart(some, others):
    """Return the largest difference of two lists of weights."""
    return max(float(np.abs(a - b).max()) for a, b in zip(some, others, strict=True))


model, first, last, both_built = train(many)
moved = {"base": apart(first[:2], last[:2]), "head": apart(first[2:], last[2:])}
_, _, unmatched, one_built = train(many, pattern="head")
whole = apart(first[2:], unmatched[2:])
alone = train(one)[2]
print("variables:", [variable.path for variable in model.trainable_variables])
print(f"the base moves {moved['base']:.4f}, the head {moved['head']:.4f}")
print(f"with the key `head` instead of `head/.*` the head moves {whole:.4f}")
print(f"built: {both_built}, with that key: {one_built}")
print("equal to one device:", apart(alone, last) < 1e-5)
# --8<-- [end:compare]


# --8<-- [start:rates]
def rates(*callbacks):
    """Train two more epochs; return the learning rate of each optimizer."""
    again, *_ = train(many)
    again.fit(rows, callbacks=callbacks, epochs=2, verbose=0)
    found = [optimizer.learning_rate for optimizer in again.optimizer.optimizers]
    return sorted(map(float, map(keras.ops.convert_to_numpy, found)))


Scheduler = keras.callbacks.LearningRateScheduler
halved = rates(Scheduler(lambda epoch, rate: rate / 2))
same = rates(Scheduler(lambda epoch: 0.005))
try:
    refused = None
    print(model.optimizer.learning_rate)
except AttributeError as error:
    refused = f"{type(error).__name__}: {error}"
print("halved in each of two epochs:", [f"{rate:.6f}" for rate in halved])
print("a schedule of the epoch alone:", [f"{rate:.6f}" for rate in same])
print(refused)
# --8<-- [end:rates]

# --8<-- [start:float16]
keras.config.set_dtype_policy("mixed_float16")
scaled = train(one)[0]
halves = Scheduler(lambda epoch, rate: rate / 2)
plateau = keras.callbacks.ReduceLROnPlateau("loss")
in_float16 = {}
for callback in (halves, plateau):
    try:
        scaled.fit(rows, callbacks=[callback], verbose=0)
    except (AttributeError, ValueError) as error:
        name = type(callback).__name__
        in_float16[name] = f"{type(error).__name__}: {error}"
        print(name, "raises", type(error).__name__)
# --8<-- [end:float16]


def after_a_restart(with_all):
    """Return the step counts of the two optimizers, after a checkpoint was read."""
    keras.config.set_dtype_policy("float32")
    pair = []
    for model in (train(one)[0], train(one)[0]):
        every = [v.value for v in model.variables + model.optimizer.variables]
        entry = {"every": every} if with_all else {}
        parts = {"model": model, "optimizer": model.optimizer}
        pair.append((model, tf.train.Checkpoint(**parts, **entry)))
    (trained, saved), (fresh, read) = pair
    trained.fit(rows, verbose=0)  # so it has done twice as many steps
    with tempfile.TemporaryDirectory() as folder:
        read.read(saved.write(f"{folder}/one")).assert_consumed()
    return [
        [int(optimizer.iterations) for optimizer in model.optimizer.optimizers]
        for model in (trained, fresh)
    ]


without, with_all = after_a_restart(with_all=False), after_a_restart(with_all=True)
in_a_row = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(1, name="head")], name="model"
)
inner = keras.Model(inputs := keras.Input((8,)), keras.layers.Dense(1)(inputs))
nested = keras.Sequential([keras.Input((8,)), inner], name="outer")

claims = {
    "equal_to_one_device": apart(alone, last) < 1e-5 < moved["base"],
    "each_part_moves_at_its_own_rate": moved["head"] > 10 * moved["base"],
    "a_key_must_match_the_whole_path": whole < 0.1 * moved["head"],
    "an_optimizer_without_variables_is_not_built": both_built == (True, True)
    and one_built == (True, False),
    "a_sequential_puts_its_name_first": in_a_row.weights[0].path == "model/head/kernel",
    "a_nested_functional_model_does_not": not nested.weights[0].path.startswith("outer")
    and inner.name not in nested.weights[0].path,
    "a_checkpoint_misses_the_two": without == [[12, 12], [6, 6]],
    "with_all_variables_it_does_not": with_all == [[12, 12], [12, 12]],
    "a_schedule_reaches_each_at_its_own_rate": np.allclose(halved, [2.5e-5, 2.5e-3]),
    "a_schedule_of_the_epoch_gives_both_one_rate": np.allclose(same, [0.005, 0.005]),
    "it_has_no_learning_rate_of_its_own": "individual sub-optimizers" in str(refused),
    "no_schedule_under_mixed_float16": "attribute"
    in in_float16["LearningRateScheduler"]
    and in_float16["ReduceLROnPlateau"] == refused
    and type(scaled.optimizer.inner_optimizer) is type(model.optimizer),
}
errors = {"learning_rate": refused, "float16": in_float16["LearningRateScheduler"]}
