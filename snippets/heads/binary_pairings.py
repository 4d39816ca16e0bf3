# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""What each pairing of activation and loss does to a two-class problem: the same network, fourteen heads, one split."""

import warnings

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

# --8<-- [start:train]
features, malignant = load_breast_cancer(return_X_y=True)
malignant = 1 - malignant
x_train, x_test, y_train, y_test = train_test_split(
    features, malignant, test_size=0.3, random_state=0, stratify=malignant
)
middle, spread = x_train.mean(axis=0), x_train.std(axis=0)
x_train, x_test = (((x - middle) / spread).astype("float32") for x in (x_train, x_test))
zero_one = y_train.astype("float32")[:, None]
majority = float(np.mean(y_test == 0))


def train(units, activation, loss, labels=zero_one, count=60):
    """Take 60 full-batch steps, or `count`; return the last loss, the held-out outputs, and what Keras warned."""
    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(8, activation="relu")
    model = keras.Sequential(
        [keras.Input((30,)), hidden, keras.layers.Dense(units, activation)]
    )
    optimizer = keras.optimizers.Adam(0.02)
    optimizer.build(model.trainable_variables)

    @tf.function
    def steps(x, y):
        value = 0.0
        for _ in tf.range(count):
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            optimizer.apply(tape.gradient(value, model.trainable_variables))
        return value

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        last = float(steps(tf.constant(x_train), tf.constant(labels)))
        output = model(x_test).numpy()
    texts = [
        f"{w.category.__name__}: {w.message}"
        for w in caught
        if issubclass(w.category, (UserWarning, SyntaxWarning))
    ]
    return last, output, texts[0] if texts else ""


# --8<-- [end:train]

# --8<-- [start:pairings]
loss = keras.losses
bce, from_logits = loss.BinaryCrossentropy(), loss.BinaryCrossentropy(from_logits=True)
# Behind `tf.identity`, Keras cannot see that a sigmoid made p.
unseen = lambda y, p: from_logits(y, tf.identity(p))
minus_plus, integers = 2 * zero_one - 1, y_train[:, None]
pairs = np.eye(2, dtype="float32")[y_train]
cases = {  # units, activation, loss, labels, and the output above which the answer is malignant
    "sigmoid, BCE": (1, "sigmoid", bce, zero_one, 0.5),
    "linear, BCE(from_logits=True)": (1, None, from_logits, zero_one, 0),
    "softmax over 2, sparse CE": (
        2,
        "softmax",
        loss.SparseCategoricalCrossentropy(),
        integers,
        0.5,
    ),
    "linear, hinge, labels -1/1": (1, None, loss.Hinge(), minus_plus, 0),
    "tanh, squared hinge, labels -1/1": (1, "tanh", loss.SquaredHinge(), minus_plus, 0),
    "sigmoid, MSE": (1, "sigmoid", loss.MeanSquaredError(), zero_one, 0.5),
    "sigmoid, BCE(from_logits=True)": (1, "sigmoid", from_logits, zero_one, 0.5),
    "sigmoid twice": (1, "sigmoid", unseen, zero_one, 0.5),
    "linear, BCE": (1, None, bce, zero_one, 0.5),
    "softmax over 1, BCE": (1, "softmax", bce, zero_one, 0.5),
    "sigmoid, categorical CE": (
        1,
        "sigmoid",
        loss.CategoricalCrossentropy(),
        zero_one,
        0.5,
    ),
    "linear, categorical hinge, labels 0/1": (
        1,
        None,
        loss.CategoricalHinge(),
        zero_one,
        0,
    ),
    "linear, categorical hinge, labels -1/1": (
        1,
        None,
        loss.CategoricalHinge(),
        minus_plus,
        0,
    ),
    "linear over 2, categorical hinge, one-hot": (
        2,
        None,
        loss.CategoricalHinge(),
        pairs,
        0,
    ),
}
ones = float(zero_one.mean())
floor = ones * np.log(1 + 1 / np.e) + (1 - ones) * np.log(2)  # of "sigmoid twice"
last, outputs, warned, accuracy = {}, {}, {}, {}
print(f"always benign: {majority:.2f} right")
for name, (*setting, limit) in cases.items():
    last[name], outputs[name], warned[name] = train(*setting)
    score = outputs[name][:, -1] - (
        outputs[name][:, 0] if name.startswith("linear over 2") else 0
    )
    accuracy[name] = float(np.mean((score > limit) == y_test))
    print(f"{accuracy[name]:.2f} right  {name}")
# --8<-- [end:pairings]


# --8<-- [start:probabilities]
def cross_entropy_of(output):
    """Return the cross-entropy of probabilities on the held-out samples."""
    p = np.clip(output[:, -1], 1e-7, 1 - 1e-7)
    return float(-np.mean(np.where(y_test == 1, np.log(p), np.log(1 - p))))


cross_entropy, early = {}, {}
for name, output in outputs.items():
    if output.min() >= 0 and output.max() <= 1.0001:
        cross_entropy[name] = cross_entropy_of(output)
        print(
            f"{cross_entropy[name]:6.3f} cross-entropy on the held-out samples: {name}"
        )
for name in ("sigmoid, BCE", "softmax over 2, sparse CE", "sigmoid, MSE"):
    *setting, _ = cases[name]
    early[name] = cross_entropy_of(train(*setting, count=25)[1])
    print(f"{early[name]:6.3f} after 25 steps in place of 60: {name}")
# --8<-- [end:probabilities]

# --8<-- [start:twice]
possible = np.linspace(0, 1, 1001)  # outputs of the layer, the first sigmoid


def best_output(chance):
    """Return the output with the lowest mean loss for rows of which `chance` are ones, if a second sigmoid follows."""
    loss_of = chance * np.log1p(np.exp(-possible))
    loss_of += (1 - chance) * np.log1p(np.exp(possible))
    return float(possible[loss_of.argmin()])


