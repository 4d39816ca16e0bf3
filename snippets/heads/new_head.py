# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 240
# tolerance = 0.25
# ///
"""A new head on a trained network: ten digits learned, another question answered from 20 images; what goes wrong."""

# --8<-- [start:data]
import re
import tempfile
import warnings
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

pixels, digit = load_digits(return_X_y=True)


def place(rows, seed):
    """Put each digit somewhere on an image of 12 by 12 pixels."""
    rng = np.random.default_rng(seed)
    images = np.zeros((len(rows), 12, 12, 1), "float32")
    for image, row in zip(images, rows, strict=True):
        top, left = rng.integers(0, 5, size=2)
        image[top : top + 8, left : left + 8, 0] = row.reshape(8, 8) / 16
    return images


order = np.random.default_rng(0).permutation(len(digit))
old, new = order[:1200], order[1200:]
x_old = np.concatenate([place(pixels[old], seed) for seed in range(4)])
y_old = np.tile(digit[old], 4)
x_new = place(pixels[new], 4)
loop = np.isin(digit[new], [0, 6, 8, 9]).astype("float32")[:, None]


def draw(seed):
    """Draw two images of each digit to learn from; the others are held out."""
    rng = np.random.default_rng(seed)
    of = [np.flatnonzero(digit[new] == label) for label in range(10)]
    few = np.concatenate([rng.choice(rows, 2, replace=False) for rows in of])
    others = np.setdiff1d(np.arange(len(new)), few)
    return x_new[few], loop[few], x_new[others], loop[others]


# --8<-- [end:data]


# --8<-- [start:base]
def layers():
    """Return two convolutions with batch normalization, without a head."""
    model = keras.Sequential([keras.Input((12, 12, 1))], name="base")
    for filters, pool in (
        (16, keras.layers.MaxPooling2D()),
        (64, keras.layers.GlobalMaxPooling2D()),
    ):
        model.add(keras.layers.Conv2D(filters, 3, padding="same"))
        model.add(keras.layers.BatchNormalization(momentum=0.9))
        model.add(keras.layers.ReLU())
        model.add(pool)
    return model


def with_head(base, units=1, **call):
    """Put a linear head on `base`."""
    inputs = keras.Input((12, 12, 1))
    return keras.Model(inputs, keras.layers.Dense(units)(base(inputs, **call)))


def compiled(model, rate, loss=keras.losses.BinaryCrossentropy):
    model.compile(keras.optimizers.Adam(rate), loss(from_logits=True))
    return model


def train(model, x, y, steps, batch=5):
    rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=0)
    model.fit(rows.repeat().batch(batch).take(steps), shuffle=False, verbose=0)


def right(model, x, y):
    return float(np.mean((model(x).numpy() > 0) == y))


keras.utils.set_random_seed(0)
base = layers()
sparse = keras.losses.SparseCategoricalCrossentropy
first = compiled(with_head(base, units=10), 0.003, sparse)
train(first, x_old, y_old, steps=500, batch=64)
learned = base.get_weights()
named = first(place(pixels[new], 5)).numpy().argmax(axis=1)
of_ten = float(np.mean(named == digit[new]))
print(f"ten digits: {of_ten:.2f} of the other images right")
# --8<-- [end:base]


# --8<-- [start:new]
def new_head(x, y, seed):
    """Freeze the trained layers and train a new head on them."""
    base.set_weights(learned)
    base.trainable = False  # before compile
    keras.utils.set_random_seed(seed)
    model = compiled(with_head(base), 0.01)
    train(model, x, y, steps=100)
    return model


def unfreeze():
    """Let the layers be trained, except batch normalization."""
    base.trainable = True
    for layer in base.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.trainable = False


def fine_tuned(weights, x, y, rate):
    """Train all layers, from the weights of a network whose head is trained."""
    unfreeze()
    model = compiled(with_head(base), rate)
    model.set_weights(weights)
    train(model, x, y, steps=40)
    return model


