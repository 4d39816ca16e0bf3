# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
# ///
"""Save checkpoints in the background: Keras 3's variables fail at the second save, those inside them do not."""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
random = np.random.default_rng(0)
x, y = random.normal(size=(64, 8)), random.normal(size=(64, 4))


def build():
    """Return a compiled model whose optimizer has all its variables."""
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
        model.compile(keras.optimizers.Adam(0.1), "mse")
        model.optimizer.build(model.trainable_variables)
    return model


def train(model):
    """Do one step. Return how many are done."""
    model.fit(x, y, batch_size=len(x), verbose=0)
    return int(model.optimizer.iterations.numpy())


# --8<-- [start:fails]
background = tf.train.CheckpointOptions(enable_async=True)
model = build()
checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
raised = {}
with tempfile.TemporaryDirectory() as folder:
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    for _ in range(3):
        step = train(model)
        try:
            manager.save(options=background)
            print(f"save {step}: ok")
        except ValueError as error:
            raised[step] = str(error)
            print(f"save {step}: ValueError")
    manager.sync()
# --8<-- [end:fails]


# --8<-- [start:works]
def start(folder):
    """Build the model, restore its newest checkpoint. Return it and its manager."""
    model = build()
    checkpoint = tf.train.Checkpoint(
        model=[variable.value for variable in model.variables],
        optimizer=[variable.value for variable in model.optimizer.variables],
    )
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)
    return model, manager


def values(model):
    variables = [*model.variables, *model.optimizer.variables]
    return [variable.numpy() for variable in variables]


def equal(some, others):
    return all(np.array_equal(*pair) for pair in zip(some, others, strict=True))


with tempfile.TemporaryDirectory() as folder:
    model, manager = start(folder)
    for _ in range(3):
        step = train(model)
        path = manager.save(checkpoint_number=step, options=background)
    at_save = values(model)
    train(model)  # goes on while the file is written
    manager.sync()  # wait for the file
    written = manager.latest_checkpoint == path
    afterwards = values(model)
    restored = values(start(folder)[0])  # as after a restart
print("newest file:", Path(path).name)
print("holds the values of that save:", equal(restored, at_save))
print("holds those of the next step:", equal(restored, afterwards))
# --8<-- [end:works]


# --8<-- [start:numbers]
def names(options):
    """Save twice, start again, save twice. Return the names in the order of writing."""
    paths = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            _, manager = start(folder)
            paths += [manager.save(options=options) for _ in range(2)]
            manager.sync()
    return [Path(path).name for path in paths]


counted = {"foreground": names(None), "background": names(background)}
for place, found in counted.items():
    print(f"{place}:", *found)
# --8<-- [end:numbers]

# --8<-- [start:silent]
with tempfile.NamedTemporaryFile() as file:  # no folder: nothing can be written to it
    _, manager = start(file.name)
    path = manager.save(options=background)
    manager.sync()
    silent = manager.latest_checkpoint != path
    print("sync returns, the newest checkpoint is", manager.latest_checkpoint)
    try:
        manager.save(options=background)
        late = None
    except tf.errors.OpError as error:
        late = type(error).__name__
    print("the next save:", late)
# --8<-- [end:silent]

claims = {
    "the_first_save_fails": 1 in raised,
    "every_later_save_fails": set(raised) == {2, 3},
    "values_are_saved_each_time": written and step == 3,
    "holds_the_values_at_the_save": equal(restored, at_save),
    "holds_the_values_at_the_sync": equal(restored, afterwards),
    "background_numbers_begin_again": counted["background"] == ["ckpt-1", "ckpt-2"] * 2,
    "foreground_numbers_go_on": len(set(counted["foreground"])) == 4,
    "sync_raises_nothing": silent,
    "the_next_save_raises": late is not None,
}
errors = {}
if raised:  # the lines above it name files
    text = raised[2]
    errors["keras"] = "ValueError: " + text[text.rindex("tf.function only") :].strip()
