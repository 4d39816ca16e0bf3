# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.1
# ///
"""What each pairing of activation, loss and labels does to a ten-class problem: the same network, one split."""

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# --8<-- [start:train]
images, digit = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(
    (images / 16).astype("float32"),
    digit,
    test_size=0.3,
    random_state=0,
    stratify=digit,
)
integers, one_hot = y_train[:, None], np.eye(10, dtype="float32")[y_train]


def train(units, activation, loss, labels, seed=0):
    """Take 80 full-batch steps; return the last loss and the outputs for the held-out images."""
    keras.utils.set_random_seed(seed)
    hidden = keras.layers.Dense(32, activation="relu")
    model = keras.Sequential(
        [keras.Input((64,)), hidden, keras.layers.Dense(units, activation)]
    )
    optimizer = keras.optimizers.Adam(0.02)
    optimizer.build(model.trainable_variables)

    @tf.function
    def steps(x, y):
        value = 0.0
        for _ in tf.range(80):
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            optimizer.apply(tape.gradient(value, model.trainable_variables))
        return value

    last = float(steps(tf.constant(x_train), tf.constant(labels)))
    return last, model(x_test).numpy()


# --8<-- [end:train]

# --8<-- [start:pairings]
loss = keras.losses
sparse, sparse_logits = (
    loss.SparseCategoricalCrossentropy(),
    loss.SparseCategoricalCrossentropy(from_logits=True),
)
# Behind `tf.identity`, Keras cannot see that a softmax made p.
unseen = lambda y, p: sparse_logits(y, tf.identity(p))
cases = {
    "softmax, sparse CE, integers": (10, "softmax", sparse, integers),
    "softmax, categorical CE, one-hot": (
        10,
        "softmax",
        loss.CategoricalCrossentropy(),
        one_hot,
    ),
    "linear, sparse CE(from_logits=True)": (10, None, sparse_logits, integers),
    "linear, categorical hinge, one-hot": (10, None, loss.CategoricalHinge(), one_hot),
    "sigmoid, BCE, one-hot": (10, "sigmoid", loss.BinaryCrossentropy(), one_hot),
    "softmax, MSE, one-hot": (10, "softmax", loss.MeanSquaredError(), one_hot),
    "softmax twice": (10, "softmax", unseen, integers),
    "linear, sparse CE": (10, None, sparse, integers),
    "relu, sparse CE": (10, "relu", sparse, integers),
    "sigmoid, sparse CE, integers": (10, "sigmoid", sparse, integers),
    "softmax, BCE, one-hot": (10, "softmax", loss.BinaryCrossentropy(), one_hot),
    "1 linear unit, MSE on the class number": (
        1,
        None,
        loss.MeanSquaredError(),
        integers.astype("float32"),
    ),
    "1 sigmoid unit, BCE on the class number": (
        1,
        "sigmoid",
        loss.BinaryCrossentropy(),
        integers.astype("float32"),
    ),
}
# Where training fails, the share that is right is luck: it is not shown exactly.
shown = lambda share: f"{share:.2f}" if share > 0.3 else "below 0.3"
last, outputs, accuracy = {}, {}, {}
for name, setting in cases.items():
    last[name], outputs[name] = train(*setting)
    answer = (
        outputs[name].argmax(axis=1)
        if setting[0] == 10
        else outputs[name][:, 0].round()
    )
    accuracy[name] = float(np.mean(answer == y_test))
    print(f"{shown(accuracy[name]):9} right  {name}")
forgotten = [  # more seeds of the linear head with a loss that expects probabilities
    float(np.mean(train(10, None, sparse, integers, seed)[1].argmax(axis=1) == y_test))
    for seed in range(5)
]
# --8<-- [end:pairings]

# --8<-- [start:sums]
sums = {
    name: output.sum(axis=1)
    for name, output in outputs.items()
    if output.shape[1] == 10
}
probabilities = {
    name: bool(np.allclose(total, 1, atol=1e-3)) for name, total in sums.items()
}
for name in (
    "softmax, sparse CE, integers",
    "sigmoid, BCE, one-hot",
    "sigmoid, sparse CE, integers",
):
    print(f"outputs of a row sum to 1: {probabilities[name]!s:5}  {name}")
# --8<-- [end:sums]


# --8<-- [start:twice]
def best_outputs(chances, steps=5000):
    """Return the outputs with the lowest mean loss for rows with these chances, if a second softmax follows.

    Exponentiated gradient descent: the outputs stay above 0 and sum to 1.
    """
    p = np.full(len(chances), 1 / len(chances))
    for _ in range(steps):
        slope = np.exp(p) / np.exp(p).sum() - chances
        p *= np.exp(-slope)
        p /= p.sum()
    return p


