# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Logits and probabilities: numbers that look fine and are wrong, and a softmax so sure that its gradient is gone."""

# --8<-- [start:numbers]
import warnings

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
logits = (2 * rng.normal(size=(6, 4))).astype("float32")
labels = rng.integers(0, 4, 6)
exponentials = np.exp(logits)
probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
truth = float(-np.log(probabilities[np.arange(6), labels]).mean())

# The default is from_logits=False.
for_probabilities = keras.losses.SparseCategoricalCrossentropy()
for_logits = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
ways = {
    "probabilities, from_logits=False": (for_probabilities, probabilities),
    "logits, from_logits=True": (for_logits, logits),
    "logits, from_logits=False": (for_probabilities, logits),
    "probabilities, from_logits=True": (for_logits, probabilities),
}
found, raised = {}, {}
print(f"by formula: {truth:.3f}")
for name, (loss, outputs) in ways.items():
    try:
        found[name] = float(loss(labels, outputs))
    except (TypeError, ValueError, tf.errors.OpError) as error:
        raised[name], found[name] = str(error), np.nan
    verdict = "right" if np.isclose(found[name], truth, atol=1e-4) else "wrong"
    print(f"{name:33} {found[name]:.3f} {verdict}")
# --8<-- [end:numbers]


# --8<-- [start:saturated]
def slope(loss, scores):
    """Return the loss and its gradient for one row of scores whose true class is the second."""
    variable = tf.Variable([scores])
    with tf.GradientTape() as tape:
        value = loss(np.array([1]), variable)
    return float(value), tape.gradient(value, variable).numpy()[0]


through_softmax = lambda y, scores: for_probabilities(
    y, tf.identity(tf.nn.softmax(scores))
)
wrong_and_sure = [40.0, 0.0]
loss_logits, slope_logits = slope(for_logits, wrong_and_sure)
loss_softmax, slope_softmax = slope(through_softmax, wrong_and_sure)
print(f"from logits:        loss {loss_logits:.1f}, gradient {slope_logits}")
print(f"from probabilities: loss {loss_softmax:.1f}, gradient {slope_softmax}")
# --8<-- [end:saturated]

# --8<-- [start:overflow]
large = np.array([100.0, 0.0], "float32")
with np.errstate(over="ignore", invalid="ignore"):
    naive = np.exp(large) / np.exp(large).sum()
shifted = np.exp(large - large.max()) / np.exp(large - large.max()).sum()
print("softmax of 100 and 0, term by term:  ", naive)
print("the largest subtracted before the exp:", shifted.round(3))
# --8<-- [end:overflow]

# --8<-- [start:sees]
features = rng.normal(size=(6, 3)).astype("float32")


