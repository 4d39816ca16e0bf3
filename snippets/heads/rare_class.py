# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.02
# ///
"""AUC of a really rare class: even thresholds lie above nearly all outputs, thresholds even in the logit do not."""

# --8<-- [start:data]
import keras
import numpy as np

FEATURES, APART = 4, 0.75  # a yes is higher by that many deviations, in each feature


def draw(share, seed=0, rows=200_000):
    """Draw rows, a `share` of them yes: features, labels and, by Bayes, true logits."""
    y = np.arange(rows) < round(share * rows)
    noise = np.random.default_rng(seed).normal(size=(rows, FEATURES))
    x = noise + APART * y[:, None]
    evidence = APART * x.sum(axis=1) - FEATURES * APART**2 / 2
    return x.astype("float32"), y, np.log(share / (1 - share)) + evidence


def exact_auc(y, output):
    """Count by ranks the pairs, one yes and one no, in which the yes is higher."""
    y = np.asarray(y, bool)  # as numbers, 0 and 1 would pick the first two rows
    _, place, times = np.unique(output, return_inverse=True, return_counts=True)
    rank = (np.cumsum(times) - (times - 1) / 2)[place]  # equal outputs share their rank
    yes, no = y.sum(), (~y).sum()
    return float((rank[y].sum() - yes * (yes + 1) / 2) / (yes * no))


# --8<-- [end:data]


# --8<-- [start:auc]
def keras_auc(y, output, **options):
    """Return what `keras.metrics.AUC` says, fed in ten batches."""
    metric = keras.metrics.AUC(**options)
    for part in np.array_split(np.arange(len(y)), 10):
        metric.update_state(y[part], output[part])
    return float(metric.result())


def sigmoid(logit):
    return 1 / (1 + np.exp(-logit))


even_in_the_logit = sigmoid(np.linspace(-20, 20, 198)).tolist()
results = {}
for share in (0.1, 0.01, 0.001, 0.0001):
    _, y, logit = draw(share)
    weight = (1 - share) / share  # a balancing weight multiplies the odds by it
    results[share] = {
        "exact": exact_auc(y, logit),
        "default": keras_auc(y, sigmoid(logit)),
        "from_logits": keras_auc(y, logit, from_logits=True),
        "balanced": keras_auc(y, sigmoid(logit + np.log(weight))),
        "cured": keras_auc(y, sigmoid(logit), thresholds=even_in_the_logit),
    }
# --8<-- [end:auc]

# --8<-- [start:fit]
SHARE = 0.001
x_train, y_train, _ = draw(SHARE, seed=1)
x_test, y_test, logit_test = draw(SHARE, seed=2)


def fit(weight):
    """Train one sigmoid unit, a yes counts `weight` times. Return its AUC in three ways."""
    keras.utils.set_random_seed(0)
    start = keras.initializers.Constant(np.log(weight * SHARE / (1 - SHARE)))
    unit = keras.layers.Dense(1, "sigmoid", bias_initializer=start)
    model = keras.Sequential([keras.Input((FEATURES,)), unit])
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    model.fit(
        x_train,
        y_train[:, None].astype("float32"),
        batch_size=5_000,
        epochs=5,
        class_weight={0: 1, 1: weight},
        verbose=0,
    )
    output = model(x_test).numpy()[:, 0]
    own = keras_auc(y_test, output, thresholds=even_in_the_logit)
    return exact_auc(y_test, output), keras_auc(y_test, output), own


plain, weighted = fit(1), fit(999)
for name, (exact, default, cured) in (("no", plain), ("class", weighted)):
    print(f"{name} weights: exact {exact:.2f}, AUC() {default:.2f}, own {cured:.2f}")
# --8<-- [end:fit]


def average_precision(y, output):
    """Return the mean, over all yes, of the precision at that output."""
    found = np.asarray(y, bool)[np.argsort(-output)]
    return float((np.cumsum(found) / np.arange(1, len(y) + 1))[found].mean())


