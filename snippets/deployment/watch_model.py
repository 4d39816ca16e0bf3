# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#   "tensorflow==2.21.*",
#   "keras==3.15.*",
#   "scikit-learn>=1.6",
#   "scipy>=1.12",
# ]
#
# [tool.guide]
# devices = 0
# seconds = 120
# tolerance = 0.4
# ///
"""Watch a deployed model: what its inputs and answers show, and what only labels show."""

# --8<-- [start:model]
import keras
import numpy as np
from scipy import stats
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
digits = load_digits()
x = (digits.images[..., None] / 16).astype("float32")
y = digits.target


def trained(rows, epochs):
    """Return a network trained on these rows."""
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x[rows], y[rows], epochs=epochs, verbose=0)
    return model


order = np.random.default_rng(0).permutation(len(x))
training, reference, later = order[:200], order[200:600], order[600:]
model = trained(training, 40)
# --8<-- [end:model]

# --8<-- [start:cases]
random = np.random.default_rng(1)
dirty = x[later].copy()
dirty[:, 0, 0, 0] = random.random(len(later))  # where no digit has ink
low = later[y[later] < 5]
turned = np.arange(10)
turned[[4, 7]] = 7, 4

served = {  # what arrives, and the labels that are known weeks later
    "as in training": (x[later], y[later]),
    "a dirty corner": (dirty, y[later]),
    "not divided by 16": (x[later] * 16, y[later]),
    "only digits below 5": (x[low], y[low]),
    "one pixel lower": (np.roll(x[later], 1, axis=1), y[later]),
    "divided by 16 twice": (x[later] / 16, y[later]),
    "4 and 7 exchanged": (x[later], turned[y[later]]),
}
# --8<-- [end:cases]


# --8<-- [start:signals]
def input_change(images, before=x[reference]):
    """Return the largest Kolmogorov-Smirnov distance of a pixel: 0 same, 1 apart."""
    now, then = (batch.reshape(len(batch), -1) for batch in (images, before))
    found = stats.ks_2samp(now, then, method="asymp")  # column by column
    return np.nan_to_num(found.statistic, nan=1.0).max()  # NaN is a change


def shares(answers):
    """Return the share of each class among the answers."""
    return np.bincount(answers, minlength=10) / len(answers)


usual = shares(model.predict(x[reference], verbose=0).argmax(1))
seen = {}
for name, (images, labels) in served.items():
    outputs = model.predict(images, verbose=0)
    answers = outputs.argmax(1)
    seen[name] = {
        "inputs": float(input_change(images)),
        "answers": float(np.abs(shares(answers) - usual).sum() / 2),
        "confidence": float(outputs.max(1).mean()),
        "accuracy": float((answers == labels).mean()),
    }
    numbers = "inputs {inputs:.2f}, answers {answers:.3f}, confidence {confidence:.2f}"
    print(f"{name:20}", numbers.format(**seen[name]))
# --8<-- [end:signals]

# --8<-- [start:accuracy]
for name, numbers in seen.items():
    print(f"{name:20} accuracy {numbers['accuracy']:.2f}")
# --8<-- [end:accuracy]

# --8<-- [start:limit]
unchanged = x[np.concatenate([reference, later])]
chance = []
for _ in range(100):
    mixed = random.permutation(len(unchanged))
    before, after = np.split(unchanged[mixed], [len(reference)])
    chance.append(input_change(after, before))
limit = float(np.quantile(chance, 0.99))
print(f"99 of 100 times below {limit:.2f}")
# --8<-- [end:limit]


# --8<-- [start:psi]
def psi(before, after):
    """Return the population stability index of two lists of counts, one for each bin."""
    p, q = ((n + 1e-3) / (n + 1e-3).sum(-1, keepdims=True) for n in (before, after))
    return ((q - p) * np.log(q / p)).sum(-1)


BINS, TIMES = 10, 20_000
average, alarms = {}, {}
for rows in (100, 300, 1000, 10_000):
    before, after = random.multinomial(rows, [1 / BINS] * BINS, size=(2, TIMES))
    found = psi(before, after)
    average[rows] = float(found.mean()), (BINS - 1) * 2 / rows
    alarms[rows] = float((found > 0.1).mean())
    print(f"{rows} rows: {average[rows][0]:.3f}, above 0.1: {alarms[rows]:.2f}")
# --8<-- [end:psi]

# --8<-- [start:p]
many = random.normal(size=(2, 1_000_000))
many[1] += 0.01  # a hundredth of the standard deviation
tiny = stats.ks_2samp(*many, method="asymp")
print(f"distance {tiny.statistic:.3f}, p-value below 0.001: {tiny.pvalue < 0.001}")
# --8<-- [end:p]

