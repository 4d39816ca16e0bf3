# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""Several labels per image: one sigmoid per label and binary cross-entropy; and what softmax does to such labels."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

images, digit = load_digits(return_X_y=True)
labels = ["even", "five or more", "has a loop", "prime"]
has = np.stack(
    [
        digit % 2 == 0,
        digit >= 5,
        np.isin(digit, [0, 6, 8, 9]),
        np.isin(digit, [2, 3, 5, 7]),
    ],
    axis=1,
)
x_train, x_test, y_train, y_test = train_test_split(
    (images / 16).astype("float32"),
    has.astype("float32"),
    test_size=0.3,
    random_state=0,
    stratify=digit,
)
print("an 8:", dict(zip(labels, has[digit == 8][0].tolist(), strict=True)))
print(
    "images with 0, 1, 2, 3 of the four labels:",
    np.bincount(has.sum(axis=1).astype(int)),
)
# --8<-- [end:data]


# --8<-- [start:model]
def fit(activation, loss, seed=0):
    """Train four units on top of one hidden layer.

    Return the outputs for the held-out images, two metrics, and the outputs for the training images.
    """
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(32, "relu"),
            keras.layers.Dense(4, activation),
        ]
    )
    model.compile(
        keras.optimizers.Adam(0.005),
        loss=loss,
        metrics=["accuracy", keras.metrics.BinaryAccuracy()],
    )
    rows = (
        tf.data.Dataset.from_tensor_slices((x_train, y_train))
        .shuffle(2000, seed=seed)
        .batch(64)
    )
    model.fit(rows, epochs=15, shuffle=False, verbose=0)
    held_out = tf.data.Dataset.from_tensors((x_test, y_test))
    metrics = model.evaluate(held_out, return_dict=True, verbose=0)
    return model(x_test).numpy(), metrics, model(x_train).numpy()


def score(said):
    """Return the share of single labels that are right, and of images with all four right."""
    return float(np.mean(said == y_test)), float(np.mean((said == y_test).all(axis=1)))


sigmoids = [fit("sigmoid", "binary_crossentropy", seed) for seed in range(3)]
right = [score(output > 0.5) for output, *_ in sigmoids]
usual = score(np.broadcast_to(y_train.mean(axis=0) > 0.5, y_test.shape))
print(
    f"always the more frequent value: {usual[0]:.2f} of the labels right, all four right: {usual[1]:.2f}"
)
for seed, (single, whole) in enumerate(right):
    print(
        f"four sigmoids, seed {seed}:          {single:.2f} of the labels right, all four right: {whole:.2f}"
    )
# --8<-- [end:model]

# --8<-- [start:accuracy]
output, reported, _ = sigmoids[0]
largest = float(np.mean(output.argmax(axis=1) == y_test.argmax(axis=1)))
print(f"metrics=['accuracy']:  {reported['accuracy']:.1f}")
print(f"same largest of four:  {largest:.1f}")
print(f"BinaryAccuracy():      {reported['binary_accuracy']:.2f}")
print(f"single labels right:   {right[0][0]:.2f}")
# --8<-- [end:accuracy]

# --8<-- [start:softmax]
heads = {
    "sigmoid, BCE": sigmoids[0],
    "softmax, categorical CE": fit("softmax", "categorical_crossentropy"),
    "softmax, BCE": fit("softmax", "binary_crossentropy"),
    "sigmoid, categorical CE": fit("sigmoid", "categorical_crossentropy"),
}
outputs = {name: output for name, (output, *_) in heads.items()}
scores = {name: score(output > 0.5) for name, output in outputs.items()}
most = {name: int((output > 0.5).sum(axis=1).max()) for name, output in outputs.items()}
for name, (single, whole) in scores.items():
    print(
        f"{name:24} labels {single:.2f}, all four {whole:.2f}, never more than {most[name]} labels at once"
    )
# --8<-- [end:softmax]


# --8<-- [start:lower]
def at_its_best(held_out, _, seen):
    """Choose the threshold by the training images; return it, and the share of held-out images with all four right."""
    candidates = np.linspace(0.02, 0.98, 49)
    shares = [float(((seen > t) == y_train).all(axis=1).mean()) for t in candidates]
    best = candidates[np.argmax(shares)]
    return float(best), score(held_out > best)[1]


at_best = {
    name: at_its_best(*heads[name])
    for name in ("sigmoid, BCE", "softmax, categorical CE")
}
for name, (best, whole) in at_best.items():
    print(f"{name:24} threshold {best:.2f}: all four {whole:.2f}")
# --8<-- [end:lower]

# --8<-- [start:recall]
recall = {
    name: [float((output > 0.5)[y_test[:, i] == 1, i].mean()) for i in range(4)]
    for name, output in outputs.items()
}
for name in ("sigmoid, BCE", "softmax, categorical CE"):
    print(
        f"{name:24} finds",
        ", ".join(
            f"{r:.2f} of '{label}'"
            for r, label in zip(recall[name], labels, strict=True)
        ),
    )
# --8<-- [end:recall]

