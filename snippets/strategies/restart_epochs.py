# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 1
# seconds = 120
# ///
"""Stop `fit` twice in one epoch under BackupAndRestore, and train further after a restart: which epochs are done?"""

# --8<-- [start:setup]
import contextlib
import tempfile

import keras
import numpy as np
import tf_keras

EPOCHS, BATCHES, STOP = 6, 8, 4  # both stops come in the fourth epoch
x = np.arange(2.0 * BATCHES, dtype="float32")[:, None] / BATCHES


def start(library, folder, stops, **options):
    """Train, from the backup if there is one. Return the epochs begun, from 1, and the model."""
    begun = []

    class Stops(library.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            begun.append(epoch + 1)

        def on_train_batch_end(self, batch, logs=None):
            if stops and begun[-1] == STOP and batch == 4:
                raise KeyboardInterrupt

    model = library.Sequential([library.layers.Input((1,)), library.layers.Dense(1)])
    model.compile("sgd", "mse")
    backup = library.callbacks.BackupAndRestore(folder, **options)
    callbacks = [backup, Stops()]
    with contextlib.suppress(KeyboardInterrupt):
        model.fit(x, x, 2, EPOCHS, verbose=0, callbacks=callbacks)
    return begun, model


# --8<-- [end:setup]

# --8<-- [start:twice]
starts, done = {}, {}
for name, library in {"tf_keras": tf_keras, "Keras 3": keras}.items():
    for freq in ("epoch", 2):
        with tempfile.TemporaryDirectory() as folder:
            runs = [
                start(library, folder, stops, save_freq=freq)
                for stops in (True, True, False)
            ]
        starts[name, freq] = [begun for begun, _ in runs]
        done[name, freq] = int(runs[-1][1].optimizer.iterations.numpy())
        print(f"{name}, save_freq={freq!r}: {done[name, freq]} steps in all; epochs of")
        for number, begun in enumerate(starts[name, freq], 1):
            print(f"  start {number}:", *begun)
# --8<-- [end:twice]

# --8<-- [start:later]
with tempfile.TemporaryDirectory() as folder:
    start(keras, folder, stops=True)
    resumed, model = start(keras, folder, stops=False)
further = {}
for epochs in (3, 5):
    history = model.fit(x, x, epochs=epochs, verbose=0)
    further[epochs] = [epoch + 1 for epoch in history.epoch]
print("the restart:", *resumed)
print("then fit(epochs=3):", *further[3] or ["no epoch"])
print("then fit(epochs=5):", *further[5])
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.keras")
    loaded = keras.models.load_model(f"{folder}/model.keras")
cured = [epoch + 1 for epoch in loaded.fit(x, x, epochs=3, verbose=0).epoch]
print("saved and loaded, fit(epochs=3):", *cured)
# --8<-- [end:later]

# --8<-- [start:kept]
again = {}
for delete in (True, False):
    with tempfile.TemporaryDirectory() as folder:
        start(keras, folder, stops=False, delete_checkpoint=delete)
        again[delete], _ = start(keras, folder, False, delete_checkpoint=delete)
    print(f"delete_checkpoint={delete}, started once more:", end=" ")
    print(*again[delete] or ["no epoch"])
# --8<-- [end:kept]

whole = list(range(1, EPOCHS + 1))
rest = list(range(STOP, EPOCHS + 1))
steps = EPOCHS * BATCHES
claims = {
    "by_epochs_each_start_goes_on": all(
        starts[name, "epoch"] == [whole[:STOP], [STOP], rest]
        and done[name, "epoch"] == steps
        for name in ("tf_keras", "Keras 3")
    ),
    "keras_3_by_steps_goes_on_after_one_stop": starts["Keras 3", 2][1] == [STOP],
    "keras_3_by_steps_begins_at_epoch_1_after_two": starts["Keras 3", 2][2] == whole
    and done["Keras 3", 2] > steps,
    "keras_3_by_steps_goes_on_after_two": starts["Keras 3", 2][2] == rest,
    "tf_keras_by_steps_goes_on_after_two": starts["tf_keras", 2][2] == rest
    and done["tf_keras", 2] == steps,
    "a_later_fit_skips_the_restored_epochs": further
    == {3: [], 5: list(range(STOP, 6))},
    "a_loaded_model_trains_all_its_epochs": cured == whole[:3],
    "a_later_fit_trains_all_its_epochs": further == {3: whole[:3], 5: whole[:5]},
    "a_finished_training_begins_again": again[True] == whole,
    "a_kept_backup_trains_nothing_more": again[False] == [],
}