# --8<-- [start:sample]
right = model.predict(x[later], verbose=0).argmax(1) == y[later]
sizes = {}
for size in (100, 400):
    samples = random.choice(right, size=(20_000, size))
    accuracy = right.mean()
    formula = np.sqrt(accuracy * (1 - accuracy) / size)
    sizes[size] = float(samples.mean(1).std()), float(formula)
    print(f"{size} labels: accuracy {accuracy:.3f} ± {2 * sizes[size][0]:.3f}")
# --8<-- [end:sample]

# --8<-- [start:shadow]
candidate = trained(order[:600], 40)  # and with the rows that came since
old, new = (one.predict(x[later], verbose=0).argmax(1) for one in (model, candidate))
differ = np.flatnonzero(old != new)


def gain(rows):
    """Return how many more of these rows the new version has right."""
    right = [(answers[rows] == y[later][rows]).sum() for answers in (old, new)]
    return int(right[1] - right[0])


everywhere = np.arange(len(later))
print(f"{len(differ) / len(later):.3f} of the answers differ")
print(f"from their labels: {gain(differ) / len(later):+.3f}")
print(f"from all labels: {gain(everywhere) / len(later):+.3f}")
# --8<-- [end:shadow]

hole = x[later].copy()
hole[0, 0, 0, 0] = np.nan  # one pixel of one image
bare = stats.ks_2samp(
    *(batch.reshape(len(batch), -1) for batch in (hole, x[reference])), method="asymp"
).statistic

NORMAL = seen["as in training"]
harm = {name: NORMAL["accuracy"] - one["accuracy"] for name, one in seen.items()}
alarm = {name: numbers["inputs"] > limit for name, numbers in seen.items()}
moved = {name: one["answers"] - NORMAL["answers"] for name, one in seen.items()}
confident = {name: one["confidence"] - one["accuracy"] for name, one in seen.items()}
exchanged = seen["4 and 7 exchanged"]
names = list(seen)

claims = {
    "no_alarm_without_a_change": not alarm["as in training"],
    "one_nan_raises_an_alarm": bool(input_change(hole) > limit),
    "without_nan_to_num_it_would_not": not bare.max() > limit,
    "a_row_of_nan_looks_like_class_0": int(np.full(10, np.nan).argmax()) == 0,
    "alarms_without_harm": all(
        alarm[name] and abs(harm[name]) < 0.02
        for name in ("a dirty corner", "not divided by 16", "only digits below 5")
    ),
    "alarms_with_harm": all(
        alarm[name] and harm[name] > 0.2
        for name in ("one pixel lower", "divided by 16 twice")
    ),
    "the_larger_change_may_do_no_harm": (
        seen["a dirty corner"]["inputs"] > seen["one pixel lower"]["inputs"]
        and abs(harm["a dirty corner"]) < 0.02 < harm["one pixel lower"]
    ),
    "answers_move_without_harm": (
        moved["only digits below 5"] > moved["one pixel lower"] > 0.1
        and abs(harm["only digits below 5"]) < 0.02
    ),
    "a_new_meaning_shows_in_labels_alone": (
        exchanged | {"accuracy": 1} == NORMAL | {"accuracy": 1}
        and harm["4 and 7 exchanged"] > 0.1
    ),
    "confidence_is_no_accuracy": (
        confident["one pixel lower"] > 0.03 and confident["divided by 16 twice"] < -0.03
    ),
    "confidence_rises_without_better_answers": (
        seen["not divided by 16"]["confidence"] > NORMAL["confidence"] + 0.05
        and harm["not divided by 16"] > -0.02
    ),
    "psi_of_no_change_is_the_formula": all(
        abs(found / formula - 1) < 0.1 for found, formula in average.values()
    ),
    "psi_alarms_on_few_rows": alarms[100] > 0.5,
    "psi_is_quiet_on_many_rows": alarms[10_000] == 0,
    "a_tiny_change_is_significant": bool(tiny.pvalue < 0.001 and tiny.statistic < 0.01),
    "four_times_the_labels_halve_the_error": all(
        abs(found / formula - 1) < 0.1 for found, formula in sizes.values()
    ),
    "differing_answers_hold_the_whole_difference": gain(differ) == gain(everywhere) > 0,
    "few_answers_differ": len(differ) < len(later) / 5,
}
measures = {"limit": limit, "served": len(later), "differ": len(differ) / len(later)}
figures = {
    "signals": {
        "kind": "bars",
        "horizontal": True,
        "categories": names,
        "series": {
            "change of the inputs": [seen[name]["inputs"] for name in names],
            "change of the answers": [seen[name]["answers"] for name in names],
            "accuracy lost": [max(0.0, harm[name]) for name in names],
        },
        "xlabel": "share, 0 to 1",
    }
}