leading = {}
for first, second in ((0.2, 0.09), (0.25, 0.15), (0.3, 0.14)):
    others = (1 - first - second) / 8
    leading[first] = float(best_outputs(np.array([first, second] + 8 * [others]))[0])
    print(
        f"chances {first:.2f}, {second:.2f}, eight of {others:.2f}: output {leading[first]:.2f} for the first"
    )
# --8<-- [end:twice]

notes = {
    "softmax, sparse CE, integers": "the usual head",
    "softmax, categorical CE, one-hot": "the same, other label encoding",
    "linear, sparse CE(from_logits=True)": "the same head; apply softmax when you predict",
    "linear, categorical hinge, one-hot": "a score, no probability",
    "sigmoid, BCE, one-hot": "ten yes-or-no questions; rows do not sum to 1",
    "softmax, MSE, one-hot": "works; the slope fades where the answer is badly wrong",
    "softmax twice": "right answers; outputs are no chances, and the loss cannot fall below 1.46",
    "linear, sparse CE": "outputs outside 0 to 1 are clipped and have no slope",
    "relu, sparse CE": "the same with fewer ways out",
    "sigmoid, sparse CE, integers": "Keras trains it as softmax and predicts with sigmoid",
    "softmax, BCE, one-hot": "Keras trains it as ten sigmoids and predicts with softmax",
    "1 linear unit, MSE on the class number": "says that 3 lies between 2 and 4",
    "1 sigmoid unit, BCE on the class number": "labels above 1 push the loss below zero without end",
}
usual, one_hot_name = "softmax, sparse CE, integers", "softmax, categorical CE, one-hot"
# The best that a second softmax can do: one output 1, nine outputs 0.
floor = float(-np.log(np.e / (np.e + 9)))
claims = {
    "usual_above_nine_tenths": bool(accuracy[usual] > 0.9),
    "sparse_and_categorical_train_alike": bool(
        np.allclose(outputs[usual], outputs[one_hot_name], atol=0.02)
    ),
    "logits_head_trains_alike": bool(
        abs(last["linear, sparse CE(from_logits=True)"] - last[usual]) < 1e-2
    ),
    "forgotten_from_logits_learns": bool(max(forgotten) > accuracy[usual] - 0.1),
    "forgotten_from_logits_far_below": bool(max(forgotten) < accuracy[usual] - 0.4),
    "relu_head_learns": bool(accuracy["relu, sparse CE"] > 0.5),
    "softmax_twice_stuck": bool(last["softmax twice"] > floor - 1e-3),
    "softmax_twice_right_above_nine_tenths": bool(accuracy["softmax twice"] > 0.9),
    "outputs_of_softmax_twice_are_chances": all(
        abs(output - chance) < 0.05 for chance, output in leading.items()
    ),
    "softmax_twice_is_sure_of_a_chance_of_three_tenths": leading[0.3] > 0.99,
    "softmax_twice_raises_or_fails": bool(accuracy["softmax twice"] < 0.5),
    "class_number_regression_fails": bool(
        accuracy["1 linear unit, MSE on the class number"] < 0.5
    ),
    "class_number_bce_negative": bool(
        last["1 sigmoid unit, BCE on the class number"] < 0
    ),
    "ten_sigmoids_work": bool(accuracy["sigmoid, BCE, one-hot"] > 0.9),
    "ten_sigmoids_sum_to_one": probabilities["sigmoid, BCE, one-hot"],
    "sigmoid_sparse_trains_like_softmax": bool(
        abs(last["sigmoid, sparse CE, integers"] - last[usual]) < 1e-2
    ),
    "sigmoid_sparse_sums_to_one": probabilities["sigmoid, sparse CE, integers"],
    "categorical_hinge_above_nine_tenths": bool(
        accuracy["linear, categorical hinge, one-hot"] > 0.9
    ),
}
measures = {
    "lead": round(float((np.e - 1) / (np.e + 9)), 2),
    "usual": round(accuracy[usual], 2),
    "twice_floor": round(floor, 2),
    "twice_loss": round(last["softmax twice"], 2),
}
sum_text = {True: "yes", False: "no"}
tables = {
    "pairings": {
        "columns": [
            "Head, loss, labels",
            "Right",
            "Last loss",
            "Rows sum to 1",
            "What happens",
        ],
        "rows": [
            [
                name,
                shown(accuracy[name]),
                f"{last[name]:.1f}" if last[name] > -1 else "below zero",
                sum_text[probabilities[name]]
                if name in probabilities
                else "one output",
                notes[name],
            ]
            for name in cases
        ],
    }
}
