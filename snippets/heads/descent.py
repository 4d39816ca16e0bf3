# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Gradient descent on a loss with two weights: the learning rate decides between crawling, arriving and diverging."""

# --8<-- [start:surface]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes

features, target = load_diabetes(return_X_y=True)
# Two blood measurements that nearly repeat each other.
x = features[:, [4, 5]] * np.sqrt(len(features))
y = (target - target.mean()) / target.std()


def loss(w):
    """Return the mean squared error of the prediction `x @ w`."""
    return np.mean((x @ w - y) ** 2)


curvature = 2 * x.T @ x / len(x)  # second derivatives of the loss
flattest, steepest = np.linalg.eigvalsh(curvature)
best = np.linalg.lstsq(x, y, rcond=None)[0]
limit = 2 / steepest
print(
    f"curvature from {flattest:.2f} to {steepest:.2f}; the largest learning rate that converges is {limit:.2f}"
)
print(f"lowest loss {loss(best):.3f} at weights {best.round(2)}")
# --8<-- [end:surface]

# --8<-- [start:walks]
runs = {
    "SGD, rate 0.05": keras.optimizers.SGD(0.05),
    "SGD, rate 0.40": keras.optimizers.SGD(0.40),
    "SGD, rate 0.56": keras.optimizers.SGD(0.56),
    "momentum 0.8, rate 0.05": keras.optimizers.SGD(0.05, momentum=0.8),
    "Adam, rate 0.05": keras.optimizers.Adam(0.05),
    "Adam, rate 0.10": keras.optimizers.Adam(0.10),
}
start, steps = (-1.5, 0.5), 40
paths, ends = {}, {}
for name, optimizer in runs.items():
    w = tf.Variable(start, dtype=tf.float64)
    path = [w.numpy()]
    for _ in range(steps):
        with tf.GradientTape() as tape:
            mse = tf.reduce_mean((tf.linalg.matvec(x, w) - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(mse, w), w)])
        path.append(w.numpy())
    paths[name], ends[name] = np.array(path), loss(path[-1]) - loss(best)
    print(
        f"{name:24} after {steps} steps the loss is {ends[name]:.3f} above the lowest"
    )
# --8<-- [end:walks]

# --8<-- [start:formula]
# For SGD on such a bowl, each step multiplies the distance to the bottom
# by (1 - rate * curvature).
same = {}
for name, rate in (("SGD, rate 0.40", 0.40), ("SGD, rate 0.56", 0.56)):
    shrink = np.linalg.matrix_power(np.eye(2) - rate * curvature, steps)
    end = best + shrink @ (paths[name][0] - best)
    same[name] = np.allclose(end, paths[name][-1], rtol=1e-4)
    print(f"{name}: the formula gives the same end: {same[name]}")
# --8<-- [end:formula]

grid_x, grid_y = np.linspace(-2.4, 2.4, 41), np.linspace(-2.4, 2.4, 41)


def inside(path):
    """Return the part of a path before it first leaves the drawn square."""
    out = np.flatnonzero(np.abs(path).max(axis=1) > 2.4)
    return path[: out[0]] if len(out) else path


def field(title, *names):
    """Return a map of the loss with some of the walks on it."""
    drawn = {name: inside(paths[name]).round(4) for name in names}
    return {
        "kind": "field",
        "title": title,
        "xlabel": "weight of total cholesterol",
        "ylabel": "weight of LDL",
        "x": grid_x.round(3).tolist(),
        "y": grid_y.round(3).tolist(),
        "values": [[round(float(loss((a, b))), 3) for a in grid_x] for b in grid_y],
        "levels": [0.9, 1.0, 1.3, 2, 3.5, 6, 10, 16, 30],
        "points": {
            "lowest loss": {
                "x": [round(float(best[0]), 3)],
                "y": [round(float(best[1]), 3)],
            },
            "start": {"x": [start[0]], "y": [start[1]]},
        },
        "paths": {
            name: {"x": path[:, 0].tolist(), "y": path[:, 1].tolist()}
            for name, path in drawn.items()
        },
    }


raw = load_diabetes(return_X_y=True, scaled=False)[0][:, [3, 9]]  # pressure, sugar
raw = raw - raw.mean(axis=0)
uneven = raw / raw.std(axis=0) * [1, 10]  # the second column in a unit ten times finer


def narrowness(columns):
    """Return how many times steeper the valley is across than along."""
    low, high = np.linalg.eigvalsh(columns.T @ columns)
    return float(high / low)


claims = {
    "small_rate_crawls": bool(ends["SGD, rate 0.05"] > 5 * ends["SGD, rate 0.40"]),
    "below_limit_converges": bool(
        limit > 0.40 and ends["SGD, rate 0.40"] < 0.01 * (loss(start) - loss(best))
    ),
    "above_limit_diverges": bool(
        limit < 0.56 and ends["SGD, rate 0.56"] > loss(start) - loss(best)
    ),
    "momentum_ends_lower_at_same_rate": bool(
        5 * ends["momentum 0.8, rate 0.05"] < ends["SGD, rate 0.05"]
    ),
    "adam_gets_further_at_the_same_rate": bool(
        ends["Adam, rate 0.05"] < ends["SGD, rate 0.05"]
    ),
    "sgd_at_its_own_rate_beats_both": bool(
        ends["SGD, rate 0.40"]
        < min(ends["momentum 0.8, rate 0.05"], ends["Adam, rate 0.10"])
    ),
    "formula_gives_end": all(same.values()),
    "scale_makes_narrow": narrowness(uneven) > 50,
    "scaling_cures_scale": narrowness(uneven / uneven.std(axis=0)) < 4,
    "scaled_columns_still_narrow": bool(
        np.allclose(x.std(axis=0), 1) and narrowness(x) > 15
    ),
    "larger_rate_always_better": bool(
        ends["SGD, rate 0.56"] < ends["SGD, rate 0.40"] < ends["SGD, rate 0.05"]
    ),
}
measures = {
    "limit": round(float(limit), 3),
    "correlation": round(float(np.corrcoef(x.T)[0, 1]), 4),
    "slope_cholesterol": round(float(np.mean(x[:, 0] * y)), 4),
    "slope_ldl": round(float(np.mean(x[:, 1] * y)), 4),
    "steps": steps,
    "start_loss": round(float(loss(start)), 2),
    "lowest_loss": round(float(loss(best)), 3),
}
figures = {
    "rates": field(
        "SGD at three learning rates",
        "SGD, rate 0.05",
        "SGD, rate 0.40",
        "SGD, rate 0.56",
    ),
    "rules": field(
        "Three rules", "SGD, rate 0.05", "momentum 0.8, rate 0.05", "Adam, rate 0.10"
    ),
}
