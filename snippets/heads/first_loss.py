# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""The head for each task: its output, its loss, and the loss that it must show before any training."""

# --8<-- [start:heads]
import keras
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

measured, progression = load_diabetes(return_X_y=True)
_, benign = load_breast_cancer(return_X_y=True)
_, digit = load_digits(return_X_y=True)
properties = np.stack(
    [
        digit % 2 == 0,
        digit >= 5,
        np.isin(digit, [0, 6, 8, 9]),
        np.isin(digit, [2, 3, 5, 7]),
    ],
    axis=1,
)

heads = {
    "regression": (
        1,
        None,
        keras.losses.MeanSquaredError(),
        ((progression - progression.mean()) / progression.std()),
    ),
    "binary": (1, "sigmoid", keras.losses.BinaryCrossentropy(), benign),
    "multiclass": (10, "softmax", keras.losses.SparseCategoricalCrossentropy(), digit),
    "multiclass, one-hot": (
        10,
        "softmax",
        keras.losses.CategoricalCrossentropy(),
        np.eye(10)[digit],
    ),
    "multi-label": (4, "sigmoid", keras.losses.BinaryCrossentropy(), properties),
}
# --8<-- [end:heads]

# --8<-- [start:first_loss]
expected = {
    "regression": 1.0,  # the variance of the scaled target
    "binary": np.log(2),  # one half for either class
    "multiclass": np.log(10),  # one tenth for each class
    "multiclass, one-hot": np.log(10),
    "multi-label": np.log(2),
}
outputs, losses = {}, {}
for task, (units, activation, loss, labels) in heads.items():
    # With a kernel of zeros it knows nothing yet.
    untrained = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(units, activation, kernel_initializer="zeros"),
        ]
    )
    column = labels.reshape(len(labels), -1).astype("float32")
    outputs[task] = untrained(np.ones((len(labels), 3))).numpy()
    losses[task] = float(loss(column, outputs[task]))
    print(
        f"{task:20} labels {column.shape!s:11} output {outputs[task].shape!s:11} loss {losses[task]:.4f}"
    )
# --8<-- [end:first_loss]

# --8<-- [start:zeros]
Sparse = keras.losses.SparseCategoricalCrossentropy
categorical = keras.losses.CategoricalCrossentropy()
mixed_up = np.random.default_rng(0).permutation(digit)
wrong = {  # like the heads above, each with one mistake
    "regression: target not scaled": (1, None, heads["regression"][2], progression),
    "regression: relu": (1, "relu", *heads["regression"][2:]),
    "binary: no activation": (1, None, *heads["binary"][2:]),
    "binary: classes swapped": (1, "sigmoid", heads["binary"][2], 1 - benign),
    "multiclass, one-hot: no activation": (10, None, categorical, np.eye(10)[digit]),
    "multiclass: no activation": (10, None, Sparse(), digit),
    "multiclass: softmax twice": (10, "softmax", Sparse(from_logits=True), digit),
    "multiclass: labels of other rows": (10, "softmax", Sparse(), mixed_up),
}
found = {}
for mistake, (units, activation, loss, labels) in wrong.items():
    zeros = np.zeros((len(labels), units), "float32")  # what the weights give
    output = keras.activations.get(activation)(zeros)
    column = labels.reshape(len(labels), -1).astype("float32")
    value = float(loss(column, output))
    right = expected[mistake.partition(":")[0]]
    found[mistake] = not np.isclose(value, right, atol=1e-3)
    print(f"{mistake:35} {value:10.3f}  {'found' if found[mistake] else 'not found'}")
# --8<-- [end:zeros]

# --8<-- [start:before_fit]
images, digit = load_digits(return_X_y=True)
x = (images / 16).astype("float32")
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10, "softmax")])
model.compile(keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy")
before = model.evaluate(x, digit, verbose=0)
first_of_fit = model.fit(x, digit, shuffle=False, verbose=0).history["loss"][0]
print(f"evaluate before fit {before:.1f}, the first number of fit {first_of_fit:.1f}")
# --8<-- [end:before_fit]

# --8<-- [start:scale]
scales = {"from 0 to 1": 1, "from 0 to 16": 16, "from 0 to 255": 255}
of_scale = {}
for name, factor in scales.items():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10, "softmax")])
    model.compile(loss="sparse_categorical_crossentropy")
    of_scale[name] = model.evaluate(factor * x, digit, verbose=0)
    print(f"pixels {name}: first loss {of_scale[name]:.1f}")
# --8<-- [end:scale]

