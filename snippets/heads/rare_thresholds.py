# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# tolerance = 0.02
# ///
"""Metrics of a rare class with 200 even thresholds, with 100,001, and counted from the sorted outputs."""

# --8<-- [start:metrics]
import keras
import numpy as np

rng = np.random.default_rng(0)
logit = rng.normal(-8, 1.5, size=400_000)
output = 1 / (1 + np.exp(-logit))  # the true chance of each row
y = rng.random(len(output)) < output
KINDS = {
    "AUC()": (keras.metrics.AUC, {}),
    'AUC(curve="PR")': (keras.metrics.AUC, {"curve": "PR"}),
    "RecallAtPrecision(0.01)": (keras.metrics.RecallAtPrecision, {"precision": 0.01}),
    "PrecisionAtRecall(0.5)": (keras.metrics.PrecisionAtRecall, {"recall": 0.5}),
    "SensitivityAtSpecificity(0.9)": (
        keras.metrics.SensitivityAtSpecificity,
        {"specificity": 0.9},
    ),
}


def by_keras(kind, options, count):
    """Return what the metric says with so many even thresholds, fed in batches."""
    metric = kind(**options, num_thresholds=count)
    for part in np.array_split(np.arange(len(y)), 10):
        metric.update_state(y[part], output[part])
    return float(metric.result())


few, many = (
    {name: by_keras(*kind, count) for name, kind in KINDS.items()}
    for count in (200, 100_001)
)
# --8<-- [end:metrics]


# --8<-- [start:sorted]
def from_sorted(y, output):
    """Return the same metrics, with a point of the curves for each output."""
    order = np.argsort(-output)  # from the highest to the lowest
    found = y[order].astype(bool)  # of whole numbers, ~ would be -1 and -2
    # Equal outputs are one point: their order must not matter.
    last = np.append(np.diff(output[order]) != 0, True)
    true, false = np.cumsum(found)[last], np.cumsum(~found)[last]
    precision = true / (true + false)
    recall, alarms = true / true[-1], false / false[-1]
    return {
        "AUC()": np.diff(alarms, prepend=0) @ (recall + np.append(0, recall[:-1])) / 2,
        'AUC(curve="PR")': precision @ np.diff(recall, prepend=0),
        "RecallAtPrecision(0.01)": recall[precision >= 0.01].max(),
        "PrecisionAtRecall(0.5)": precision[recall >= 0.5].max(),
        "SensitivityAtSpecificity(0.9)": recall[alarms <= 0.1].max(),
    }


sorted_out = from_sorted(y, output)
# --8<-- [end:sorted]

coarse, shuffled = output.round(3), rng.permutation(len(y))  # many equal outputs
tied = from_sorted(y, coarse)


def same(some, other):
    return all(np.isclose(some[name], other[name], rtol=1e-9) for name in KINDS)


claims = {
    "many_thresholds_are_right": all(
        np.isclose(many[name], sorted_out[name], rtol=0.05) for name in KINDS
    ),
    "all_of_200_are_too_low": all(
        few[name] < 0.95 * sorted_out[name] for name in KINDS
    ),
    "labels_as_whole_numbers_give_the_same": same(
        sorted_out, from_sorted(y.astype(int), output)
    ),
    "the_order_of_equal_outputs_does_not_matter": same(
        tied, from_sorted(y[shuffled], coarse[shuffled])
    ),
}
measures = {"share": round(1000 * float(y.mean()), 1)}
tables = {
    "metrics": {
        "columns": ["Metric", "200 thresholds", "100,001", "From the sorted outputs"],
        "rows": [
            [name, *(float(f"{of[name]:.3g}") for of in (few, many, sorted_out))]
            for name in KINDS
        ],
    }
}
