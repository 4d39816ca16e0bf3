# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""What `ModelCheckpoint(save_best_only=True)` keeps, and when `EarlyStopping` stops, where the value is missing."""

# --8<-- [start:kept]
import tempfile
import warnings

import keras
import numpy as np

ERRORS = [0.7, 0.5, 0.8, 0.9, 1.0]  # of the validation in each epoch
x = np.zeros((1, 1))  # one step in an epoch


class Scripted(keras.Model):
    """Count the epochs in a weight, and report the errors above."""

    def __init__(self):
        super().__init__()
        self.epochs = self.add_weight(initializer="zeros", trainable=False)

    def call(self, x):
        return x

    def train_step(self, data):
        self.epochs.assign_add(1)
        return {"error": 0.0}

    def test_step(self, data):
        return {"error": ERRORS[int(self.epochs) - 1]}


def train(callback, **given):
    """Train for at most five epochs, note the warnings, and return the model."""
    model = Scripted()
    model.build((1, 1))  # else its weights cannot be saved
    model.compile(run_eagerly=True)
    options = {"validation_data": (x, x), "epochs": len(ERRORS), "verbose": 0}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(x, x, callbacks=[callback], **{**options, **given})
    warned.update(str(one.message) for one in said)
    return model


def kept(monitor="val_error", save_freq="epoch", **given):
    """Return the epoch whose weights are in the file of the best."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/best.weights.h5"
        options = {"save_best_only": True, "save_weights_only": True, "mode": "min"}
        callback = keras.callbacks.ModelCheckpoint(
            path, monitor=monitor, save_freq=save_freq, **options
        )
        model = train(callback, **given)
        model.load_weights(path)
    return int(model.epochs)


def trained(monitor):
    """Return the number of epochs before `EarlyStopping` stops."""
    stop = keras.callbacks.EarlyStopping(monitor=monitor, mode="min", patience=1)
    return int(train(stop).epochs)


def rate(monitor):
    """Return the learning rate that `ReduceLROnPlateau` ends with, of 0.001."""
    slow = keras.callbacks.ReduceLROnPlateau(monitor=monitor, mode="min", patience=1)
    return float(train(slow).optimizer.learning_rate)


warned = set()
found = {
    "val_error": kept(),
    "val_error, validation_freq=2": kept(validation_freq=2),
    "val_error, save_freq=1": kept(save_freq=1),
    "val_err": kept(monitor="val_err"),
}
stopped = {name: trained(name) for name in ("val_error", "val_err")}
rates = {name: rate(name) for name in stopped}
for name, epoch in found.items():
    print(f"ModelCheckpoint, {name}: the file has epoch {epoch}")
for name, epochs in stopped.items():
    print(f"EarlyStopping, {name}: {epochs} epochs")
for name, found_rate in rates.items():
    print(f"ReduceLROnPlateau, {name}: a rate of {found_rate:.1g}")
# --8<-- [end:kept]


def warning(begin):
    """Return the first warning that begins so, or nothing."""
    text = next((one for one in sorted(warned) if one.startswith(begin)), "")
    return f"UserWarning: {text}" if text else ""


messages = {
    "nothing_to_compare": warning("Can save best model only with val_error"),
    "nothing_to_stop_on": warning("Early stopping conditioned on metric"),
    "nothing_to_slow_for": warning("Learning rate reduction is conditioned on"),
}
errors = {name: text for name, text in messages.items() if text}
claims = {
    "the_best_is_kept": found["val_error"] == 2,
    "skipped_validation_keeps_the_best": found["val_error, validation_freq=2"] == 2,
    "skipped_validation_keeps_the_last": found["val_error, validation_freq=2"] == 5,
    "save_freq_keeps_the_last": found["val_error, save_freq=1"] == 5,
    "a_wrong_name_keeps_the_last": found["val_err"] == 5,
    "stops_after_a_worse_epoch": stopped["val_error"] == 3,
    "a_wrong_name_never_stops": stopped["val_err"] == 5,
    "a_worse_epoch_lowers_the_rate": rates["val_error"] < 0.0005,
    "a_wrong_name_keeps_the_rate": bool(np.isclose(rates["val_err"], 0.001)),
}