names = (
    "always no",
    "logistic regression on the pixels",
    "all layers from scratch",
    "new head, layers frozen",
    "then all layers, rate 0.0003",
    "then all layers, rate 0.03",
)
scores = {name: [] for name in names}
for seed in range(3):
    x, y, x_test, y_test = draw(seed)
    flat, flat_test = x.reshape(len(x), -1), x_test.reshape(len(x_test), -1)
    logistic = LogisticRegression(C=10, max_iter=2000).fit(flat, y[:, 0])
    keras.utils.set_random_seed(seed)
    scratch = compiled(with_head(layers()), 0.003)
    train(scratch, x, y, steps=150)
    head = new_head(x, y, seed)
    trainable = sum(np.prod(w.shape) for w in head.trainable_weights)
    pairs = zip(base.get_weights(), learned, strict=True)
    frozen_moved = any(np.any(after != before) for after, before in pairs)
    head_alone = head.get_weights()
    of_head = right(head, x_test, y_test)
    gentle = fine_tuned(head_alone, x, y, 0.0003)
    of_gentle = right(gentle, x_test, y_test)
    rough = fine_tuned(head_alone, x, y, 0.03)
    results = (
        float(np.mean(y_test == 0)),
        float(logistic.score(flat_test, y_test[:, 0])),
        right(scratch, x_test, y_test),
        of_head,
        of_gentle,
        right(rough, x_test, y_test),
    )
    for name, score in zip(names, results, strict=True):
        scores[name].append(score)
in_all = sum(np.prod(w.shape) for w in rough.trainable_weights)
from_scratch = sum(np.prod(w.shape) for w in scratch.trainable_weights)
print(f"{trainable} weights to train in the head, {in_all} with the convolutions")
for name, values in scores.items():
    print(f"{name:34} {', '.join(f'{v:.2f}' for v in values)} right")
# --8<-- [end:new]


# --8<-- [start:statistics]
def statistics_moved():
    """Return how far the means and variances of batch normalization are from those learned first."""
    pairs = zip(base.weights, base.get_weights(), learned, strict=True)
    return max(float(np.abs(a - b).max()) for w, a, b in pairs if "moving" in w.path)


def tuned(frozen_normalization, **call):
    """Train all layers, batch normalization or not; return how far its statistics moved."""
    base.set_weights(learned)
    base.trainable = False  # assigning True where it is True reaches no layer
    base.trainable = True
    if frozen_normalization:
        unfreeze()
    model = compiled(with_head(base, **call), 0.0003)
    train(model, x, y, steps=20)
    return statistics_moved()


moved = {
    "base(inputs)": tuned(False),
    "base(inputs, training=False)": tuned(False, training=False),
    "its BatchNormalization frozen": tuned(True),
}
for name, far in moved.items():
    print(f"{name:29} statistics moved by {far:.2f}")
# --8<-- [end:statistics]


# --8<-- [start:dropout]
drop = keras.Sequential([keras.Input((1000,)), keras.layers.Dropout(0.5)])
drop.trainable = False
kept = float(np.mean(drop(np.ones((1, 1000)), training=True) != 0))
print(f"a frozen Dropout(0.5) in training mode keeps {kept:.1f} of its inputs")
# --8<-- [end:dropout]

# --8<-- [start:compile]
errors = {}


def switched(at_compile, then, fit_before, batch_size=5):
    """Set `trainable` after compile; return whether the filters moved, and what was warned."""
    base.set_weights(learned)
    base.trainable = at_compile
    model = compiled(with_head(base), 0.003)
    if fit_before:
        model.fit(x, y, batch_size=5, verbose=0)
    before = base.get_weights()
    base.trainable = then
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x, y, batch_size=batch_size, verbose=0)
    said = [str(w.message) for w in caught if "trainable" in str(w.message)]
    return bool(np.any(base.get_weights()[0] != before[0])), said


