# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Hinge, squared hinge and categorical hinge: which labels each expects, and what it does with any others."""

# --8<-- [start:formula]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_breast_cancer

hinge = keras.losses.Hinge()
squared_hinge = keras.losses.SquaredHinge()
categorical_hinge = keras.losses.CategoricalHinge()
scores = np.array([[0.6], [-0.4], [2.0], [-3.0]], "float32")
minus_plus = np.array([[1], [-1], [1], [1]], "float32")
# The loss is zero where the score is on the right side, by at least 1.
margin = np.maximum(0, 1 - minus_plus * scores)
print(
    f"hinge         {float(hinge(minus_plus, scores)):.3f}, by formula {margin.mean():.3f}"
)
print(
    f"squared hinge {float(squared_hinge(minus_plus, scores)):.3f}, by formula {(margin**2).mean():.3f}"
)
# --8<-- [end:formula]

# --8<-- [start:labels]
zero_one = (minus_plus + 1) / 2
smoothed = zero_one * 0.9 + 0.05
# One label among the 0s and 1s is a 2.
one_stray = np.where(np.arange(4)[:, None] == 3, 2, zero_one).astype("float32")
as_is = np.maximum(0, 1 - one_stray * scores).mean()
converted = (
    float(hinge(zero_one, scores)),
    float(hinge(smoothed, scores)),
    float(hinge(one_stray, scores)),
)
print(f"labels 0 and 1:            {converted[0]:.3f}  (0 becomes -1)")
print(f"labels 0.05 and 0.95:      {converted[1]:.3f}  (taken as they are)")
print(
    f"labels 0, 1 and one 2:     {converted[2]:.3f}  (taken as they are; by formula {as_is:.3f})"
)
variable = tf.Variable(scores)
with tf.GradientTape() as tape:
    loss = hinge(one_stray, variable)
slope = float(tape.gradient(loss, variable)[1, 0])  # of the row whose label stayed 0
print("a row whose label stayed 0 teaches anything:", slope != 0)
# --8<-- [end:labels]

# --8<-- [start:categorical]
class_scores = np.array(
    [[2.0, 0.5, -1.0, -2.0], [0.2, 0.1, 0.9, -1.0], [0.2, -2.0, -3.0, -1.0]], "float32"
)
one_hot = np.array([[1, 0, 0, 0]] * 3, "float32")
true_score = (one_hot * class_scores).sum(axis=1)
best_wrong = ((1 - one_hot) * class_scores).max(axis=1)  # never below 0
by_formula = np.maximum(0, best_wrong - true_score + 1).mean()
print(
    f"categorical hinge, one-hot: {float(categorical_hinge(one_hot, class_scores)):.3f}, by formula {by_formula:.3f}"
)
minus_plus_rows = 2 * one_hot - 1
print(
    f"the same with -1 for 0:     {float(categorical_hinge(minus_plus_rows, class_scores)):.3f}  (wrong, no error)"
)
class_numbers = np.array([0.0, 0.0, 0.0])
in_a_column = float(categorical_hinge(class_numbers[:, None], class_scores))
print(f"class numbers in a column:  {in_a_column:.3f}  (wrong, no error)")


def moved(labels):
    """Return how far one step of `fit` moves the weights of four linear units."""
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    model.compile("sgd", "categorical_hinge")
    before = model.get_weights()[0]
    model.fit(class_scores, labels, batch_size=3, verbose=0)
    return float(np.abs(model.get_weights()[0] - before).max())


errors = {}
for name, mistake in {
    "integers": lambda: categorical_hinge(class_numbers, class_scores),
    "integers_in_fit": lambda: moved(class_numbers),
}.items():
    try:
        mistake()
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        text = str(error).split(" = Mul")[0].split("}} ")[-1].split(" [Op")[0]
        errors[name] = f"{type(error).__name__}: {text}"
        print(errors[name])
# --8<-- [end:categorical]

# --8<-- [start:accuracy]
features, benign = load_breast_cancer(return_X_y=True)
known = features[:400]
x = ((features - known.mean(axis=0)) / known.std(axis=0)).astype("float32")
labels = (2.0 * benign[:, None] - 1).astype("float32")
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((30,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.02), loss="hinge", metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices((x[:400], labels[:400])).batch(50)
model.fit(data, epochs=10, shuffle=False, verbose=0)
held_out = tf.data.Dataset.from_tensor_slices((x[400:], labels[400:])).batch(200)
reported = model.evaluate(held_out, return_dict=True, verbose=0)["accuracy"]
sides = float(np.mean(np.sign(model(x[400:]).numpy()) == labels[400:]))
majority = float(np.mean(labels[400:] == 1))
print(
    f"always benign {majority:.2f}; right side of zero {sides:.2f}; what metrics=['accuracy'] says {reported:.2f}"
)
at_zero = keras.metrics.BinaryAccuracy(threshold=0)
at_zero.update_state(benign[400:, None], model(x[400:]))  # labels 0 and 1
print(f"BinaryAccuracy(threshold=0) with labels 0 and 1: {float(at_zero.result()):.2f}")
# --8<-- [end:accuracy]

as_many_as_classes = categorical_hinge(np.zeros(3), class_scores[:, :3])
claims = {
    "hinge_equals_formula": bool(
        np.isclose(float(hinge(minus_plus, scores)), margin.mean(), atol=1e-5)
    ),
    "squared_hinge_equals_formula": bool(
        np.isclose(
            float(squared_hinge(minus_plus, scores)), (margin**2).mean(), atol=1e-5
        )
    ),
    "zero_one_is_converted": bool(np.isclose(converted[0], margin.mean(), atol=1e-5)),
    "smoothed_is_converted": bool(np.isclose(converted[1], margin.mean(), atol=1e-2)),
    "one_stray_label_stops_conversion": bool(
        np.isclose(converted[2], as_is, atol=1e-5)
    ),
    "unconverted_zero_teaches": slope != 0,
    "categorical_equals_formula": bool(
        np.isclose(
            float(categorical_hinge(one_hot, class_scores)), by_formula, atol=1e-5
        )
    ),
    "categorical_takes_minus_one": bool(
        np.isclose(
            float(categorical_hinge(minus_plus_rows, class_scores)),
            by_formula,
            atol=1e-5,
        )
    ),
    "integers_raise": len(errors) == 2,
    "column_equals_one_hot": bool(np.isclose(in_a_column, by_formula, atol=1e-3)),
    "column_trains": moved(class_numbers[:, None]) > 1e-4,
    "as_many_rows_as_classes_are_taken": bool(np.isfinite(float(as_many_as_classes))),
    "trained_beats_majority": bool(sides > majority + 0.1),
    "threshold_zero_counts_signs": bool(abs(float(at_zero.result()) - sides) < 1e-4),
    "accuracy_string_right": bool(abs(reported - sides) < 0.02),
}
measures = {
    "majority": round(majority, 2),
    "sides": round(sides, 2),
    "reported": round(reported, 2),
    "converted": round(converted[0], 2),
    "stray": round(converted[2], 2),
}
line = [round(-2 + 0.25 * i, 2) for i in range(21)]
one = np.ones((1, 1), "float32")
curves = {
    "hinge": hinge,
    "squared hinge": squared_hinge,
    "binary cross-entropy on logits": keras.losses.BinaryCrossentropy(from_logits=True),
}
figures = {
    "curves": {
        "kind": "lines",
        "title": "Loss of one row whose label is 1",
        "xlabel": "score",
        "ylabel": "loss",
        "x": line,
        "series": {
            name: [round(float(f(one, np.array([[s]], "float32"))), 3) for s in line]
            for name, f in curves.items()
        },
    }
}
