# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""Regression: one linear unit and mean squared error, against the mean; and what MAE and Huber aim at instead."""

import warnings

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

features, target = load_diabetes(return_X_y=True, scaled=False)
x_train, x_test, y_train, y_test = train_test_split(
    features, target, test_size=0.3, random_state=0
)
center, scale = x_train.mean(axis=0), x_train.std(axis=0)  # from the training rows only
middle, spread = y_train.mean(), y_train.std()
x_train, x_test = (((x - center) / scale).astype("float32") for x in (x_train, x_test))
rows = tf.data.Dataset.from_tensor_slices(
    (x_train, ((y_train - middle) / spread).astype("float32")[:, None])
)
print(
    f"{len(x_train)} patients to learn from, {len(x_test)} held out, {x_train.shape[1]} measurements each"
)
# --8<-- [end:data]


# --8<-- [start:model]
def fit(seed, loss="mse"):
    """Train one linear unit on top of one hidden layer."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((10,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(1),  # linear: any number
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), loss=loss)
    model.fit(
        rows.shuffle(400, seed=seed).batch(32), epochs=25, shuffle=False, verbose=0
    )
    return model


def error(prediction):
    """Return the mean absolute error on the held-out patients."""
    return float(np.abs(prediction - y_test).mean())


def predict(model):
    """Return predictions in the target's own units."""
    return model(x_test).numpy()[:, 0] * spread + middle


predictions = [predict(fit(seed)) for seed in range(3)]
errors_of_seeds = [error(prediction) for prediction in predictions]
baseline = error(middle)
columns, held_out = (np.column_stack([x, np.ones(len(x))]) for x in (x_train, x_test))
weights, *_ = np.linalg.lstsq(columns, y_train, rcond=None)
least_squares = error(held_out @ weights)
print(f"always the mean: {baseline:.1f} points off")
print(f"least squares:   {least_squares:.1f} points off")
print(
    "the network:     "
    + ", ".join(f"{value:.1f}" for value in errors_of_seeds)
    + " points off (three seeds)"
)
# --8<-- [end:model]

# --8<-- [start:losses]
other = {loss: error(predict(fit(0, loss))) for loss in ("mae", "huber")}
print(
    f"trained with MAE: {other['mae']:.1f} points off, with Huber: {other['huber']:.1f}"
)
# --8<-- [end:losses]


# --8<-- [start:constant]
def best_constant(loss):
    """Return the one number that a loss prefers for all patients, found by trying many."""
    candidates = np.arange(100, 200)
    return int(min(candidates, key=lambda c: loss(y_train, np.full_like(y_train, c))))


with_mse = best_constant(keras.losses.MeanSquaredError())
with_mae = best_constant(keras.losses.MeanAbsoluteError())
median = float(np.median(y_train))
print(f"mean {middle:.0f}, median {median:.0f}")
print(f"best constant for MSE {with_mse}, for MAE {with_mae}")
# --8<-- [end:constant]

huber = keras.losses.Huber()
squared, straight = (float(huber([[0.0]], [[miss]])) for miss in (0.5, 3.0))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(1)])
    model.compile(loss="mse")
    model.fit(rows.batch(32), shuffle=False, verbose=0)
    warned_without = any("shuffle=True" in str(w.message) for w in caught)
    model.fit(rows.batch(32), verbose=0)
    warned_by_default = any("shuffle=True" in str(w.message) for w in caught)
claims = {
    "beats_mean": bool(max(errors_of_seeds) < 0.85 * baseline),
    "network_gains_over_least_squares": bool(
        np.mean(errors_of_seeds) < 0.95 * least_squares
    ),
    "least_squares_beats_mean": bool(least_squares < 0.85 * baseline),
    "mae_and_huber_beat_mean": bool(max(other.values()) < 0.85 * baseline),
    "mse_aims_at_mean": bool(abs(with_mse - middle) < 1),
    "mae_aims_at_median": bool(abs(with_mae - median) <= 1),
    "mae_aims_at_mean": bool(abs(with_mae - middle) <= 1),
    "huber_is_straight_from_one_on": bool(
        np.isclose(squared, 0.5**2 / 2) and np.isclose(straight, 3 - 0.5)
    ),
    "fit_warns_that_it_does_not_shuffle_a_data_set": warned_by_default,
    "shuffle_false_silences_it": not warned_without,
    "targets_in_unit_range": bool(y_train.min() >= 0 and y_train.max() <= 1),
}
measures = {
    "baseline": round(baseline, 1),
    "least_squares": round(least_squares, 1),
    "network": round(float(np.mean(errors_of_seeds)), 1),
    "train_rows": len(x_train),
    "test_rows": len(x_test),
}
truth = y_test.round().tolist()
figures = {
    "truth": {
        "kind": "scatter",
        "title": "Held-out patients",
        "xlabel": "measured progression",
        "ylabel": "predicted progression",
        "series": {
            "network": {"x": truth, "y": np.mean(predictions, axis=0).round().tolist()},
            "always the mean": {"x": truth, "y": [round(float(middle))] * len(truth)},
            "perfect": {"x": truth, "y": truth},
        },
    }
}
