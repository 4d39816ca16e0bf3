# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "statsmodels>=0.14"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.1
# ///
"""Recurrent networks on three centuries of sunspots: LSTM and GRU against least squares and the last value."""

# --8<-- [start:data]
import keras
import numpy as np
import statsmodels.api as sm
import tensorflow as tf

table = sm.datasets.sunspots.load_pandas().data
year, spots = table["YEAR"].to_numpy().astype(int), table["SUNACTIVITY"].to_numpy()
# The window is two cycles of about 11 years; the last quarter is held out.
window, first_test = 22, int(0.75 * len(spots))
# These come from the training years only.
middle, spread = spots[:first_test].mean(), spots[:first_test].std()
scaled = ((spots - middle) / spread).astype("float32")
windows = np.stack([scaled[i : i + window] for i in range(len(scaled) - window)])
windows = windows[..., None]  # one value for each year
following = scaled[window:][:, None]
split = first_test - window
print(
    f"years {year[0]} to {year[first_test - 1]} to learn from, {year[first_test]} to {year[-1]} held out"
)
print("one input:", windows[0].shape, "(years, values per year)")
# --8<-- [end:data]


# --8<-- [start:model]
def fit(cell, seed):
    """Train a recurrent layer and one linear unit; return the forecasts for the held-out years."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [keras.Input((window, 1)), cell(16), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.02), loss="mse")
    one_batch = tf.data.Dataset.from_tensors(
        (windows[:split], following[:split])
    ).cache()
    model.fit(one_batch, epochs=60, shuffle=False, verbose=0)
    return model(windows[split:]).numpy()[:, 0] * spread + middle


def error(forecast):
    """Return the mean absolute error over the held-out years, in sunspots."""
    return float(np.abs(forecast - spots[first_test:]).mean())


rows = np.c_[windows[..., 0], np.ones(len(windows))]  # the 22 values, and a constant
weights = np.linalg.lstsq(rows[:split], following[:split, 0], rcond=None)[0]
baselines = {
    "always the mean": error(np.full(len(spots) - first_test, middle)),
    "last year's value": error(spots[first_test - 1 : -1]),
    "value 11 years ago": error(spots[first_test - 11 : -11]),
    "least squares": error(rows[split:] @ weights * spread + middle),
}
for name, value in baselines.items():
    print(f"{name:20} {value:.1f} sunspots off")
# --8<-- [end:model]

# --8<-- [start:scores]
forecasts = {
    cell.__name__: [fit(cell, seed) for seed in range(2)]
    for cell in (keras.layers.LSTM, keras.layers.GRU)
}
errors_of = {name: [error(f) for f in pair] for name, pair in forecasts.items()}
for name, values in errors_of.items():
    print(f"{name:20} {', '.join(f'{v:.1f}' for v in values)} sunspots off (two seeds)")
# --8<-- [end:scores]

held_out = year[first_test:].tolist()
learned, asked = year[window:][:split], year[window:][split:]  # of the targets
fitted = baselines["least squares"]
named = min(value for name, value in baselines.items() if name != "least squares")
claims = {
    "networks_far_better_than_a_repeated_value": bool(
        max(map(max, errors_of.values())) < 0.8 * named
    ),
    "least_squares_far_better_than_a_repeated_value": bool(fitted < 0.8 * named),
    "networks_far_better_than_least_squares": bool(
        max(map(max, errors_of.values())) < 0.8 * fitted
    ),
    "least_squares_nearly_as_good": bool(
        fitted < 1.25 * min(map(min, errors_of.values()))
    ),
    "least_squares_far_below_twenty": bool(fitted < 16),
    "last_value_beats_mean": bool(
        baselines["last year's value"] < 0.8 * baselines["always the mean"]
    ),
    "held_out_years_come_last": bool(
        learned.max() < asked.min() and len(forecasts["LSTM"][0]) == len(asked)
    ),
    "last_value_is_best": bool(
        baselines["last year's value"]
        < min(fitted, *(min(pair) for pair in errors_of.values()))
    ),
}
measures = {
    "last_value": round(baselines["last year's value"], 1),
    "cycle": round(baselines["value 11 years ago"], 1),
    "least_squares": round(fitted, 1),
    "mean": round(baselines["always the mean"], 1),
    "lstm": round(float(np.mean(errors_of["LSTM"])), 1),
    "gru": round(float(np.mean(errors_of["GRU"])), 1),
}
figures = {
    "forecast": {
        "kind": "lines",
        "title": "Sunspots, one year ahead",
        "xlabel": "year",
        "ylabel": "sunspots",
        "x": held_out,
        "series": {
            "truth": spots[first_test:].round(1).tolist(),
            "LSTM": [round(float(v), 1) for v in forecasts["LSTM"][0]],
            "last year's value": spots[first_test - 1 : -1].round(1).tolist(),
        },
    }
}