chances = (0.3, 0.5, 0.6, 0.7, 0.8)
best = {chance: best_output(chance) for chance in chances}
for chance, output in best.items():
    print(f"ones {chance:.0%} of the time: output {output:.2f}")
# --8<-- [end:twice]

notes = {
    "sigmoid, BCE": "the usual head",
    "linear, BCE(from_logits=True)": "the same head; apply the sigmoid when you predict",
    "softmax over 2, sparse CE": "the same model; both scores move, so it has gone further in 60 steps",
    "linear, hinge, labels -1/1": "a score, no probability",
    "tanh, squared hinge, labels -1/1": "a score, no probability",
    "sigmoid, MSE": "works; the slope fades where the answer is badly wrong",
    "sigmoid, BCE(from_logits=True)": "Keras warns and uses the value before the sigmoid",
    "sigmoid twice": f"right on this easy set; outputs are no chances, the loss cannot fall below {floor:.2f}",
    "linear, BCE": "clipped to 0 and 1: no slope outside",
    "softmax over 1, BCE": "trains like the sigmoid, then answers 1 for everything",
    "sigmoid, categorical CE": "the loss is 0 from the start: nothing is learned",
    "linear, categorical hinge, labels 0/1": "on one unit it happens to equal hinge",
    "linear, categorical hinge, labels -1/1": "no longer hinge: it punishes the two classes differently",
    "linear over 2, categorical hinge, one-hot": "what it is made for",
}
usual, one_softmax = "sigmoid, BCE", "softmax over 1, BCE"
hinge, categorical = (
    "linear, hinge, labels -1/1",
    "linear, categorical hinge, labels 0/1",
)
claims = {
    "usual_beats_majority": bool(accuracy[usual] > majority + 0.2),
    "logits_head_equals_sigmoid_head": bool(
        abs(last["linear, BCE(from_logits=True)"] - last[usual]) < 1e-3
    ),
    "softmax_of_one_has_the_same_loss": bool(
        abs(last[one_softmax] - last[usual]) < 1e-3
    ),
    "softmax_of_one_answers_one": bool((outputs[one_softmax] > 0.999).all()),
    "softmax_of_one_worse_than_majority": bool(accuracy[one_softmax] < majority),
    "keras_warns_about_softmax_of_one": "softmax over axis -1" in warned[one_softmax],
    "keras_sees_through_sigmoid": bool(
        abs(last["sigmoid, BCE(from_logits=True)"] - last[usual]) < 1e-3
    ),
    "keras_warns_about_sigmoid_logits": "from_logits=True"
    in warned["sigmoid, BCE(from_logits=True)"],
    "sigmoid_twice_is_silent": not warned["sigmoid twice"],
    "sigmoid_twice_stuck_above_floor": bool(
        floor - 1e-4 < last["sigmoid twice"] < floor + 0.1
    ),
    "outputs_of_sigmoid_twice_are_chances": all(
        abs(output - chance) < 0.05 for chance, output in best.items()
    ),
    "sigmoid_twice_calls_six_in_ten_a_no": best[0.6] < 0.5 < best[0.7],
    "keras_warns_about_categorical_ce_on_one_unit": "num_classes > 1"
    in warned["sigmoid, categorical CE"],
    "linear_outputs_leave_0_1": bool(
        outputs["linear, BCE"].min() < 0 and outputs["linear, BCE"].max() > 1
    ),
    "categorical_ce_on_one_unit_learns": bool(last["sigmoid, categorical CE"] > 0),
    "categorical_hinge_on_one_unit_equals_hinge": bool(
        abs(last[categorical] - last[hinge]) < 1e-3
    ),
    "categorical_hinge_minus_one_equals_hinge": bool(
        np.allclose(
            outputs["linear, categorical hinge, labels -1/1"], outputs[hinge], atol=0.1
        )
    ),
    "past_the_best_after_60_steps": all(
        value < cross_entropy[name] for name, value in early.items()
    ),
    "softmax_over_2_has_gone_further": last["softmax over 2, sparse CE"] < last[usual],
    "mse_is_the_better_head": early["sigmoid, MSE"] < early[usual] - 0.02,
    "mse_is_as_accurate": bool(accuracy["sigmoid, MSE"] > accuracy[usual] - 0.05),
}
errors = {
    "softmax_of_one": warned[one_softmax].split(" of a tensor")[0],
    "sigmoid_logits": warned["sigmoid, BCE(from_logits=True)"].split(" Was this")[0],
    "categorical_on_one": warned["sigmoid, categorical CE"].split(" Received")[0],
}
measures = {
    "half_stands_for": round(float(1 / (1 + np.exp(-0.5))), 2),
    "majority": round(majority, 2),
    "softmax_of_one_accuracy": round(accuracy[one_softmax], 2),
    "twice_loss": round(last["sigmoid twice"], 3),
    "twice_floor": round(float(floor), 3),
    "ones": round(100 * ones),
    "early_cross_entropy": round(early[usual], 2),
    "early_softmax_cross_entropy": round(early["softmax over 2, sparse CE"], 2),
    "early_mse_cross_entropy": round(early["sigmoid, MSE"], 2),
    "usual_cross_entropy": round(cross_entropy[usual], 3),
    "twice_cross_entropy": round(cross_entropy["sigmoid twice"], 3),
}
tables = {
    "pairings": {
        "columns": ["Head, loss", "Right", "Cross-entropy", "What happens"],
        "rows": [
            [
                n,
                round(accuracy[n], 2),
                round(cross_entropy[n], 3) if n in cross_entropy else "no probability",
                notes[n],
            ]
            for n in cases
        ],
    }
}
