# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "statsmodels>=0.14"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.1
# ///
"""A series with a trend: GRUs on the changes and on the levels of atmospheric CO2, against least squares."""

# --8<-- [start:data]
import keras
import numpy as np
import statsmodels.api as sm
import tensorflow as tf

weekly = sm.datasets.co2.load_pandas().data["co2"]
# Parts per million, March 1958 to December 2001.
monthly = weekly.resample("MS").mean().interpolate()
level, month = monthly.to_numpy(), monthly.index
window, first_test = 24, int(0.75 * len(level))
print(f"{len(level)} months, held out from {month[first_test]:%B %Y}")
print(
    f"highest level to learn from {level[:first_test].max():.0f}, lowest held out {level[first_test:].min():.0f}"
)
# --8<-- [end:data]


# --8<-- [start:model]
def cut(series):
    """Return every 24 values in a row, and the value that follows each of them."""
    last = [series[i : i + window] for i in range(len(series) - window)]
    return np.stack(last)[..., None], series[window:][:, None]


def train(windows, following, seed):
    """Train a GRU to name the value that follows each window."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [keras.Input((window, 1)), keras.layers.GRU(16), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.02), loss="mse")
    one_batch = tf.data.Dataset.from_tensors((windows, following)).cache()
    model.fit(one_batch, epochs=60, shuffle=False, verbose=0)
    return model


def fit(series, seed):
    """Train a GRU on the training months of `series`; return its forecasts for the held-out months."""
    start = len(level) - len(series)  # changes are one shorter than levels
    known = series[: first_test - start]
    middle, spread = known.mean(), known.std()
    scaled = ((series - middle) / spread).astype("float32")
    windows, following = cut(scaled)
    split = first_test - start - window
    model = train(windows[:split], following[:split], seed)
    return model(windows[split:]).numpy()[:, 0] * spread + middle


def straight(series):
    """Name the next value of `series` by least squares on the last 24, without a network."""
    last = np.stack([series[i : i + window] for i in range(len(series) - window)])
    rows, following = np.c_[last, np.ones(len(last))], series[window:]
    split = len(rows) - len(level) + first_test
    weights = np.linalg.lstsq(rows[:split], following[:split], rcond=None)[0]
    return rows[split:] @ weights


truth, before = level[first_test:], level[first_test - 1 : -1]
change = np.diff(level)


def error(forecast):
    """Return the mean absolute error over the held-out months, in parts per million."""
    return float(np.abs(forecast - truth).mean())


forecasts = {
    "last month's value": before,
    "last month plus last year's change": before + change[first_test - 13 : -12],
    "least squares on changes": before + straight(change),
    "least squares on levels": straight(level),
    "GRU on changes, seed 0": before + fit(change, 0),
    "GRU on changes, seed 1": before + fit(change, 1),
    "GRU on levels": fit(level, 0),
}
errors_of = {name: error(forecast) for name, forecast in forecasts.items()}
for name, value in errors_of.items():
    print(f"{name:35} {value:.2f} ppm off")
# --8<-- [end:model]


# --8<-- [start:split]
def promise(held_out):
    """Hold out some windows of the months up to 1990; return how far off a GRU on levels is there."""
    known = level[:first_test]
    seen = known[: targets[~held_out].max() + 1]  # no month after the last trained on
    windows, following = cut(((known - seen.mean()) / seen.std()).astype("float32"))
    model = train(windows[~held_out], following[~held_out], 0)
    off = model(windows[held_out]).numpy() - following[held_out]
    return float(np.abs(off).mean() * seen.std())


targets = np.arange(window, first_test)  # the month that each window is to name
last_part = targets >= np.quantile(targets, 0.75)
at_random = np.random.default_rng(0).permutation(last_part)
promised = {"at random": promise(at_random), "last part": promise(last_part)}


def above(held_out):
    """Return the share of held-out months that lie above every level trained on."""
    highest = level[targets[~held_out]].max()
    return float((level[targets[held_out]] > highest).mean())


for name, held_out in {"at random": at_random, "last part": last_part}.items():
    print(
        f"{name}: {promised[name]:.1f} ppm off, {above(held_out):.0%} of the held-out "
        "months lie above all levels trained on"
    )
print(f"from 1991 on: {errors_of['GRU on levels']:.1f} ppm off")
# --8<-- [end:split]

behind = (truth - forecasts["GRU on levels"])[: len(truth) // 12 * 12]
yearly = behind.reshape(-1, 12).mean(axis=1)  # year by year
highest = level[:first_test].max()
on_changes = [errors_of["GRU on changes, seed 0"], errors_of["GRU on changes, seed 1"]]
claims = {
    "changes_beat_last_value": bool(
        max(on_changes) < 0.5 * errors_of["last month's value"]
    ),
    "changes_far_better_than_last_years_change": bool(
        max(on_changes) < 0.8 * errors_of["last month plus last year's change"]
    ),
    "least_squares_as_good_on_changes": bool(
        errors_of["least squares on changes"] < 1.05 * min(on_changes)
    ),
    "least_squares_on_levels_far_better": bool(
        errors_of["least squares on levels"] < 0.2 * errors_of["GRU on levels"]
    ),
    "least_squares_follows_levels": bool(
        errors_of["least squares on levels"]
        < 1.3 * errors_of["least squares on changes"]
    ),
    "levels_worse_than_last_value": bool(
        errors_of["GRU on levels"] > 1.2 * errors_of["last month's value"]
    ),
    "levels_beat_last_value": bool(
        errors_of["GRU on levels"] < errors_of["last month's value"]
    ),
    "levels_fall_further_behind": bool(
        0 < yearly[0] < 1
        and (np.diff(yearly) > 0).mean() > 0.8
        and yearly[-1] > 4 * yearly[0]
    ),
    "levels_pass_the_highest_training_level": bool(
        (forecasts["GRU on levels"] > highest).mean() > 0.4
    ),
    "random_windows_promise_far_too_much": promised["at random"]
    < 0.4 * errors_of["GRU on levels"],
    "last_part_promise_is_nearer": abs(
        promised["last part"] - errors_of["GRU on levels"]
    )
    < 0.8 * abs(promised["at random"] - errors_of["GRU on levels"]),
    "both_splits_promise_the_same": 0.8
    < promised["at random"] / promised["last part"]
    < 1.25,
    "random_held_out_levels_are_known": above(at_random) < 0.05,
    "levels_of_the_last_part_are_new": above(last_part) > 0.5,
    "held_out_levels_higher": bool(
        level[first_test:].mean() > level[:first_test].max()
    ),
}
measures = {
    "last_value": round(errors_of["last month's value"], 2),
    "last_years_change": round(errors_of["last month plus last year's change"], 2),
    "least_squares": round(errors_of["least squares on changes"], 2),
    "changes": round(float(np.mean(on_changes)), 2),
    "levels": round(errors_of["GRU on levels"], 1),
    "random_promise": round(promised["at random"], 1),
    "last_part_promise": round(promised["last part"], 1),
    "behind_last_year": round(float(yearly[-1])),
}
figures = {
    "forecast": {
        "kind": "lines",
        "title": "Carbon dioxide at Mauna Loa, one month ahead",
        "xlabel": "year",
        "ylabel": "parts per million",
        "x": [
            round(date.year + (date.month - 0.5) / 12, 2) for date in month[first_test:]
        ],
        "series": {
            "truth": truth.round(1).tolist(),
            "GRU on changes": forecasts["GRU on changes, seed 0"].round(1).tolist(),
            "GRU on levels": forecasts["GRU on levels"].round(1).tolist(),
        },
    }
}
