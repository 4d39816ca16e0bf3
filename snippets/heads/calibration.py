# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.1
# ///
"""Are outputs frequencies? Bins of held-out rows: with and without class weights, and trained for too long."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf


def draw(rows, seed, bias=-4.0):
    """Draw rows whose chance of a yes is known; as it comes, about one in ten is a yes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 6)).astype("float32")
    logit = 1.5 * x[:, 0] + 1.2 * x[:, 1] * x[:, 2] + 0.8 * abs(x[:, 3]) + bias
    return x, (rng.random(rows) < sigmoid(logit)).astype("float32"), logit


def sigmoid(logit):
    return 1 / (1 + np.exp(-logit))


x_train, y_train, _ = draw(20_000, seed=0)
x_valid, y_valid, _ = draw(2_000, seed=1)
x_test, y_test, true_logit = draw(50_000, seed=2)
print(f"{y_test.mean():.2f} of the rows are a yes")
# --8<-- [end:data]


# --8<-- [start:bins]
def bins(output, y, equal=False):
    """Return, for ten bins of outputs, the rows in it, their mean output and their share of yes.

    The bins are equal steps from 0 to 1, or have equally many rows.
    """
    of = np.minimum((10 * output).astype(int), 9)
    if equal:
        of = 10 * np.argsort(np.argsort(output)) // len(output)
    rows = np.bincount(of, minlength=10)
    sums = np.bincount(of, output, 10), np.bincount(of, y, 10)
    return rows, *(total / np.maximum(rows, 1) for total in sums)


def calibration_error(output, y, equal=False):
    """Return the mean distance between output and share of yes, over the rows of all bins."""
    rows, said, happened = bins(output, y, equal)
    return float((rows * abs(said - happened)).sum() / len(y))


# --8<-- [end:bins]