def at(thresholds):
    """Return the shares of no and of yes above each threshold: points of the ROC curve."""
    output = sigmoid(logit_test)
    x, y = (
        [round(float(np.mean(output[of] > t)), 4) for t in thresholds]
        for of in (~y_test, y_test)
    )
    points = sorted(set(zip(x, y, strict=True)))
    return {"x": [p[0] for p in points], "y": [p[1] for p in points]}


rarest = draw(0.0001)
pr_exact = average_precision(rarest[1], rarest[2])
pr_default = keras_auc(rarest[1], sigmoid(rarest[2]), curve="PR")
even = keras.metrics.AUC().thresholds
first = even[1]
below = sigmoid(logit_test) < first
off = {
    share: {name: abs(value - of["exact"]) for name, value in of.items()}
    for share, of in results.items()
}
pairs = rarest[2][rarest[1]][:, None] > rarest[2][~rarest[1]]
expected = np.mean(sigmoid(logit_test)[below]), np.mean(y_test[below])
claims = {
    "exact_is_the_share_of_pairs_in_order": bool(
        np.isclose(pairs.mean(), results[0.0001]["exact"])
    ),
    "labels_as_whole_numbers_give_the_same": results[0.0001]["exact"]
    == exact_auc(rarest[1].astype(int), rarest[2])
    and pr_exact == average_precision(rarest[1].astype(int), rarest[2]),
    "true_outputs_are_frequencies": bool(np.isclose(*expected, rtol=0.2)),
    "default_holds_at_one_in_ten": off[0.1]["default"] < 0.01,
    "default_holds_at_one_in_a_thousand": off[0.001]["default"] < 0.01,
    "default_off_at_one_in_a_thousand": off[0.001]["default"] > 0.1,
    "default_says_a_guess_at_one_in_ten_thousand": results[0.0001]["default"] < 0.55,
    "from_logits_cures": off[0.001]["from_logits"] < 0.1,
    "thresholds_in_the_logit_cure": max(of["cured"] for of in off.values()) < 0.01,
    "balanced_odds_look_right": max(of["balanced"] for of in off.values()) < 0.01,
    "default_thresholds_are_even": bool(
        np.allclose(even, np.arange(200) / 199, atol=1e-6)
    ),
    "nearly_all_below_the_first_threshold": bool(below.mean() > 0.95),
    "weights_rank_better": weighted[0] > plain[0] + 0.01,
    "default_says_weights_rank_better": weighted[1] > plain[1] + 0.1,
    "own_thresholds_are_right_for_both": max(
        abs(cured - exact) for exact, _, cured in (plain, weighted)
    )
    < 0.01,
    "pr_default_below_half_at_one_in_ten_thousand": pr_default < pr_exact / 2,
}
measures = {
    "below_first": round(100 * float(below.mean()), 1),
    "yes_below_first": round(100 * float(below[y_test].mean())),
    "exact": round(plain[0], 2),
    "default": round(plain[1], 2),
    "default_weighted": round(weighted[1], 2),
    "pr_exact": round(pr_exact, 5),
    "pr_default": round(pr_default, 5),
}
columns = {
    "exact": "By ranks",
    "default": "AUC()",
    "from_logits": "AUC(from_logits=True)",
    "balanced": "AUC(), odds balanced",
    "cured": "AUC(thresholds=...)",
}
tables = {
    "auc": {
        "columns": ["Share of yes", *columns.values()],
        "rows": [
            [f"{100 * share:g} %", *(round(of[name], 3) for name in columns)]
            for share, of in results.items()
        ],
    }
}
figures = {
    "curve": {
        "kind": "scatter",
        "title": "One row in a thousand is a yes",
        "xlabel": "share of no above the threshold",
        "ylabel": "share of yes above the threshold",
        "series": {
            "even in the logit": at([-1, *even_in_the_logit, 2]),
            "200 even thresholds": at(even),
        },
    }
}
