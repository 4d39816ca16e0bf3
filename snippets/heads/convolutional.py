# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""A convolutional network on images of digits: the filter it slides over the image, its weights, what a shift costs."""

# --8<-- [start:data]
import re

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

pixels, digit = load_digits(return_X_y=True)
images = (pixels / 16).reshape(-1, 8, 8, 1).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    images, digit, test_size=0.3, random_state=0, stratify=digit
)
# --8<-- [end:data]

# --8<-- [start:by_hand]
# The Sobel filter is large where left and right differ.
edge = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], "float32")
layer = keras.layers.Conv2D(1, 3, use_bias=False)
layer.build((None, 8, 8, 1))
layer.set_weights([edge[:, :, None, None]])
one = x_test[0, :, :, 0]
by_hand = np.array(
    [[(one[i : i + 3, j : j + 3] * edge).sum() for j in range(6)] for i in range(6)]
)
by_keras = layer(x_test[:1]).numpy()[0, :, :, 0]
print(
    "9 weights, 36 outputs, equal to the loop:",
    np.allclose(by_hand, by_keras, atol=1e-5),
)
# --8<-- [end:by_hand]


# --8<-- [start:models]
def convolutional():
    """Two convolutions, each followed by pooling, then the ten-class head."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def dense():
    """The same head on one hidden layer that sees all pixels at once, with about as many weights."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(80, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def fit(build, seed):
    """Train one of them on the training images."""
    keras.utils.set_random_seed(seed)
    model = build()
    model.compile(keras.optimizers.Adam(0.005), loss="sparse_categorical_crossentropy")
    rows = (
        tf.data.Dataset.from_tensor_slices((x_train, y_train))
        .shuffle(2000, seed=seed)
        .batch(64)
    )
    model.fit(rows, epochs=10, shuffle=False, verbose=0)
    return model


def right(model, x):
    """Return the share of held-out images that are answered right."""
    return float(np.mean(model(x).numpy().argmax(axis=1) == y_test))


# --8<-- [end:models]

# --8<-- [start:scores]
models = {
    build.__name__: [fit(build, seed) for seed in range(2)]
    for build in (convolutional, dense)
}
majority = float(np.mean(y_test == np.bincount(y_train).argmax()))
accuracy = {
    name: [right(model, x_test) for model in pair] for name, pair in models.items()
}
parameters = {name: pair[0].count_params() for name, pair in models.items()}
print(f"always the most frequent digit: {majority:.2f} right")
for name, values in accuracy.items():
    print(
        f"{name:13} {parameters[name]} weights, {', '.join(f'{v:.2f}' for v in values)} right (two seeds)"
    )
# --8<-- [end:scores]

# --8<-- [start:shift]
# Each image moves one pixel to the right; its outermost columns are nearly empty.
shifted = np.roll(x_test, 1, axis=2)
moved = {
    name: [right(model, shifted) for model in pair] for name, pair in models.items()
}
for name, values in moved.items():
    print(
        f"{name:13} {', '.join(f'{v:.2f}' for v in values)} right when each image is moved by one pixel"
    )
# --8<-- [end:shift]

# --8<-- [start:errors]
colour = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(16, 3)])
mistakes = {
    "no_channel_axis": lambda: keras.Sequential(
        [keras.Input((8, 8)), keras.layers.Conv2D(16, 3, name="conv2d")]
    ),
    "no_batch_axis": lambda: colour.predict(np.zeros((8, 8, 3)), verbose=0),
}
errors = {}
for name, mistake in mistakes.items():
    try:
        mistake()
    except ValueError as error:
        text = re.sub("\x1b.*?m", "", str(error)).split("call().")[-1].strip()
        text = re.sub(r"for input .* Expected", "for input ... Expected", text)
        errors[name] = "ValueError: " + re.split(" Full|\n", text)[0]
        print(f"{name}: {errors[name]}")
without = models["convolutional"][0](x_test[..., 0]).numpy()  # shape (n, 8, 8)
print(
    "Input((8, 8, 1)) adds the channel axis to (n, 8, 8):",
    np.allclose(without, models["convolutional"][0](x_test).numpy(), atol=1e-5),
)
# --8<-- [end:errors]

# --8<-- [start:unscaled]
unscaled = {}
for name, factor, optimizer in (
    ("SGD, pixels from 0 to 1", 1, keras.optimizers.SGD(0.1)),
    ("SGD, pixels from 0 to 255", 255, keras.optimizers.SGD(0.1)),
    ("Adam, pixels from 0 to 255", 255, keras.optimizers.Adam(0.005)),
):
    keras.utils.set_random_seed(0)
    model = convolutional()
    model.compile(optimizer, loss="sparse_categorical_crossentropy")
    rows = tf.data.Dataset.from_tensor_slices((factor * x_train, y_train))
    model.fit(rows.batch(64), epochs=8, shuffle=False, verbose=0)
    unscaled[name] = right(model, factor * x_test)
    print(f"{name:26} {unscaled[name]:.2f} right")
# --8<-- [end:unscaled]

larger = keras.layers.Conv2D(16, 3)
larger.build((None, 224, 224, 1))
claims = {
    "convolution_equals_loop": bool(np.allclose(by_hand, by_keras, atol=1e-5)),
    "convolution_beats_majority": bool(min(accuracy["convolutional"]) > majority + 0.7),
    "convolution_at_least_as_good_as_dense": bool(
        min(accuracy["convolutional"]) > max(accuracy["dense"]) - 0.02
    ),
    "convolution_suffers_less_from_a_shift": bool(
        min(moved["convolutional"]) > max(moved["dense"]) + 0.05
    ),
    "shift_leaves_dense_unharmed": bool(
        min(moved["dense"]) > max(accuracy["dense"]) - 0.05
    ),
    "channel_axis_is_added": bool(
        np.allclose(without, models["convolutional"][0](x_test).numpy(), atol=1e-5)
    ),
    "two_errors": len(errors) == 2,
    "unscaled_pixels_stop_sgd": bool(
        unscaled["SGD, pixels from 0 to 255"] < majority + 0.1
        and unscaled["SGD, pixels from 0 to 1"] > 0.7
    ),
    "unscaled_pixels_stop_adam": bool(unscaled["Adam, pixels from 0 to 255"] < 0.7),
    "weights_independent_of_image_size": bool(
        larger.count_params() == models["convolutional"][0].layers[0].count_params()
    ),
}
measures = {
    "majority": round(majority, 2),
    "convolutional": round(float(np.mean(accuracy["convolutional"])), 2),
    "dense": round(float(np.mean(accuracy["dense"])), 2),
    "convolutional_moved": round(float(np.mean(moved["convolutional"])), 2),
    "dense_moved": round(float(np.mean(moved["dense"])), 2),
    "filter_weights": int(larger.count_params()),
    "convolutional_parameters": parameters["convolutional"],
    "dense_parameters": parameters["dense"],
}
figures = {
    "edge": {
        "kind": "panels",
        "columns": 2,
        "panels": [
            {
                "kind": "matrix",
                "title": title,
                "rows": [str(i) for i in range(len(values))],
                "columns": [str(i) for i in range(len(values))],
                "values": [[round(float(v), 2) for v in row] for row in values],
            }
            for title, values in (
                ("Image, 8 by 8", one),
                ("After the filter, 6 by 6", by_keras),
            )
        ],
    }
}
