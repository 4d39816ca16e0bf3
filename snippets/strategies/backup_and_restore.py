# /// script
# requires-python = ">=3.11"
# dependencies = ["tensorflow==2.21.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 1
# ///
"""Stop `fit` of tf_keras in its second epoch, start it again under BackupAndRestore, and count the rows."""

import contextlib
import tempfile
from collections import Counter

import tensorflow as tf
import tf_keras

# --8<-- [start:fit]
ROWS, BATCH, EPOCHS, STOP = 16, 2, 2, 13  # the fifth batch of the second epoch


class Noting(tf_keras.Sequential):
    """A model that notes the rows of each step."""

    def train_step(self, data):
        self.note(data[0][:, 0].numpy().astype(int).tolist())
        return super().train_step(data)


def fit(folder, save_freq, stop=None):
    """Train, from the backup if there is one. Return the rows of each finished step."""
    steps = []

    def note(rows):
        if len(steps) + 1 == stop:
            raise KeyboardInterrupt
        steps.append(rows)

    model = Noting([tf_keras.layers.InputLayer((1,)), tf_keras.layers.Dense(1)])
    model.note = note
    model.compile("sgd", "mse", run_eagerly=True)
    x = tf.range(float(ROWS))[:, None]
    data = tf.data.Dataset.from_tensor_slices((x, x)).batch(BATCH)
    backup = tf_keras.callbacks.BackupAndRestore(folder, save_freq=save_freq)
    with contextlib.suppress(KeyboardInterrupt):
        model.fit(data, epochs=EPOCHS, callbacks=[backup], verbose=0)
    return steps


# --8<-- [end:fit]

# --8<-- [start:compare]
times = {}
for save_freq, kept in ("epoch", ROWS // BATCH), (2, STOP - 1):
    with tempfile.TemporaryDirectory() as folder:
        first = fit(folder, save_freq, STOP)[:kept]  # what the backup has seen
        again = fit(folder, save_freq)
    seen = Counter(row for step in first + again for row in step)
    times[save_freq] = [seen[row] for row in range(ROWS)]
    print(
        f"save_freq={save_freq!r}: after the restart {len(again)} steps, on rows {again}"
    )
    print("  in two epochs, how often each row came:", *times[save_freq])
# --8<-- [end:compare]

claims = {
    "by_epochs_every_row_comes_equally_often": {*times["epoch"]} == {EPOCHS},
    "by_steps_every_row_comes_equally_often": {*times[2]} == {EPOCHS},
    "by_steps_the_epoch_starts_at_its_first_row": again[0] == [0, 1],
    "by_steps_only_the_missing_steps_are_done": len(again)
    == EPOCHS * ROWS // BATCH - (STOP - 1),
}