# --8<-- [start:random]
DRAWS = 200
columns = (measured - measured.mean(axis=0)) / measured.std(axis=0)  # ten of them
glorot = keras.initializers.GlorotUniform  # what Dense takes unless you say otherwise
kernels = [
    np.asarray(glorot(seed=seed)((columns.shape[1], 1))) for seed in range(DRAWS)
]
high = (progression > np.median(progression)).astype("float32")[:, None]
random_losses = {}
for task, labels in {
    "regression": heads["regression"][3][:, None],
    "binary": high,
}.items():
    _, activation, loss, _ = heads[task]
    output = keras.activations.get(activation)
    random_losses[task] = [
        float(loss(labels, output((columns @ kernel).astype("float32"))))
        for kernel in kernels
    ]
    print(
        f"{task}: with zeros {losses[task]:.2f}; "
        f"mean of {DRAWS} random heads {np.mean(random_losses[task]):.2f}, "
        f"one in ten above {np.quantile(random_losses[task], 0.9):.1f}"
    )
# --8<-- [end:random]
# A Glorot kernel of k weights has the variance 2 / (k + 1), so outputs from columns of
# variance 1 have 2k / (k + 1), and the squared error of an untrained head is 1 more.
outputs_vary = 2 * columns.shape[1] / (columns.shape[1] + 1)
normal = np.random.default_rng(0).normal(0, np.sqrt(outputs_vary), 100_000)
log_loss = float(np.mean(np.logaddexp(0, normal)))

named = {
    "regression": ("none (linear)", "mean squared error", "number"),
    "binary": ("sigmoid", "binary cross-entropy", "0 or 1"),
    "multiclass": ("softmax", "sparse categorical cross-entropy", "class number"),
    "multiclass, one-hot": ("softmax", "categorical cross-entropy", "one-hot row"),
    "multi-label": ("sigmoid", "binary cross-entropy", "row of 0 and 1"),
}
claims = {
    "first_losses_as_expected": bool(
        all(np.isclose(losses[t], expected[t], atol=1e-4) for t in heads)
    ),
    "zeros_find_an_unscaled_target": bool(found["regression: target not scaled"]),
    "zeros_find_a_missing_sigmoid": bool(found["binary: no activation"]),
    "zeros_find_what_the_sparse_loss_hides": any(
        found[mistake] for mistake in found if mistake.startswith("multiclass: ")
    ),
    "evaluate_shows_first_loss": bool(abs(before - np.log(10)) < 0.3),
    "scaled_inputs_start_near_the_table": bool(
        abs(of_scale["from 0 to 1"] - np.log(10)) < 0.3
    ),
    "unscaled_inputs_start_far_above": bool(
        of_scale["from 0 to 16"] > 2 * np.log(10)
        and of_scale["from 0 to 255"] > 20 * np.log(10)
    ),
    "first_number_of_fit_is_lower": bool(first_of_fit < before - 0.5),
    "softmax_rows_sum_to_one": bool(
        np.allclose(np.sum(outputs["multiclass"], axis=1), 1, atol=1e-5)
    ),
    "multi_label_rows_sum_to_one": bool(
        np.allclose(np.sum(outputs["multi-label"], axis=1), 1, atol=1e-5)
    ),
    "random_regression_starts_as_the_formula_says": bool(
        abs(np.mean(random_losses["regression"]) - (1 + outputs_vary)) < 0.3
    ),
    "random_binary_starts_as_the_formula_says": bool(
        abs(np.mean(random_losses["binary"]) - log_loss) < 0.05
    ),
    "random_heads_start_above_the_table": all(
        np.mean(random_losses[task]) > 1.2 * losses[task] for task in random_losses
    ),
    "sparse_equals_one_hot": bool(
        np.isclose(losses["multiclass"], losses["multiclass, one-hot"], atol=1e-5)
    ),
    "labels_exclude_each_other": bool((properties.sum(axis=1) <= 1).all()),
}
measures = {
    "ln2": round(float(np.log(2)), 3),
    "ln10": round(float(np.log(10)), 3),
    "draws": DRAWS,
    "random_regression": round(float(np.mean(random_losses["regression"])), 1),
    "random_binary": round(float(np.mean(random_losses["binary"])), 2),
}
tables = {
    "heads": {
        "columns": [
            "Task",
            "Units",
            "Activation",
            "Loss",
            "Labels",
            "Loss before training",
        ],
        "rows": [
            [task, heads[task][0], *named[task], f"{losses[task]:.3f}"]
            for task in heads
        ],
    }
}