def loss_of(*after_softmax):
    """Return the loss that `evaluate` reports with from_logits=True, and what Keras warned."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4),
            keras.layers.Softmax(),
            *after_softmax,
        ]
    )
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = model.evaluate(
            tf.data.Dataset.from_tensors((features, labels)), verbose=0
        )
    right = float(
        keras.losses.SparseCategoricalCrossentropy()(labels, model(features).numpy())
    )
    return value, right, any("from_logits=True" in str(w.message) for w in caught)


seen, right, warned = loss_of()
print(f"softmax last:            loss {seen:.3f}, right {right:.3f}, warning: {warned}")
between = {
    "a reshape": keras.layers.Reshape((4,)),
    "a factor": keras.layers.Rescaling(1.0),
    "a cast": keras.layers.Activation("linear", dtype="float64"),
}
hidden = {name: loss_of(layer) for name, layer in between.items()}
for name, (value, truly, said) in hidden.items():
    print(
        f"softmax, then {name:10} loss {value:.3f}, right {truly:.3f}, warning: {said}"
    )
# --8<-- [end:sees]

# --8<-- [start:steps]
steps = rng.normal(size=(6, 5, 3)).astype("float32")
step_labels = rng.integers(0, 4, (6, 5))


def loss_of_steps(wrap):
    """Return the loss of six sequences whose softmax is all too sure, with from_logits=False."""
    keras.utils.set_random_seed(0)
    sure = keras.initializers.RandomNormal(stddev=80)
    layer = wrap(keras.layers.Dense(4, "softmax", kernel_initializer=sure))
    model = keras.Sequential([keras.Input((5, 3)), layer])
    model.compile(loss=for_probabilities)
    return model.evaluate(steps, step_labels, verbose=0)


bare, wrapped = (
    loss_of_steps(lambda one: one),
    loss_of_steps(keras.layers.TimeDistributed),
)
print(f"Dense: loss {bare:.1f}; TimeDistributed(Dense): loss {wrapped:.1f}")
# --8<-- [end:steps]

# --8<-- [start:mixed]
from_softmax = lambda: [keras.layers.Dense(4, "softmax")]
in_float32 = lambda: [
    keras.layers.Dense(4),
    keras.layers.Activation("softmax", dtype="float32"),
]
linear = lambda: [keras.layers.Dense(4)]
lead = np.array([[40, 0, 0, 0]], "float32")  # logits whose first class leads by 40


def wrong_by_40(policy, head, loss):
    """Return loss, gradient for the logits, and whether Keras warned; the true class is the second."""
    keras.config.set_dtype_policy(policy)
    model = keras.Sequential([keras.Input((4,)), *head()])
    keras.config.set_dtype_policy("float32")
    model.set_weights([np.eye(4), np.zeros(4)])  # so the inputs are the logits
    with warnings.catch_warnings(record=True) as caught, tf.GradientTape() as tape:
        warnings.simplefilter("always")
        value = loss(np.array([1]), model(lead))
    slope = tape.gradient(value, model.trainable_variables[1]).numpy().round(3)
    return (
        float(value),
        slope,
        any("from_logits=True" in str(w.message) for w in caught),
    )


mixed = {
    "float32, Dense(4, 'softmax')": ("float32", from_softmax),
    "mixed_float16, Dense(4, 'softmax')": ("mixed_float16", from_softmax),
    "mixed_bfloat16, Dense(4, 'softmax')": ("mixed_bfloat16", from_softmax),
    "mixed_float16, softmax in float32": ("mixed_float16", in_float32),
}
plain = {name: wrong_by_40(*case, for_probabilities) for name, case in mixed.items()}
needless = {name: wrong_by_40(*case, for_logits) for name, case in mixed.items()}
for name in mixed:
    print(f"{name:35} loss {plain[name][0]:.1f}, gradient {plain[name][1]}")
    print(
        f"{'':35} with from_logits=True {needless[name][0]:.1f}, warning: {needless[name][2]}"
    )
linear_head = wrong_by_40("mixed_float16", linear, for_logits)
print(
    f"{'mixed_float16, linear, from_logits':35} loss {linear_head[0]:.1f}, gradient {linear_head[1]}"
)
# --8<-- [end:mixed]

# --8<-- [start:ignored]
Sparse = keras.losses.SparseCategoricalCrossentropy
plainly, by_logits = (
    Sparse(from_logits=from_logits, ignore_class=-1) for from_logits in (False, True)
)
focal = keras.losses.CategoricalFocalCrossentropy(from_logits=True)
ignoring = {
    "softmax": (from_softmax, plainly),
    "softmax, from_logits=True": (from_softmax, by_logits),
    "linear, from_logits=True": (linear, by_logits),
    "linear, focal": (linear, lambda y, out: focal(np.eye(4)[y], out)),
}
ignored = {name: wrong_by_40("float32", *case) for name, case in ignoring.items()}
for name, (value, of_logits, said) in ignored.items():
    print(f"{name:26} loss {value:4.1f}, gradient {of_logits}, warning: {said}")
# --8<-- [end:ignored]

# --8<-- [start:accuracy]
scores = rng.normal(size=(1000, 1)).astype("float32")
yes = (scores > 0).astype("float32")  # every score is on its right side of zero
unit = keras.Sequential([keras.Input((1,)), keras.layers.Activation("linear")])
unit.compile(
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy", keras.metrics.BinaryAccuracy(name="at_zero", threshold=0)],
)
reported = unit.evaluate(
    tf.data.Dataset.from_tensors((scores, yes)), return_dict=True, verbose=0
)
print(f"metrics=['accuracy']:        {reported['accuracy']:.2f} right")
print(f"BinaryAccuracy(threshold=0): {reported['at_zero']:.2f} right")
# --8<-- [end:accuracy]

# --8<-- [start:auc]
wide = 3 * scores
chance = 1 / (1 + np.exp(-wide))
mostly = (rng.random(scores.shape) < chance).astype("float32")  # as often as they say
unit.compile(
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[
        keras.metrics.AUC(name="auc"),
        keras.metrics.AUC(name="auc_of_logits", from_logits=True),
        keras.metrics.Precision(name="precision", thresholds=0),
        keras.metrics.Recall(name="recall", thresholds=0),
    ],
)
of_mostly = unit.evaluate(
    tf.data.Dataset.from_tensors((wide, mostly)), return_dict=True, verbose=0
)
in_order = float(np.mean(wide[mostly == 1][:, None] > wide[mostly == 0]))
print(f"pairs in the right order:    {in_order:.2f}")
print(f"AUC():                       {of_mostly['auc']:.2f}")
print(f"AUC(from_logits=True):       {of_mostly['auc_of_logits']:.2f}")
# --8<-- [end:auc]

# --8<-- [start:lists]
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
model.compile(loss=for_logits)
mistakes = {
    "list_labels": lambda: for_logits([1], logits[:1]),
    "list_both": lambda: for_logits([1], logits[:1].tolist()),
    "list_in_fit": lambda: model.fit(logits, labels.tolist(), verbose=0),
    "list_as_x": lambda: model.fit(logits.tolist(), labels, verbose=0),
}
errors = {}
for name, mistake in mistakes.items():
    try:
        mistake()
    except ValueError as error:
        text = str(error).splitlines()[0].split(": shape")[0].split("[[")[0]
        errors[name] = f"ValueError: {text}"
        print(errors[name])
as_array = float(for_logits(np.array([1]), logits[:1]))
# --8<-- [end:lists]

right_ways = ("probabilities, from_logits=False", "logits, from_logits=True")
last_in_half = [name for name in mixed if name.startswith("mixed") and "Dense" in name]
wrong_ways = ("logits, from_logits=False", "probabilities, from_logits=True")
claims = {
    "time_distributed_hides_the_softmax": wrapped < loss_softmax and bare > 3 * wrapped,
    "both_right_ways_equal_formula": bool(
        np.allclose([found[way] for way in right_ways], truth, atol=1e-4)
    ),
    "logits_as_probabilities_wrong": bool(
        abs(found["logits, from_logits=False"] - truth) > 0.5
    ),
    "probabilities_as_logits_wrong": bool(
        abs(found["probabilities, from_logits=True"] - truth) > 0.01
    ),
    "wrong_ways_are_finite": bool(
        np.isfinite([found[way] for way in wrong_ways]).all()
    ),
    "wrong_ways_raise": any(way in raised for way in wrong_ways),
    "saturated_softmax_has_no_gradient": bool(np.abs(slope_softmax).max() < 1e-6),
    "logits_keep_gradient": bool(np.abs(slope_logits - [1, -1]).max() < 1e-4),
    "clipped_loss_understates": bool(loss_softmax < 0.5 * loss_logits),
    "naive_softmax_overflows": bool(np.isnan(naive).any()),
    "shifted_softmax_is_finite": bool(np.isfinite(shifted).all()),
    "keras_sees_softmax_layer": bool(np.isclose(seen, right, atol=1e-4)),
    "keras_warns": warned,
    "a_layer_in_between_hides_softmax": all(
        abs(value - truly) > 0.05 for value, truly, _ in hidden.values()
    ),
    "hidden_softmax_warns": any(said for _, _, said in hidden.values()),
    "mixed_softmax_has_no_gradient": all(
        np.abs(plain[name][1]).max() < 1e-6 for name in last_in_half
    ),
    "mixed_softmax_warns": any(needless[name][2] for name in last_in_half),
    "mixed_softmax_is_applied_twice": all(
        abs(needless[name][0] - np.log(np.e + 3)) < 1e-3  # a softmax over 1, 0, 0, 0
        for name in last_in_half
    ),
    "softmax_in_float32_keeps_gradient": all(
        abs(plain[name][0] - 40) < 1e-3
        and np.abs(plain[name][1] - [1, -1, 0, 0]).max() < 1e-4
        and needless[name][2]
        for name in (
            "float32, Dense(4, 'softmax')",
            "mixed_float16, softmax in float32",
        )
    ),
    "mixed_linear_head_keeps_gradient": bool(
        abs(linear_head[0] - 40) < 1e-3
        and np.abs(linear_head[1] - [1, -1, 0, 0]).max() < 1e-4
    ),
    "ignore_class_hides_the_softmax": bool(
        np.abs(ignored["softmax"][1]).max() < 1e-6
        and abs(ignored["softmax, from_logits=True"][0] - np.log(np.e + 3)) < 1e-3
    ),
    "ignore_class_warns": ignored["softmax, from_logits=True"][2],
    "ignore_class_keeps_the_gradient_of_logits": bool(
        np.abs(ignored["linear, from_logits=True"][1] - [1, -1, 0, 0]).max() < 1e-4
    ),
    "focal_loss_clips_logits_too": bool(
        np.abs(ignored["linear, focal"][1]).max() < 1e-6
    ),
    "accuracy_cuts_logits_at_half": bool(
        np.isclose(reported["accuracy"], np.mean((scores > 0.5) == yes), atol=1e-4)
    ),
    "threshold_zero_counts_signs": bool(np.isclose(reported["at_zero"], 1)),
    "equal_outputs_hide_it_from_the_sparse_loss": bool(
        np.allclose(
            [
                float(loss(labels, 0 * logits))
                for loss in (for_probabilities, for_logits)
            ],
            np.log(4),
            atol=1e-4,
        )
    ),
    "equal_outputs_hide_it_from_the_categorical_loss": bool(
        np.isfinite(
            float(keras.losses.CategoricalCrossentropy()(np.eye(4)[labels], 0 * logits))
        )
    ),
    "auc_of_logits_too_low": bool(of_mostly["auc"] < in_order - 0.03),
    "auc_from_logits_is_the_share_of_pairs_in_order": bool(
        abs(of_mostly["auc_of_logits"] - in_order) < 0.01
    ),
    "precision_and_recall_at_zero_count_signs": bool(
        np.allclose(
            [of_mostly["precision"], of_mostly["recall"]],
            [mostly[wide > 0].mean(), (wide[mostly == 1] > 0).mean()],
            atol=1e-3,
        )
    ),
    "lists_raise": len(errors) == len(mistakes),
    "a_list_as_x_or_as_y_raises_the_same_in_fit": errors["list_in_fit"]
    == errors["list_as_x"],
    "array_works": bool(np.isfinite(as_array)),
}
measures = {
    "right": round(truth, 2),
    "logits_as_probabilities": round(found["logits, from_logits=False"], 2),
    "probabilities_as_logits": round(found["probabilities, from_logits=True"], 2),
    "clip": round(loss_softmax, 1),
    "accuracy_of_signs": round(reported["accuracy"], 2),
}
gaps = list(range(31))
figures = {
    "slopes": {
        "kind": "lines",
        "title": "How hard a wrong answer is pushed back",
        "xlabel": "lead of the wrong class, in logits",
        "ylabel": "gradient of the loss",
        "x": gaps,
        "series": {
            "from logits": [
                round(float(slope(for_logits, [float(g), 0.0])[1][0]), 3) for g in gaps
            ],
            "from probabilities": [
                round(float(slope(through_softmax, [float(g), 0.0])[1][0]), 3)
                for g in gaps
            ],
        },
    }
}
