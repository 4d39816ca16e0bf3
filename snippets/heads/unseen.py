# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.2
# ///
"""The aim is low loss on unseen data: a large network learns its training rows by heart, then gets worse elsewhere."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes

features, target = load_diabetes(return_X_y=True, scaled=False)
order = np.random.default_rng(0).permutation(len(features))
x = features[order].astype("float32")
y = target[order].astype("float32")[:, None]
train, validation, test = slice(0, 100), slice(100, 242), slice(242, None)
x = (x - x[train].mean(axis=0)) / x[train].std(axis=0)  # from the training rows only
middle, spread = y[train].mean(), y[train].std()
scaled = (y - middle) / spread


def batches(rows):
    """Return these rows as one batch per epoch."""
    return tf.data.Dataset.from_tensors((x[rows], scaled[rows])).cache()


# --8<-- [end:data]


# --8<-- [start:fit]
def fit(callbacks=()):
    """Train a network with far more weights than there are training rows."""
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
    ]
    model = keras.Sequential([keras.Input((10,)), *layers, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), loss="mse")
    unseen = batches(validation)
    history = model.fit(
        batches(train),
        validation_data=unseen,
        epochs=60,
        callbacks=callbacks,
        shuffle=False,
        verbose=0,
    )
    return model, history.history


def error(model):
    """Return the mean absolute error on the test rows, in the target's own units."""
    return float(np.abs(model(x[test]).numpy() * spread + middle - y[test]).mean())


model, curve = fit()
best_epoch = int(np.argmin(curve["val_loss"]))
print(
    f"training loss   {curve['loss'][0]:.2f} at first, {curve['loss'][-1]:.4f} at the end"
)
print(
    f"validation loss {curve['val_loss'][0]:.2f} at first, {min(curve['val_loss']):.2f} at best, ",
    end="",
)
print(f"{curve['val_loss'][-1]:.2f} at the end")
# --8<-- [end:fit]

# --8<-- [start:stop]
stop = keras.callbacks.EarlyStopping(
    monitor="val_loss", patience=8, restore_best_weights=True
)
stopped, short = fit([stop])
mean_error = float(np.abs(middle - y[test]).mean())
print(f"always the mean:   {mean_error:.1f} points off on the test rows")
print(f"all 60 epochs:     {error(model):.1f} points off")
print(f"stopped early:     {error(stopped):.1f} points off")
# --8<-- [end:stop]

claims = {
    "training_loss_falls": bool(curve["loss"][-1] < 0.3 * curve["loss"][best_epoch]),
    "unseen_loss_rises": bool(curve["val_loss"][-1] > 1.3 * min(curve["val_loss"])),
    "lowest_training_loss_is_best_on_unseen": bool(
        int(np.argmin(curve["loss"])) == best_epoch
    ),
    "early_stop_better_on_test": bool(error(stopped) < 0.9 * error(model)),
    "early_stop_beats_mean": bool(error(stopped) < 0.9 * mean_error),
    "stopped_before_end": len(short["loss"]) < 60,
}
measures = {
    "parameters": model.count_params(),
    "training_rows": 100,
    "mean_error": round(mean_error, 1),
    "full_error": round(error(model), 1),
    "stopped_error": round(error(stopped), 1),
}
figures = {
    "curves": {
        "kind": "lines",
        "title": "Training rows learned by heart",
        "xlabel": "epoch",
        "ylabel": "mean squared error",
        "yscale": "log",
        "x": list(range(1, 61)),
        "series": {
            "training rows": [float(f"{v:.3g}") for v in curve["loss"]],
            "validation rows": [float(f"{v:.3g}") for v in curve["val_loss"]],
        },
    }
}
