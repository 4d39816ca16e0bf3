# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Metrics and options of losses, each with the labels that it needs and its value by NumPy; and labels that raise."""

# --8<-- [start:rows]
import re

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
yes = np.array([[1], [0], [1], [0], [0], [1]], "float32")  # (n, 1)
chance = np.array([[0.9], [0.2], [0.4], [0.3], [0.1], [0.8]], "float32")
number = np.array([0, 1, 2, 2, 1, 0])  # (n,)
one_hot = np.eye(3, dtype="float32")[number]  # (n, 3)
outputs = rng.dirichlet(np.ones(3), 6).astype("float32")
several = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1], [1, 0, 0]] + 2 * [[0, 1, 0]])
several = several.astype("float32")  # (n, 3), any number of ones
each = rng.random((6, 3)).astype("float32")
gaps = np.array([0, 1, -1, 2, -1, 0])  # -1: no label
# --8<-- [end:rows]

# --8<-- [start:calls]
losses, metrics = keras.losses, keras.metrics
calls = {
    "BinaryAccuracy()": (metrics.BinaryAccuracy(), yes, chance),
    "F1Score(threshold=0.5)": (metrics.F1Score(threshold=0.5), yes, chance),
    "BinaryCrossentropy(label_smoothing=0.1)": (
        losses.BinaryCrossentropy(label_smoothing=0.1),
        yes,
        chance,
    ),
    "SparseTopKCategoricalAccuracy(k=2)": (
        metrics.SparseTopKCategoricalAccuracy(k=2),
        number,
        outputs,
    ),
    "TopKCategoricalAccuracy(k=2)": (
        metrics.TopKCategoricalAccuracy(k=2),
        one_hot,
        outputs,
    ),
    'F1Score(average="macro")': (metrics.F1Score(average="macro"), one_hot, outputs),
    "Precision()": (metrics.Precision(), one_hot, outputs),
    "Precision(class_id=2)": (metrics.Precision(class_id=2), one_hot, outputs),
    "SparseCategoricalCrossentropy(ignore_class=-1)": (
        losses.SparseCategoricalCrossentropy(ignore_class=-1),
        gaps,
        outputs,
    ),
    'F1Score(average="macro", threshold=0.5)': (
        metrics.F1Score(average="macro", threshold=0.5),
        several,
        each,
    ),
}
values = {name: float(np.squeeze(call(y, o))) for name, (call, y, o) in calls.items()}
# --8<-- [end:calls]


# --8<-- [start:by_hand]
def f1(truth, said):
    """Return twice the hits, divided by the yes rows plus the answers "yes", for each column."""
    hits = (truth * said).sum(axis=0)
    return 2 * hits / (truth.sum(axis=0) + said.sum(axis=0))


smooth = 0.9 * yes + 0.05
best_two = np.argsort(outputs, axis=1)[:, -2:]
in_two = (best_two == number[:, None]).any(axis=1).mean()
above = outputs > 0.5  # a row without any True names no class
labelled = gaps >= 0
of_class = np.log(outputs[labelled, gaps[labelled]])
by_hand = [
    np.mean((chance > 0.5) == yes),
    f1(yes, chance > 0.5)[0],
    -np.mean(smooth * np.log(chance) + (1 - smooth) * np.log(1 - chance)),
    in_two,
    in_two,
    f1(one_hot, np.eye(3)[outputs.argmax(axis=1)]).mean(),
    one_hot[above].mean(),
    one_hot[above[:, 2], 2].mean(),
    -of_class.mean(),  # over the rows that have a label
    f1(several, each > 0.5).mean(),
]
equal = {
    name: bool(np.isclose(value, expected, atol=1e-4))
    for (name, value), expected in zip(values.items(), by_hand, strict=True)
}
for (name, value), expected in zip(values.items(), by_hand, strict=True):
    print(f"{name:46} {value:.3f}, by hand {expected:.3f}")
# --8<-- [end:by_hand]

