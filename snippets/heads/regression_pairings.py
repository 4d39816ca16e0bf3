# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""What the wrong activation or loss costs a regression: the same network, ten heads, one split."""

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

# --8<-- [start:train]
features, target = load_diabetes(return_X_y=True, scaled=False)
x_train, x_test, y_train, y_test = train_test_split(
    features, target, test_size=0.3, random_state=0
)
center, scale = x_train.mean(axis=0), x_train.std(axis=0)
middle, spread = y_train.mean(), y_train.std()
x_train, x_test = (((x - center) / scale).astype("float32") for x in (x_train, x_test))
raw = y_train.astype("float32")[:, None]
scaled = ((raw - middle) / spread).astype("float32")
baseline = float(np.abs(y_test - middle).mean())


def train(units, activation, loss, labels):
    """Take 120 full-batch steps and return the predictions for the held-out patients."""
    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(8, activation="relu")
    model = keras.Sequential(
        [keras.Input((10,)), hidden, keras.layers.Dense(units, activation)]
    )
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)

    @tf.function
    def steps(x, y):
        for _ in tf.range(120):
            with tf.GradientTape() as tape:
                value = loss(y, model(x, training=True))
            optimizer.apply(tape.gradient(value, model.trainable_variables))

    steps(tf.constant(x_train), tf.constant(labels))
    return model(x_test).numpy()[:, 0]


def rescale(prediction):
    """Turn a prediction of the scaled target into points."""
    return prediction * spread + middle


# --8<-- [end:train]

# --8<-- [start:pairings]
mse, mae, huber = (
    keras.losses.MeanSquaredError(),
    keras.losses.MeanAbsoluteError(),
    keras.losses.Huber(),
)
by_hand = lambda y, prediction: tf.reduce_mean((y - prediction) ** 2)
predictions = {
    "linear, MSE": rescale(train(1, None, mse, scaled)),
    "linear, MAE": rescale(train(1, None, mae, scaled)),
    "linear, Huber": rescale(train(1, None, huber, scaled)),
    "linear, MSE, target not scaled": train(1, None, mse, raw),
    "relu, MSE": rescale(train(1, "relu", mse, scaled)),
    "tanh, MSE": rescale(train(1, "tanh", mse, scaled)),
    "sigmoid, MSE, target not scaled": train(1, "sigmoid", mse, raw),
    "softmax over one unit, MSE": rescale(train(1, "softmax", mse, scaled)),
    "linear, binary CE, target not scaled": train(
        1, None, keras.losses.BinaryCrossentropy(), raw
    ),
    "linear, hand-written MSE, labels of shape (n,)": rescale(
        train(1, None, by_hand, scaled[:, 0])
    ),
}
notes = {
    "linear, MSE": "the usual head",
    "linear, MAE": "aims at the median",
    "linear, Huber": "MSE near zero, MAE far out",
    "linear, MSE, target not scaled": "the output must climb to the mean first",
    "relu, MSE": "nothing below the mean; here it died and says 0, the mean, for all",
    "tanh, MSE": "nothing outside one standard deviation",
    "sigmoid, MSE, target not scaled": "nothing above 1; targets go to 346",
    "softmax over one unit, MSE": "always 1, no gradient",
    "linear, binary CE, target not scaled": "for targets from 0 to 1; every output is driven to 1",
    "linear, hand-written MSE, labels of shape (n,)": "(n,) minus (n, 1) is (n, n): it learns the mean",
}
errors_of = {
    name: float(np.abs(prediction - y_test).mean())
    for name, prediction in predictions.items()
}
print(f"always the mean: {baseline:.1f} points off")
for name, value in errors_of.items():
    print(f"{name:47} {value:6.1f}")
# --8<-- [end:pairings]


class ByHand(keras.losses.Loss):
    call = staticmethod(by_hand)


# The same loss in `compile`, as a function and as a subclass, with labels of shape (n,); nothing is trained.
reported = {}
for name, loss in (("function", by_hand), ("subclass", ByHand())):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(1)])
    model.compile(loss=loss)
    one_batch = tf.data.Dataset.from_tensors((x_train, scaled[:, 0]))
    reported[name] = model.evaluate(one_batch, verbose=0)
said = model(x_train).numpy()
right = ("linear, MSE", "linear, MAE", "linear, Huber")
claims = {
    "linear_heads_beat_mean": bool(
        max(errors_of[name] for name in right) < 0.85 * baseline
    ),
    "sigmoid_on_raw_worse_than_mean": bool(
        errors_of["sigmoid, MSE, target not scaled"] > 1.5 * baseline
    ),
    "sigmoid_stays_below_one": bool(
        predictions["sigmoid, MSE, target not scaled"].max() <= 1
    ),
    "relu_never_below_mean": bool(predictions["relu, MSE"].min() >= middle - 1e-3),
    "softmax_of_one_unit_is_constant": bool(
        np.ptp(predictions["softmax over one unit, MSE"]) < 1e-3
    ),
    "unscaled_target_costs": bool(
        errors_of["linear, MSE, target not scaled"] > 1.2 * errors_of["linear, MSE"]
    ),
    "broadcast_learns_mean": bool(
        np.ptp(predictions["linear, hand-written MSE, labels of shape (n,)"])
        < 0.3 * np.ptp(predictions["linear, MSE"])
    ),
    "a_function_in_compile_gets_equal_shapes": bool(
        np.isclose(reported["function"], np.mean((scaled - said) ** 2), rtol=1e-3)
    ),
    "a_subclass_compares_each_with_all": bool(
        np.isclose(reported["subclass"], np.mean((scaled.T - said) ** 2), rtol=1e-3)
        and abs(reported["subclass"] / reported["function"] - 1) > 0.01
    ),
    "cross_entropy_works_for_regression": bool(
        errors_of["linear, binary CE, target not scaled"] < 0.85 * baseline
    ),
}
measures = {
    "baseline": round(baseline, 1),
    "largest_target": int(target.max()),
    "unscaled_mean": round(
        float(predictions["linear, MSE, target not scaled"].mean()), 1
    ),
}
tables = {
    "pairings": {
        "columns": [
            "Head and loss",
            "Mean absolute error",
            "Over the mean's error",
            "Why",
        ],
        "rows": [
            [name, round(value, 1), f"{value / baseline:.2f}", notes[name]]
            for name, value in errors_of.items()
        ],
    }
}
