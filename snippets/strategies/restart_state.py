# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 1
# seconds = 120
# ///
"""Restart a training in five ways, see what is back, and compare the next epoch with that of an undisturbed run."""

# --8<-- [start:setup]
import tempfile

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))


def build():
    """Return the model as a script makes it at each start."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "relu")])
    model.add(keras.layers.Dropout(0.5))
    model.add(keras.layers.Dense(1))
    model.compile(keras.optimizers.Adam(0.01), loss="mse")
    model.optimizer.build(model.trainable_variables)
    return model


def epoch(number, model, *callbacks):
    """Train for one epoch, counted from 1, on the same batches as in every other."""
    epochs = {"initial_epoch": number - 1, "epochs": number}
    batches = {"batch_size": 8, "shuffle": False}
    model.fit(x, y, callbacks=callbacks, verbose=0, **epochs, **batches)


# --8<-- [end:setup]


# --8<-- [start:seeds]
def seeds(model):
    """Return the variables from which the random layers of a model draw."""
    ends = "seed_generator_state"
    return [one.value for one in model.variables if one.path.endswith(ends)]


def checkpoint(model):
    return tf.train.Checkpoint(model=model, optimizer=model.optimizer)


def with_seeds(model):
    return tf.train.Checkpoint(
        model=model, optimizer=model.optimizer, seeds=seeds(model)
    )


# --8<-- [end:seeds]


# --8<-- [start:save]
def state(model):
    """Return what the next step depends on, but for the data."""
    optimizer = model.optimizer
    alone = optimizer.iterations, optimizer.learning_rate
    slots = [v for v in optimizer.variables if all(v is not one for one in alone)]
    parts = {
        "the weights": model.trainable_variables,
        "the optimizer's slots": slots,
        "the number of steps": [optimizer.iterations],
        "a learning rate that was assigned": [optimizer.learning_rate],
        "what `Dropout` draws from": seeds(model),
    }
    return {name: [np.array(one) for one in part] for name, part in parts.items()}


folder = tempfile.TemporaryDirectory()
place = folder.name
model = build()
lower = keras.callbacks.LambdaCallback(
    on_epoch_end=lambda epoch, logs: model.optimizer.learning_rate.assign(0.002)
)
backup = keras.callbacks.BackupAndRestore(f"{place}/backup", delete_checkpoint=False)
epoch(1, model, lower, backup)
checkpoint(model).write(f"{place}/checkpoint")
with_seeds(model).write(f"{place}/with_seeds")
model.save(f"{place}/model.keras")
model.save_weights(f"{place}/model.weights.h5")
before = state(model)
epoch(2, model)
undisturbed = model.get_weights()
# --8<-- [end:save]


# --8<-- [start:restore]
def of_file():
    keras.utils.set_random_seed(1)
    return keras.models.load_model(f"{place}/model.keras")


def of_weights():
    model = build()
    model.load_weights(f"{place}/model.weights.h5")
    return model


def of_checkpoint(kind, name):
    model = build()
    kind(model).read(f"{place}/{name}").assert_consumed()
    return model


def of_backup():
    """Return a model into which `fit` has read the backup: no epoch is left to train."""
    model = build()
    backup = keras.callbacks.BackupAndRestore(
        f"{place}/backup", delete_checkpoint=False
    )
    epoch(1, model, backup)
    return model


ways = {
    "`tf.train.Checkpoint`": lambda: of_checkpoint(checkpoint, "checkpoint"),
    "the same with `seeds`": lambda: of_checkpoint(with_seeds, "with_seeds"),
    "`BackupAndRestore`": of_backup,
    "`.keras` file": of_file,
    "`.weights.h5` file": of_weights,
}
new = state(build())


def compared(what, after):
    """Say whether a part of the state is as before, as in a new model, or neither."""
    for answer, known in {"yes": before, "no, as in a new model": new}.items():
        if all(map(np.array_equal, after, known[what])):
            return answer
    return "no"


back, apart = {}, {}
for way, restore in ways.items():
    restored = restore()
    back[way] = {what: compared(what, now) for what, now in state(restored).items()}
    epoch(2, restored)
    pairs = zip(undisturbed, restored.get_weights(), strict=True)
    apart[way] = max(float(np.abs(a - b).max()) for a, b in pairs)
    same = "as" if apart[way] < 1e-6 else "not as"
    print(f"{way:25}{same} in the undisturbed run, one epoch later")
folder.cleanup()
# --8<-- [end:restore]

counters = "what `Dropout` draws from"
claims = {
    "weights_slots_steps_and_rate_are_back": all(
        answer == "yes"
        for one in back.values()
        for what, answer in one.items()
        if what != counters
    ),
    "dropout_is_back_only_with_seeds": [
        way for way in ways if back[way][counters] == "yes"
    ]
    == ["the same with `seeds`"],
    "dropout_of_a_checkpoint_begins_anew": back["`tf.train.Checkpoint`"][counters]
    == "no, as in a new model",
    "with_seeds_as_undisturbed": apart["the same with `seeds`"] < 1e-6,
    "others_as_undisturbed": any(
        apart[way] < 1e-3 for way in ways if way != "the same with `seeds`"
    ),
}
rows = [[what, *(back[way][what] for way in ways)] for what in before]
tables = {"back": {"columns": ["what", *ways], "rows": rows}}