# --8<-- [start:auc]
shares = y_train.mean(axis=0)
constant = np.broadcast_to(shares, y_test.shape)  # one answer for all rows
apart = keras.metrics.AUC(multi_label=True, num_labels=4)
ranked = {}
for name, auc in {"together": keras.metrics.AUC(), "label by label": apart}.items():
    ranked[name] = float(auc(y_test, constant))
    print(f"AUC of one answer for all rows, {name}: {ranked[name]:.2f}")
# --8<-- [end:auc]

notes = {
    "sigmoid, BCE": "four yes-or-no questions, each with its own answer",
    "softmax, categorical CE": "the labels compete for one total of 1, so at most one passes a half",
    "softmax, BCE": "Keras trains it as sigmoids and predicts with softmax",
    "sigmoid, categorical CE": "Keras trains it as softmax and predicts with sigmoid: no output means anything alone",
}
several = y_test.sum(axis=1) >= 2
# What class_weight weighs, on weights that no training has touched: the loss of the first and only batch, and by hand.
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(4, "sigmoid")])
model.compile("sgd", "binary_crossentropy")
p, weight = model(x_train).numpy(), np.array([1, 5, 1, 1])
each_label = -np.log(np.where(y_train == 1, p, 1 - p))
weighted = model.fit(
    x_train,
    y_train,
    batch_size=len(x_train),
    class_weight=dict(enumerate(weight.tolist())),
    verbose=0,
).history["loss"][0]
by_label = tf.nn.weighted_cross_entropy_with_logits(
    y_train, np.log(p / (1 - p)), weight.astype("float32")
)
first_true = np.mean(weight[y_train.argmax(axis=1)] * each_label.mean(axis=1))
claims = {
    "softmax_at_its_best_threshold_is_as_good": at_best["softmax, categorical CE"][1]
    > at_best["sigmoid, BCE"][1] - 0.2,
    "sigmoid_beats_frequent_value": bool(min(r[0] for r in right) > usual[0] + 0.2),
    "sigmoid_all_four_above_seven_tenths": bool(min(r[1] for r in right) > 0.7),
    "accuracy_compares_the_largest": bool(abs(reported["accuracy"] - largest) < 1e-3),
    "accuracy_counts_labels": bool(abs(reported["accuracy"] - right[0][0]) < 0.1),
    "binary_accuracy_counts_labels": bool(
        abs(reported["binary_accuracy"] - right[0][0]) < 1e-3
    ),
    "labels_occur_together": bool((has.sum(axis=1) > 1).any()),
    "labels_exclude_each_other": bool((has.sum(axis=1) <= 1).all()),
    "some_rows_have_no_label": bool((has.sum(axis=1) == 0).any()),
    "softmax_names_at_most_one": bool(
        most["softmax, categorical CE"] <= 1 and most["softmax, BCE"] <= 1
    ),
    "sigmoid_names_several": bool(most["sigmoid, BCE"] >= 2),
    "softmax_never_right_on_several": bool(
        not (
            ((outputs["softmax, categorical CE"] > 0.5) == y_test).all(axis=1) & several
        ).any()
    ),
    "softmax_ce_as_good": bool(
        scores["softmax, categorical CE"][1] > right[0][1] - 0.1
    ),
    "softmax_bce_as_good": bool(scores["softmax, BCE"][1] > right[0][1] - 0.1),
    "sigmoid_ce_as_good": bool(
        scores["sigmoid, categorical CE"][1] > right[0][1] - 0.1
    ),
    "class_weight_weighs_rows_by_the_first_true_label": bool(
        np.isclose(weighted, first_true, rtol=1e-3)
    ),
    "class_weight_weighs_each_label": bool(
        np.isclose(weighted, np.mean(weight * each_label), rtol=1e-3)
    ),
    "pos_weight_weighs_the_true_labels": bool(
        np.allclose(by_label, np.where(y_train == 1, weight, 1) * each_label, atol=1e-4)
    ),
    "class_weight_changes_nothing": bool(
        np.isclose(weighted, each_label.mean(), rtol=1e-3)
    ),
    "one_auc_for_all_labels_rewards_knowing_the_frequent": ranked["together"] > 0.52,
    "aucs_of_the_labels_do_not": abs(ranked["label by label"] - 0.5) < 0.01,
    "sigmoid_rows_sum_to_one": bool(
        np.allclose(outputs["sigmoid, BCE"].sum(axis=1), 1, atol=0.01)
    ),
}
measures = {
    "frequent_labels": round(usual[0], 2),
    "frequent_all": round(usual[1], 2),
    "sigmoid_labels": round(float(np.mean([r[0] for r in right])), 2),
    "sigmoid_all": round(float(np.mean([r[1] for r in right])), 2),
    "softmax_all": round(scores["softmax, categorical CE"][1], 2),
}
figures = {
    "recall": {
        "kind": "bars",
        "title": "Share of each label's images that are found",
        "ylabel": "found",
        "categories": labels,
        "series": {
            "four sigmoids": [round(r, 2) for r in recall["sigmoid, BCE"]],
            "softmax": [round(r, 2) for r in recall["softmax, categorical CE"]],
        },
    }
}
tables = {
    "pairings": {
        "columns": [
            "Head, loss",
            "Labels right",
            "All four right",
            "Most labels at once",
            "What happens",
        ],
        "rows": [
            [n, round(scores[n][0], 2), round(scores[n][1], 2), most[n], notes[n]]
            for n in outputs
        ],
    }
}
