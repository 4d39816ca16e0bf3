# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.1
# ///
"""A class for each pixel: shapes, accuracy against the mean IoU, and weights for a class that few pixels have."""

# --8<-- [start:data]
import re

import keras
import numpy as np

CLASSES = ["background", "square", "bar"]


def draw(rows, seed):
    """Draw noisy images with one square and one bar each, and the class of each pixel."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((rows, 16, 16), "uint8")
    for label in labels:
        row, column = rng.integers(1, 12, 2)
        label[row : row + 3, column : column + 3] = 1
        row, column = rng.integers(1, 15), rng.integers(0, 10)
        label[row, column : column + 6] = 2
    images = (labels > 0) + rng.normal(0, 0.4, labels.shape)
    return images[..., None].astype("float32"), labels


x_train, y_train = draw(600, seed=0)
x_test, y_test = draw(400, seed=1)
print("images", x_train.shape, "labels", y_train.shape)
share = np.bincount(y_test.ravel()) / y_test.size
print(", ".join(f"{n} {s:.3f}" for n, s in zip(CLASSES, share, strict=True)))
# --8<-- [end:data]


# --8<-- [start:model]
def network():
    """Return two convolutions and the head: three logits for each pixel."""
    keras.utils.set_random_seed(0)
    hidden = [
        keras.layers.Conv2D(16, 3, padding="same", activation="relu") for _ in range(2)
    ]
    head = keras.layers.Conv2D(len(CLASSES), 1)  # for a sequence: Dense(len(CLASSES))
    return keras.Sequential([keras.Input((16, 16, 1)), *hidden, head])


loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model = network()
model.compile(keras.optimizers.Adam(0.01), loss)
model.fit(x_train, y_train, batch_size=20, epochs=3, verbose=0)
plain = model.predict(x_test, verbose=0)
print("logits", plain.shape)
# --8<-- [end:model]

# --8<-- [start:weights]
of_class = np.array([1, 10, 10], "float32")
model = network()
model.compile(keras.optimizers.Adam(0.01), loss)
model.fit(
    x_train,
    y_train,
    sample_weight=of_class[y_train],  # the shape of the labels
    batch_size=20,
    epochs=3,
    verbose=0,
)
weighted = model.predict(x_test, verbose=0)
# --8<-- [end:weights]


# --8<-- [start:scores]
def scores(logits):
    """Return the accuracy, the mean IoU and the share found of each class."""
    metrics = (
        keras.metrics.SparseCategoricalAccuracy(),
        keras.metrics.MeanIoU(len(CLASSES), sparse_y_pred=False),
    )
    for metric in metrics:
        metric.update_state(y_test, logits)
    named = logits.argmax(axis=-1)
    found = [float((named[y_test == c] == c).mean()) for c in range(len(CLASSES))]
    return [float(metric.result()) for metric in metrics], found


background = np.zeros_like(plain)
background[..., 0] = 1
score = {}
for name, logits in {
    "background everywhere": background,
    "network": plain,
    "with weights": weighted,
}.items():
    score[name] = scores(logits)
    (accuracy, iou), found = score[name]
    print(f"{name:22} accuracy {accuracy:.2f}, mean IoU {iou:.2f}, found", end=" ")
    print(", ".join(f"{share:.2f}" for share in found))
# --8<-- [end:scores]

# --8<-- [start:dice]
truth = np.eye(len(CLASSES), dtype="float32")[y_test]  # one-hot
answers = {
    "background everywhere": background,
    "network": np.array(keras.ops.softmax(plain)),
}
axes = {"by default": None, "each image": (1, 2, 3), "each image and class": (1, 2)}
dice = {}
for axis_name, axis in axes.items():
    for name, chances in answers.items():
        loss = float(keras.losses.Dice(axis=axis)(truth, chances))
        dice[axis_name, name] = loss
        print(f"Dice {axis_name:21} {name:22} {loss:.2f}")
numbers = y_test[..., None].astype("float32")  # not one-hot
wrong = float(keras.losses.Dice()(numbers, answers["network"]))
print(f"with class numbers: no error, {wrong:.2f}")
# --8<-- [end:dice]

# --8<-- [start:tversky]
belong = np.array([[1, 1, 0, 0]], "float32")  # two of four pixels
answered = {"a miss": [[1, 0, 0, 0]], "a false alarm": [[1, 1, 1, 0]]}
tversky = {}
for alpha, beta in ((1, 0), (0, 1)):
    for mistake, said in answered.items():
        loss = keras.losses.Tversky(alpha, beta)(belong, np.array(said, "float32"))
        tversky[alpha, mistake] = float(loss)
        print(f"alpha={alpha}, beta={beta}, {mistake}: {float(loss):.2f}")
# --8<-- [end:tversky]


def iou(logits):
    """Return the mean IoU by NumPy: pixels in both, divided by pixels in either, over the classes."""
    named = logits.argmax(axis=-1)
    return np.mean(
        [
            ((named == c) & (y_test == c)).sum() / ((named == c) | (y_test == c)).sum()
            for c in range(len(CLASSES))
        ]
    )


def dice_by_hand(chances, axis):
    """Return the Dice loss by NumPy: one ratio for each index that `axis` leaves, and their mean."""
    both = (truth * chances).sum(axis=axis)
    return np.mean(1 - 2 * both / (truth.sum(axis=axis) + chances.sum(axis=axis)))


errors = {}
try:
    keras.metrics.MeanIoU(len(CLASSES))(y_test[:1], plain[:1])
except Exception as error:
    text = re.sub(r"\{\{.*?\}\} | \[Op.*", "", str(error)).strip()
    errors["logits_for_class_numbers"] = f"{type(error).__name__}: {text}"

(empty_accuracy, empty_iou), _ = score["background everywhere"]
(plain_accuracy, plain_iou), plain_found = score["network"]
(weighted_accuracy, weighted_iou), weighted_found = score["with weights"]
claims = {
    "mean_iou_is_numpy": bool(
        np.allclose(
            [empty_iou, plain_iou, weighted_iou],
            [iou(logits) for logits in (background, plain, weighted)],
            atol=1e-3,
        )
    ),
    "background_everywhere_is_accurate": empty_accuracy > 0.9,
    "background_everywhere_has_a_high_mean_iou": empty_iou > 0.5,
    "background_everywhere_has_a_third": bool(
        abs(empty_iou - empty_accuracy / 3) < 1e-3
    ),
    "network_beats_background_everywhere": plain_iou > empty_iou + 0.1,
    "dice_is_numpy": all(
        np.isclose(loss, dice_by_hand(answers[name], axes[axis_name]), atol=1e-3)
        for (axis_name, name), loss in dice.items()
    ),
    "dice_by_default_is_low_for_background": dice["by default", "background everywhere"]
    < 0.1,
    "dice_of_each_class_is_low_for_background": dice[
        "each image and class", "background everywhere"
    ]
    < 0.1,
    "dice_with_class_numbers_is_right": bool(
        np.isclose(wrong, dice["by default", "network"], atol=0.01)
    ),
    "alpha_weighs_misses": tversky[1, "a miss"] > 0.1 > tversky[0, "a miss"],
    "alpha_weighs_false_alarms": tversky[1, "a false alarm"]
    > 0.1
    > tversky[0, "a false alarm"],
    "weights_find_more_of_both": all(
        w > p for w, p in zip(weighted_found[1:], plain_found[1:], strict=True)
    ),
    "weights_find_more_background": weighted_found[0] > plain_found[0] + 0.005,
}
measures = {
    "classes": len(CLASSES),
    "background": round(empty_accuracy, 2),
    "background_iou": round(empty_iou, 2),
}