cases = {
    "frozen after compile, before the first fit": (True, False, False),
    "frozen after the first fit": (True, False, True),
    "unfrozen after the first fit": (False, True, True),
    "frozen after the first fit, then another batch size": (True, False, True, 10),
}
switches = {name: switched(*case) for name, case in cases.items()}
for name, (filters_moved, said) in switches.items():
    print(f"{name}: filters move {filters_moved}, warned {bool(said)}")
try:
    switched(False, True, True, batch_size=10)
except (ValueError, NotImplementedError) as error:  # the second with Keras 3.11
    text = re.sub(r"<Variable .*?>", "<Variable ...>", str(error))
    errors["unfrozen"] = f"{type(error).__name__}: {text}"
    print("unfrozen after the first fit, then another batch size:", errors["unfrozen"])
# --8<-- [end:compile]

# --8<-- [start:load]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "old.weights.h5"
    first.save_weights(path)
    attempts = {
        "another_head": lambda model: model.load_weights(path),
        "by_name": lambda model: model.load_weights(path, by_name=True),
    }
    for name, attempt in attempts.items():
        try:
            attempt(with_head(layers(), units=3))
        except ValueError as error:
            text = str(error).split("\n\n")[:2][-1].split(" Target variable")[0]
            errors[name] = f"ValueError: {text.split(' Received: /')[0]}"
            print(f"{name}: {errors[name]}")
    third = with_head(layers(), units=3)
    start = third.layers[-1].get_weights()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one warning names the layer
        third.load_weights(path, skip_mismatch=True)
same = [
    np.array_equal(a, b)
    for a, b in zip(
        third.layers[1].get_weights(), first.layers[1].get_weights(), strict=True
    )
]
print("skip_mismatch=True: layers of the base loaded:", all(same))
print(
    "the new head is as it was:",
    np.array_equal(start, third.layers[-1].get_weights()[0]),
)
# --8<-- [end:load]

never, of_pixels, of_scratch, frozen, gentle, rough = scores.values()
base.trainable = True
base.layers[1].trainable = False
base.trainable = True  # the same value once more
claims = {
    "new_head_beats_training_from_scratch": all(
        a > b + 0.03 for a, b in zip(frozen, of_scratch, strict=True)
    ),
    "pixels_alone_beat_always_no": bool(np.mean(of_pixels) > np.mean(never) + 0.02),
    "frozen_layers_move": bool(frozen_moved),
    "only_the_head_is_trained": int(trainable) == 64 + 1,
    "a_low_rate_does_no_harm": bool(np.mean(gentle) > np.mean(frozen) - 0.02),
    "a_high_rate_spoils_the_layers": max(rough) < min(frozen) - 0.05,
    "a_low_rate_keeps_the_statistics": moved["base(inputs)"] < 0.01,
    "training_false_keeps_the_statistics": moved["base(inputs, training=False)"] == 0,
    "frozen_normalization_keeps_the_statistics": moved["its BatchNormalization frozen"]
    == 0,
    "freezing_before_the_first_fit_counts": not switches[
        "frozen after compile, before the first fit"
    ][0],
    "freezing_after_a_fit_counts": not switches["frozen after the first fit"][0],
    "unfreezing_after_a_fit_counts": switches["unfrozen after the first fit"][0],
    "freezing_counts_when_traced_anew": not switches[
        "frozen after the first fit, then another batch size"
    ][0],
    "unfreezing_raises_when_traced_anew": "unfrozen" in errors,
    "a_switch_after_compile_warns": any(said for _, said in switches.values()),
    "true_once_more_reaches_the_layers": base.layers[1].trainable,
    "another_head_raises": "another_head" in errors,
    "skip_mismatch_loads_the_base": all(same),
}
measures = {
    "trainable": int(trainable),
    "from_scratch": int(from_scratch),
    "old_right": round(of_ten, 2),
    "moved": round(moved["base(inputs, training=False)"], 2),
    **{
        name: round(float(np.mean(values)), 2)
        for name, values in zip(
            ("never", "pixels", "scratch", "head", "low_rate", "high_rate"),
            scores.values(),
            strict=True,
        )
    },
}
