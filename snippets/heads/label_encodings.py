# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# ///
"""Sparse and categorical cross-entropy are one loss with two label encodings; neither is for several labels per row."""

# --8<-- [start:same_value]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_wine

features, cultivar = load_wine(return_X_y=True)
x = ((features - features.mean(axis=0)) / features.std(axis=0)).astype("float32")
one_hot = np.eye(3, dtype="float32")[cultivar]

keras.utils.set_random_seed(0)
logits = keras.layers.Dense(3)(x)
probabilities = keras.ops.softmax(logits)
# The mean of minus log of what the true class was given.
by_formula = -np.mean(np.log(np.asarray(probabilities)[np.arange(len(x)), cultivar]))
sparse = keras.losses.SparseCategoricalCrossentropy()(cultivar, probabilities)
categorical = keras.losses.CategoricalCrossentropy()(one_hot, probabilities)
print(
    f"formula {by_formula:.4f}, sparse {float(sparse):.4f}, categorical {float(categorical):.4f}"
)
# --8<-- [end:same_value]


# --8<-- [start:same_training]
def fit(loss, labels):
    """Train the same three softmax units and return their weights."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((13,)), keras.layers.Dense(3, activation="softmax")]
    )
    model.compile(keras.optimizers.SGD(0.1), loss=loss)
    model.fit(
        tf.data.Dataset.from_tensor_slices((x, labels)).batch(32),
        epochs=10,
        shuffle=False,
        verbose=0,
    )
    return model.get_weights()


with_sparse = fit("sparse_categorical_crossentropy", cultivar)
with_categorical = fit("categorical_crossentropy", one_hot)
weights_equal = all(
    np.allclose(a, b, atol=1e-5)
    for a, b in zip(with_sparse, with_categorical, strict=True)
)
print("weights equal after 60 steps:", weights_equal)
print(
    f"labels take {cultivar.astype('int32').nbytes} bytes as integers, {one_hot.nbytes} as one-hot rows"
)
# --8<-- [end:same_training]

# --8<-- [start:soft]
soft = 0.9 * one_hot + 0.1 / 3  # nine parts the label, one part "any of the three"
smoothed = keras.losses.CategoricalCrossentropy(label_smoothing=0.1)(
    one_hot, probabilities
)
with_soft = keras.losses.CategoricalCrossentropy()(soft, probabilities)
print(
    f"label_smoothing=0.1: {float(smoothed):.4f}, soft rows by hand: {float(with_soft):.4f}"
)
# --8<-- [end:soft]


# --8<-- [start:multi_hot]
def lowest(loss, activation, row, steps=400):
    """Return the outputs at which the loss on one row of labels is lowest, found by gradient descent."""
    scores = tf.Variable([[0.3, -0.2, 0.1, 0.0]])
    target = tf.constant([row], tf.float32)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            value = loss(target, activation(scores))
        scores.assign_sub(2.0 * tape.gradient(value, scores))
    return activation(scores).numpy()[0], float(value)


two_labels = [1, 1, 0, 0]
softmax_end, softmax_loss = lowest(
    keras.losses.CategoricalCrossentropy(), keras.ops.softmax, two_labels
)
sigmoid_end, sigmoid_loss = lowest(
    keras.losses.BinaryCrossentropy(), keras.ops.sigmoid, two_labels
)
print(f"softmax: outputs {softmax_end.round(2)}, loss {softmax_loss:.2f}")
print(f"sigmoid: outputs {sigmoid_end.round(2)}, loss {sigmoid_loss:.2f}")
# --8<-- [end:multi_hot]

# --8<-- [start:no_label]
scores = tf.Variable([[2.0, 0.0, 1.0, -1.0]])
routes = {
    "from logits": (
        keras.losses.CategoricalCrossentropy(from_logits=True),
        tf.identity,
    ),
    "behind softmax": (keras.losses.CategoricalCrossentropy(), keras.ops.softmax),
    "from probabilities": (
        keras.losses.CategoricalCrossentropy(),
        lambda z: tf.identity(tf.nn.softmax(z)),  # Keras does not see this softmax
    ),
}
no_label, push = {}, {}
for name, (loss, outputs) in routes.items():
    with tf.GradientTape() as tape:
        value = loss(np.zeros((1, 4), "float32"), outputs(scores))
    no_label[name] = abs(float(value))
    push[name] = tape.gradient(value, scores).numpy()[0] + 0.0  # no -0
    print(f"{name:19} loss {no_label[name]:.2f}, gradient {push[name].round(2)}")
print(f"softmax of the scores:        {tf.nn.softmax(scores)[0].numpy().round(2)}")
# --8<-- [end:no_label]

# --8<-- [start:errors]
errors, silent = {}, {}
mistakes = {
    "one_hot_into_sparse": (keras.losses.SparseCategoricalCrossentropy(), one_hot),
    "integers_into_categorical": (keras.losses.CategoricalCrossentropy(), cultivar),
    "label_out_of_range": (keras.losses.SparseCategoricalCrossentropy(), cultivar + 1),
    "integers_in_a_column": (
        keras.losses.CategoricalCrossentropy(),
        cultivar[:, None],
    ),
    "one_hot_into_one_unit": (keras.losses.BinaryCrossentropy(), one_hot),
}
for name, (loss, labels) in mistakes.items():
    outputs = probabilities[:, :1] if name.endswith("one_unit") else probabilities
    try:
        silent[name] = float(loss(labels, outputs))
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        text = str(error).split("}} ")[-1].split("  Label")[0]
        if "rank" in text:
            text = text.split(" Received: target")[0]
        errors[name] = f"{type(error).__name__}: {text}"
        print(f"{name}: {errors[name]}")
compiled = tf.function(keras.losses.SparseCategoricalCrossentropy(), jit_compile=True)
under_xla = float(compiled(tf.constant(cultivar + 1), tf.constant(probabilities)))
print("label_out_of_range, under XLA:", under_xla)
# --8<-- [end:errors]

claims = {
    "sparse_equals_categorical": bool(
        np.allclose(float(sparse), float(categorical), atol=1e-6)
    ),
    "both_equal_formula": bool(
        np.allclose([float(sparse), float(categorical)], by_formula, atol=1e-5)
    ),
    "weights_equal": weights_equal,
    "weights_differ": not weights_equal,
    "smoothing_equals_soft_rows": bool(
        np.allclose(float(smoothed), float(with_soft), atol=1e-5)
    ),
    "integers_smaller": bool(cultivar.astype("int32").nbytes < one_hot.nbytes),
    "softmax_cannot_reach_two_labels": bool(
        np.allclose(softmax_end, [0.5, 0.5, 0, 0], atol=0.02)
    ),
    "softmax_loss_stays_at_ln4": bool(abs(softmax_loss - 2 * np.log(2)) < 0.02),
    "softmax_gives_both_labels_one": bool(softmax_end[:2].min() > 0.9),
    "sigmoid_gives_both_labels_one": bool(sigmoid_end[:2].min() > 0.9),
    "row_without_label_has_no_loss": max(no_label.values()) < 1e-6,
    "row_without_label_pushes_by_softmax": all(
        np.allclose(push[name], tf.nn.softmax(scores)[0], atol=1e-5)
        for name in ("from logits", "behind softmax")
    ),
    "from_probabilities_it_teaches_nothing": bool(
        np.abs(push["from probabilities"]).max() < 1e-6
    ),
    "one_hot_into_sparse_raises": "one_hot_into_sparse" in errors,
    "integers_into_categorical_raises": "integers_into_categorical" in errors,
    "column_and_one_unit_raise": {"integers_in_a_column", "one_hot_into_one_unit"}
    <= set(errors),
    "sparse_wants_labels_of_one_dimension_less": bool(
        np.isfinite(float(sparse))
        and cultivar.ndim == len(probabilities.shape) - 1
        and one_hot.ndim == len(probabilities.shape)
        and "one_hot_into_sparse" in errors
    ),
    "label_out_of_range_under_xla_is_nan": bool(np.isnan(under_xla)),
    "label_out_of_range_gives_a_number": bool(
        np.isfinite(silent.get("label_out_of_range", np.nan))
    ),
    "categorical_accepts_soft_labels": bool(np.isfinite(float(with_soft))),
}
measures = {
    "loss": round(float(sparse), 3),
    "integer_bytes": int(cultivar.astype("int32").nbytes),
    "one_hot_bytes": int(one_hot.nbytes),
    "softmax_floor": round(2 * float(np.log(2)), 2),
}
figures = {
    "multi_hot": {
        "kind": "bars",
        "title": "Outputs at the lowest loss for the labels 1, 1, 0, 0",
        "ylabel": "output",
        "categories": ["label A: 1", "label B: 1", "label C: 0", "label D: 0"],
        "series": {
            "softmax, categorical cross-entropy": [
                round(float(v), 2) for v in softmax_end
            ],
            "sigmoid, binary cross-entropy": [round(float(v), 2) for v in sigmoid_end],
        },
    }
}
