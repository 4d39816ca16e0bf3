# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 1
# ///
"""Stop `fit` in its second epoch, start it again under BackupAndRestore, and count the rows: tf_keras and Keras 3.

Then stop it inside a save, give it a model without shapes, and keep a file of one's own in its folder.
"""

import contextlib
import pathlib
import shutil
import tempfile
from collections import Counter

import keras
import numpy as np
import tensorflow as tf
import tf_keras

# --8<-- [start:fit]
ROWS, BATCH, EPOCHS, STOP = 16, 2, 2, 13  # the fifth batch of the second epoch


def fit(library, folder, save_freq, stop=None):
    """Train, from the backup if there is one. Return the rows of each finished step, and the optimizer's count."""
    steps = []

    class Noting(library.Sequential):
        """A model that notes the rows of each step."""

        def train_step(self, data):
            if len(steps) + 1 == stop:
                raise KeyboardInterrupt
            steps.append(data[0][:, 0].numpy().astype(int).tolist())
            return super().train_step(data)

    model = Noting([library.layers.Input((1,)), library.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    x = tf.range(float(ROWS))[:, None]
    data = tf.data.Dataset.from_tensor_slices((x, x)).batch(BATCH)
    backup = library.callbacks.BackupAndRestore(folder, save_freq=save_freq)
    with contextlib.suppress(KeyboardInterrupt):
        model.fit(data, epochs=EPOCHS, callbacks=[backup], verbose=0)
    return steps, int(model.optimizer.iterations.numpy())


# --8<-- [end:fit]

# --8<-- [start:compare]
libraries = {"tf_keras": tf_keras, "Keras 3": keras}
again, updates, times = {}, {}, {}
for case in [(name, freq) for freq in ("epoch", 2) for name in libraries]:
    name, save_freq = case
    with tempfile.TemporaryDirectory() as folder:
        first, _ = fit(libraries[name], folder, save_freq, STOP)
        again[case], updates[case] = fit(libraries[name], folder, save_freq)
    # The backup by epochs has not seen the last steps before the stop.
    kept = first[: ROWS // BATCH] if save_freq == "epoch" else first
    seen = Counter(row for step in kept + again[case] for row in step)
    times[case] = [seen[row] for row in range(ROWS)]
    rows = f"rows {again[case][0][0]} to {again[case][-1][-1]}"
    print(
        f"{name}, save_freq={save_freq!r}: {len(again[case])} steps, {rows};", end=" "
    )
    print(f"{updates[case]} updates in all")
    print("  in two epochs, how often each row came:", *times[case])
# --8<-- [end:compare]


# --8<-- [start:cut]
def train(folder, copy=None, **options):
    """Train for three epochs, from the backup if there is one. Return the epochs done, and the weights.

    In the middle of the second save, copy the folder as it is on the disk: if the
    process were killed at this moment, the same would be left.
    """
    saves = []

    class Copying(keras.layers.Dense):
        def save_own_variables(self, store):
            super().save_own_variables(store)
            saves.append(self)
            if copy and len(saves) == 2:
                shutil.copytree(folder, copy)

    model = keras.Sequential([keras.Input((1,)), Copying(1)])
    model.compile("sgd", "mse")
    backup = keras.callbacks.BackupAndRestore(folder, **options)
    x = tf.range(float(ROWS))[:, None]
    done = model.fit(x, x, epochs=3, callbacks=[backup], verbose=0).epoch
    return done, model.get_weights()


starts, same, errors = {}, {}, {}
for double in (False, True):
    with tempfile.TemporaryDirectory() as place:
        cut = f"{place}/cut"
        _, undisturbed = train(f"{place}/backup", cut, double_checkpoint=double)
        try:
            starts[double], weights = train(cut, double_checkpoint=double)
            same[double] = all(map(np.allclose, weights, undisturbed))
        except OSError as error:
            starts[double] = same[double] = None
            errors["cut"] = f"OSError: {error}"
    print(f"double_checkpoint={double}: epochs done after the cut:", starts[double])
    print("  weights of the undisturbed run:", same[double])
# --8<-- [end:cut]

# --8<-- [start:folder]
left, unbuilt = {}, {}
for name, library in libraries.items():
    with tempfile.TemporaryDirectory() as place:
        yours = pathlib.Path(place, "backup", "best.txt")
        yours.parent.mkdir()
        yours.write_text("a file of yours")
        backup = library.callbacks.BackupAndRestore(str(yours.parent))
        model = library.Sequential([library.layers.Dense(1)])  # no Input
        model.compile("sgd", "mse")
        x = tf.range(float(ROWS))[:, None]
        try:
            model.fit(x, x, callbacks=[backup], verbose=0)
            unbuilt[name] = "starts"
        except ValueError as error:
            errors["unbuilt"] = f"ValueError: {error}".partition(" Model <")[0]
            unbuilt[name] = "fails"
            model.build((None, 1))
            model.fit(x, x, callbacks=[backup], verbose=0)
        left[name] = yours.exists()
    print(f"{name}: without an Input, fit {unbuilt[name]};", end=" ")
    print("your file in the folder is left:", left[name])
# --8<-- [end:folder]

EPOCH = ROWS // BATCH
claims = {
    "by_epochs_every_row_comes_equally_often": all(
        {*times[name, "epoch"]} == {EPOCHS} for name in libraries
    ),
    "by_epochs_the_updates_are_right": all(
        updates[name, "epoch"] == EPOCHS * EPOCH for name in libraries
    ),
    "by_steps_every_row_comes_equally_often": {*times["tf_keras", 2]} == {EPOCHS},
    "by_steps_the_epoch_starts_at_its_first_row": all(
        again[name, 2][0] == [0, 1] for name in libraries
    ),
    "by_steps_only_the_missing_steps_are_done": len(again["tf_keras", 2])
    == EPOCHS * EPOCH - (STOP - 1),
    "keras_3_does_the_whole_epoch_again": len(again["Keras 3", 2]) == EPOCH,
    "keras_3_counts_the_first_rows_once_more": sorted({*times["Keras 3", 2]})
    == [EPOCHS, EPOCHS + 1]
    and updates["Keras 3", 2] == STOP - 1 + EPOCH,
    "after_a_cut_save_it_starts_again": starts[False] is not None,
    "with_double_checkpoint_it_goes_on": starts[True] == [1, 2] and same[True],
    "keras_3_needs_an_input": unbuilt == {"tf_keras": "starts", "Keras 3": "fails"},
    "keras_3_leaves_your_file": left["Keras 3"],
    "tf_keras_leaves_your_file": left["tf_keras"],
}