# --8<-- [start:wrong]
without_threshold = float(metrics.F1Score()(yes, chance)[0])
all_yes = float(f1(yes, np.ones_like(yes))[0])
print(f"F1Score() on one unit: {without_threshold:.3f}; yes to every row {all_yes:.3f}")
mistakes = {
    "f1_of_logits": lambda: metrics.F1Score(threshold=0.0),
    "f1_flat": lambda: metrics.F1Score(threshold=0.5)(yes[:, 0], chance[:, 0]),
    "f1_column": lambda: metrics.F1Score(average="macro")(number[:, None], outputs),
    "f1_numbers": lambda: metrics.F1Score(average="macro")(number, outputs),
    "precision_numbers": lambda: metrics.Precision()(number, outputs),
    "recall_numbers": lambda: metrics.Recall()(number, outputs),
    "precision_class_id": lambda: metrics.Precision(class_id=2)(number, outputs),
    "top_k_one_hot": lambda: metrics.SparseTopKCategoricalAccuracy(k=2)(
        one_hot, outputs
    ),
    "top_k_numbers": lambda: metrics.TopKCategoricalAccuracy(k=2)(number, outputs),
}
errors, silent = {}, {}
for name, mistake in mistakes.items():
    try:
        silent[name] = float(np.squeeze(mistake()))
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        text = re.sub(r"\{\{.*?\}\} ", "", str(error)).split(" [Op")[0].strip()
        errors[name] = f"{type(error).__name__}: {text}"
        print(f"{name}: {errors[name]}")
for name, value in silent.items():
    print(f"{name}: no error, {value:.3f}")
# --8<-- [end:wrong]

one_unit, classes = "yes or no", "one of C classes"
shown = {
    "BinaryAccuracy()": (one_unit, "0 or 1, shape (n, 1)"),
    "F1Score(threshold=0.5)": (one_unit, "0 or 1, shape (n, 1)"),
    "BinaryCrossentropy(label_smoothing=0.1)": (one_unit, "0 or 1, shape (n, 1)"),
    "SparseTopKCategoricalAccuracy(k=2)": (classes, "class numbers, shape (n,)"),
    "TopKCategoricalAccuracy(k=2)": (classes, "one-hot rows, shape (n, C)"),
    'F1Score(average="macro")': (classes, "one-hot rows, shape (n, C)"),
    "Precision()": (classes, "one-hot rows, shape (n, C)"),
    "Precision(class_id=2)": (classes, "one-hot rows, shape (n, C)"),
    "SparseCategoricalCrossentropy(ignore_class=-1)": (
        "one of C classes, some rows without a label",
        "class numbers and -1, shape (n,)",
    ),
    'F1Score(average="macro", threshold=0.5)': (
        "several labels",
        "0 or 1 for each label, shape (n, C)",
    ),
}
claims = {
    "every_row_equals_numpy": all(equal.values()),
    "f1_is_an_array": metrics.F1Score(threshold=0.5)(yes, chance).shape == (1,)
    and metrics.F1Score(average="macro", threshold=0.5)(yes, chance).shape == (),
    "f1_without_threshold_says_yes_to_every_row": bool(
        np.isclose(without_threshold, all_yes, atol=1e-5)
    ),
    "f1_of_class_numbers_in_a_column_is_right": bool(
        np.isclose(silent.get("f1_column", np.nan), by_hand[5], atol=1e-3)
    ),
    "class_numbers_in_a_column_raise": "f1_column" in errors,
    "class_numbers_raise": {"f1_numbers", "top_k_numbers", "precision_numbers"}
    <= set(errors),
    "precision_of_one_class_with_numbers_is_right": bool(
        np.isclose(silent.get("precision_class_id", np.nan), by_hand[7], atol=1e-3)
    ),
    "flat_labels_raise": "f1_flat" in errors,
    "ignored_rows_count_in_the_mean": bool(
        np.isclose(
            values["SparseCategoricalCrossentropy(ignore_class=-1)"],
            -of_class.sum() / len(gaps),
            rtol=0.01,
        )
    ),
}
tables = {
    "labels": {
        "columns": ["Task", "Loss or metric", "Labels", "Equals NumPy"],
        "rows": [[task, name, y, equal[name]] for name, (task, y) in shown.items()],
    }
}
