# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""How far off can it be? Three quantiles by pinball loss, and a mean with its deviation by the Gaussian likelihood."""

# --8<-- [start:data]
import keras
import numpy as np
from keras import ops

rng = np.random.default_rng(0)


def draw(rows):
    """Draw a target whose spread grows with x from 0.2 to 1.1; return also that spread."""
    x = rng.uniform(0, 3, size=(rows, 1)).astype("float32")
    spread = 0.2 + 0.3 * x
    noise = rng.normal(size=(rows, 1))
    return x, (np.sin(2 * x) + spread * noise).astype("float32"), spread


x_train, y_train, _ = draw(4000)
x_test, y_test, spread_test = draw(4000)


def fit(units, loss, y=y_train):
    """Train two hidden layers with a linear head of `units`."""
    keras.utils.set_random_seed(0)
    hidden = [keras.layers.Dense(32, "tanh") for _ in range(2)]
    model = keras.Sequential([keras.Input((1,)), *hidden, keras.layers.Dense(units)])
    falling = keras.optimizers.schedules.CosineDecay(0.01, 40 * len(x_train) // 125)
    model.compile(keras.optimizers.Adam(falling), loss)
    model.fit(x_train, y, batch_size=125, epochs=40, verbose=0)
    return model


# --8<-- [end:data]

# --8<-- [start:pinball]
LEVELS = np.array([0.05, 0.5, 0.95], "float32")


def costs(y, output):
    """Cost a miss below the target by the level, one above it by the rest."""
    miss = y - output
    return ops.maximum(LEVELS * miss, (LEVELS - 1) * miss)


def pinball(y, output):
    return ops.mean(costs(y, output), axis=-1)


quantiles = fit(len(LEVELS), pinball)(x_test).numpy()
below = (y_test < quantiles).mean(axis=0)
for level, share in zip(LEVELS, below, strict=True):
    print(f"level {level:.2f}: {share:.2f} of the held-out targets below")
# --8<-- [end:pinball]

# --8<-- [start:constant]
candidates = np.arange(-3, 4, 0.01, "float32")
repeated = [np.tile(c, (len(y_train), len(LEVELS))) for c in candidates]
columns = [ops.convert_to_numpy(costs(y_train, c)).mean(axis=0) for c in repeated]
best = candidates[np.argmin(columns, axis=0)]
sorted_out = np.quantile(y_train, LEVELS)
for level, constant, quantile in zip(LEVELS, best, sorted_out, strict=True):
    print(f"level {level:.2f}: best constant {constant:.2f}, quantile {quantile:.2f}")
# --8<-- [end:constant]


# --8<-- [start:gaussian]
def halves(output):
    """Return the mean, and a deviation that softplus keeps above zero."""
    return output[:, :1], 0.001 + ops.softplus(output[:, 1:])


def likelihood(y, output):
    """Return minus the log of the normal density, less a constant."""
    mean, deviation = halves(output)
    return ops.log(deviation) + ((y - mean) / deviation) ** 2 / 2


Z = 1.645  # nine tenths of a normal distribution lie within so many deviations
mean, deviation = map(ops.convert_to_numpy, halves(fit(2, likelihood)(x_test)))
model = fit(1, "mse")
one_number = model(x_test).numpy()
# The spread of its errors on the rows to learn from: one number for all rows.
for_all = float(np.std(y_train - model(x_train).numpy()))
intervals = {
    "quantiles": (quantiles[:, :1], quantiles[:, 2:]),
    "mean, deviation": (mean - Z * deviation, mean + Z * deviation),
    "mse, one spread": (one_number - Z * for_all, one_number + Z * for_all),
}
thirds = [(x_test < 1), (x_test >= 1) & (x_test < 2), (x_test >= 2)]
covers = {}
for name, (low, high) in intervals.items():
    inside = (low < y_test) & (y_test < high)
    covers[name] = [float(inside.mean()), *(float(inside[of].mean()) for of in thirds)]
    print(f"{name:16} covers", *(f"{share:.2f}" for share in covers[name]))
# --8<-- [end:gaussian]

# Labels of the shape (n,): the loss is a table of each row with each label.
flat_mean, flat_deviation = map(
    ops.convert_to_numpy, halves(fit(2, likelihood, y_train[:, 0])(x_test))
)
drawn = np.random.default_rng(1).normal(size=1_000_000)
density = np.exp(-(((1.2 - 0.7) / 0.4) ** 2) / 2) / 0.4  # less a constant factor
by_loss = float(
    likelihood(
        np.array([[1.2]], "float32"),
        np.array([[0.7, np.log(np.expm1(0.4 - 0.001))]], "float32"),
    )[0, 0]
)
claims = {
    "constant_is_the_quantile": bool(np.abs(best - sorted_out).max() < 0.02),
    "upper_constant_is_the_mean": bool(abs(best[2] - y_train.mean()) < 0.02),
    "nine_tenths_between_the_quantiles": 0.87 < covers["quantiles"][0] < 0.93,
    "each_level_is_met": bool(np.abs(below - LEVELS).max() < 0.04),
    "columns_in_order": bool((np.diff(quantiles, axis=1) > 0).all()),
    "nine_tenths_within_the_deviations": 0.87 < covers["mean, deviation"][0] < 0.93,
    "each_third_is_covered": all(
        0.84 < share < 0.96
        for name in ("quantiles", "mean, deviation")
        for share in covers[name]
    ),
    "one_spread_covers_all_together": 0.87 < covers["mse, one spread"][0] < 0.93,
    "one_spread_covers_each_third": min(covers["mse, one spread"][1:]) > 0.84,
    "deviation_is_the_true_one": bool(np.abs(deviation / spread_test - 1).mean() < 0.1),
    "deviation_stays_above_zero": bool(
        ops.min(halves(np.full((1, 2), -1e6, "float32"))[1]) > 0
    ),
    "nine_tenths_lie_within_z": bool(abs(np.mean(np.abs(drawn) < Z) - 0.9) < 0.002),
    "flat_labels_meet_every_row": likelihood(
        np.zeros(3, "float32"), np.zeros((3, 2), "float32")
    ).shape
    == (3, 3),
    "flat_labels_teach_one_mean_for_all_rows": bool(
        np.abs(flat_mean - y_train.mean()).max() < 0.2 < mean.std()
    ),
    "flat_labels_teach_one_deviation_for_all_rows": bool(
        np.abs(flat_deviation / y_train.std() - 1).max() < 0.2
    ),
    "likelihood_is_the_normal_one": bool(
        np.isclose(by_loss, -np.log(density), atol=1e-4)
    ),
}
measures = {
    "between": round(covers["quantiles"][0], 2),
    "within": round(covers["mean, deviation"][0], 2),
    "one_spread": round(covers["mse, one spread"][0], 2),
    "narrow_third": round(covers["mse, one spread"][1], 2),
    "wide_third": round(covers["mse, one spread"][3], 2),
}
shown = np.argsort(x_test[:, 0])[::80]
figures = {
    "band": {
        "kind": "scatter",
        "title": "Held-out rows, and three quantiles",
        "xlabel": "x",
        "ylabel": "target",
        "series": {
            "target": {
                "x": x_test[shown, 0].round(3).tolist(),
                "y": y_test[shown, 0].round(2).tolist(),
            },
        }
        | {
            f"quantile {level:.2f}": {
                "x": x_test[shown, 0].round(3).tolist(),
                "y": quantiles[shown, i].round(2).tolist(),
            }
            for i, level in enumerate(LEVELS)
        },
    }
}