# --8<-- [start:networks]
def network(loss=keras.losses.BinaryCrossentropy):
    """Return a network of two hidden layers that ends in a logit."""
    keras.utils.set_random_seed(0)
    hidden = [keras.layers.Dense(32, "relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((6,)), *hidden, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.003), loss(from_logits=True))
    return model


def fit(model, rows=20_000, epochs=20, batch=500, weight=1):
    """Train; return the logits for validation and held-out rows."""
    model.fit(
        x_train[:rows],
        y_train[:rows, None],
        batch_size=batch,
        epochs=epochs,
        class_weight={0: 1, 1: weight},
        verbose=0,
    )
    return logits(model)


def logits(model):
    return [model(x).numpy()[:, 0].astype(float) for x in (x_valid, x_test)]


WEIGHT = 9
_, plain = fit(network())
_, weighted = fit(network(), weight=WEIGHT)
sure_valid, sure = fit(network(), rows=2_000, epochs=60, batch=100)  # for too long
# --8<-- [end:networks]

# --8<-- [start:drawn]
kinds = [
    tf.data.Dataset.from_tensor_slices((x_train[rows], y_train[rows, None]))
    .shuffle(20_000, seed=0)
    .repeat()
    for rows in (y_train == 0, y_train == 1)
]
halves = tf.data.Dataset.sample_from_datasets(kinds, [0.5, 0.5], seed=0)
model = network()
model.fit(halves.batch(500).take(600), shuffle=False, verbose=0)
_, drawn = logits(model)
# A yes is drawn this many times as often as it comes, relative to a no.
times = float((y_train == 0).sum() / (y_train == 1).sum())
_, focal = fit(network(keras.losses.BinaryFocalCrossentropy))
# --8<-- [end:drawn]

once = [  # the same labels without `repeat`
    tf.data.Dataset.from_tensor_slices(y_train[y_train == label]) for label in (0, 1)
]
order = tf.data.Dataset.sample_from_datasets(once, [0.5, 0.5], seed=0)
order = np.concatenate([*order.batch(1000).as_numpy_iterator()])
last_yes = int(order.nonzero()[0][-1])


# --8<-- [start:temperature]
def cross_entropy(logit, y):
    return float(np.mean(np.logaddexp(0, logit) - y * logit))


temperatures = np.geomspace(0.25, 8, 200)
costs = [cross_entropy(sure_valid / t, y_valid) for t in temperatures]
temperature = float(temperatures[np.argmin(costs)])
print(f"temperature: {temperature:.1f}")
# --8<-- [end:temperature]

# --8<-- [start:errors]
outputs = {
    "the true chance": sigmoid(true_logit),
    "no weights": sigmoid(plain),
    "class_weight 9": sigmoid(weighted),
    "class_weight 9, undone": sigmoid(weighted - np.log(WEIGHT)),
    "half of the rows drawn a yes": sigmoid(drawn),
    "half drawn a yes, undone": sigmoid(drawn - np.log(times)),
    "focal loss": sigmoid(focal),
    "trained too long": sigmoid(sure),
    "trained too long, temperature": sigmoid(sure / temperature),
    "the share for every row": np.full(len(y_test), y_train.mean()),
}
off = {name: calibration_error(output, y_test) for name, output in outputs.items()}
for name, error in off.items():
    print(f"{name:30} off by {error:.3f} on average")
# --8<-- [end:errors]

# --8<-- [start:rare]
_, y_rare, rare_logit = draw(500_000, seed=3, bias=-10.0)
flat = np.exp(rare_logit / 2)  # the right order, and far from frequencies ...
flat = np.minimum(flat * y_rare.mean() / flat.mean(), 1)  # ... but the right mean
of_rare = {"the true chance": sigmoid(rare_logit), "the same, flattened": flat}
print(
    f"{1000 * y_rare.mean():.1f} rows in a thousand are a yes; off by, relative to that:"
)
rare_off = {}
for name, output in of_rare.items():
    rare_off[name] = [
        calibration_error(output, y_rare, equal) / y_rare.mean()
        for equal in (False, True)
    ]
    print(
        f"{name:20} even bins {rare_off[name][0]:.1f}, equal bins {rare_off[name][1]:.1f}"
    )
# --8<-- [end:rare]

at_half = bins(outputs["no weights"], y_test)[2][5]  # outputs from 0.5 to 0.6
between = (sigmoid(weighted) > 0.45) & (sigmoid(weighted) < 0.55)
rows, said, happened = bins(outputs["trained too long"], y_test)
weighted_costs = [cross_entropy(weighted / t, y_test) for t in temperatures]
best_for_weighted = temperatures[np.argmin(weighted_costs)]
claims = {
    "about_one_in_ten": bool(0.08 < y_test.mean() < 0.12),
    "true_chances_are_calibrated": off["the true chance"] < 0.005,
    "outputs_without_weights_are_frequencies": bool(
        off["no weights"] < 0.02 and abs(at_half - 0.55) < 0.1
    ),
    "weighted_outputs_are_frequencies": off["class_weight 9"] < 0.1,
    "a_weighted_half_is_a_yes_in_one_of_ten": bool(
        0.06 < y_test[between].mean() < 0.14
    ),
    "undone_outputs_are_frequencies": off["class_weight 9, undone"] < 0.02,
    "drawn_outputs_are_frequencies": off["half of the rows drawn a yes"] < 0.1,
    "without_repeat_the_yes_rows_run_out": bool(
        len(order) == len(y_train)
        and last_yes < 0.3 * len(order)
        and order[:last_yes].mean() > 0.45
    ),
    "the_formula_undoes_drawing": off["half drawn a yes, undone"] < 0.025,
    "focal_outputs_are_frequencies": off["focal loss"] < 0.03,
    "focal_outputs_are_nearer_to_a_half": bool(
        np.abs(sigmoid(focal) - 0.5).mean() < np.abs(sigmoid(plain) - 0.5).mean() - 0.03
    ),
    "a_temperature_undoes_weights": calibration_error(
        sigmoid(weighted / best_for_weighted), y_test
    )
    < 0.5 * off["class_weight 9"],
    "trained_too_long_is_too_sure": bool(
        said[-1] - happened[-1] > 0.05 and happened[0] - said[0] > 0.01
    ),
    "a_temperature_helps_the_network_that_is_too_sure": temperature > 1.1
    and off["trained too long, temperature"] < 0.8 * off["trained too long"],
    "even_bins_pass_a_flat_output": bool(rare_off["the same, flattened"][0] < 0.2),
    "equal_bins_do_not": bool(
        rare_off["the same, flattened"][1] > 3 * rare_off["the true chance"][1]
        and rare_off["the same, flattened"][1] > 0.3
    ),
    "one_output_for_all_rows_ranks": float(
        keras.metrics.AUC()(y_test, np.full(y_test.shape, y_train.mean()))
    )
    > 0.6,
    "one_output_for_all_rows_is_calibrated": off["the share for every row"] < 0.02,
}
measures = {
    "share": round(float(y_test.mean()), 2),
    "weight": WEIGHT,
    "temperature": round(temperature, 1),
    "too_sure": round(off["trained too long"], 3),
    "with_temperature": round(off["trained too long, temperature"], 3),
    "last_yes": round(100 * last_yes / len(order)),
    "drawn": round(off["half of the rows drawn a yes"], 2),
    "focal": round(off["focal loss"], 2),
    "with_weights": round(off["class_weight 9"], 2),
    "last_said": round(float(said[-1]), 2),
    "last_happened": round(float(happened[-1]), 2),
}


def points(name):
    rows, said, happened = bins(outputs[name], y_test)
    filled = rows >= 50
    return {
        "x": said[filled].round(3).tolist(),
        "y": happened[filled].round(3).tolist(),
    }


figures = {
    "reliability": {
        "kind": "scatter",
        "title": "What was said, and how often it happened",
        "xlabel": "mean output of the bin",
        "ylabel": "share of yes in the bin",
        "series": {
            name: points(name)
            for name in (
                "no weights",
                "class_weight 9",
                "trained too long",
                "trained too long, temperature",
            )
        },
    }
}
