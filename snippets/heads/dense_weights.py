# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 180
# ///
"""A class for each step: what the mean divides by when places are left out, and class_weight by shape of labels."""

# --8<-- [start:setup]
import re

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
kernel = rng.normal(size=(4, 3)).astype("float32")  # three classes
Loss = keras.losses.SparseCategoricalCrossentropy


def fixed_head(x, loss, *layers):
    """Return a head with a fixed kernel and a rate of 0: NumPy knows its loss."""
    head = keras.layers.Dense(3, use_bias=False)
    model = keras.Sequential([keras.Input(x.shape[1:]), *layers, head])
    model.set_weights([kernel])
    model.compile(
        keras.optimizers.SGD(0.0),
        loss,
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="weighted")],
        run_eagerly=True,  # so that an error names the operation that raised it
    )
    return model


def each_place(x, y):
    """Return the loss of each place and whether its class is right, by NumPy."""
    logits = x @ kernel
    total = np.log(np.exp(logits).sum(axis=-1))
    of_label = np.take_along_axis(logits, y[..., None], axis=-1)[..., 0]
    return total - of_label, logits.argmax(axis=-1) == y


# --8<-- [end:setup]

# --8<-- [start:padding]
padded_x = rng.normal(size=(2, 6, 4)).astype("float32")
padded_y = rng.integers(0, 3, (2, 6))
valid = np.arange(6) < np.array([[4], [5]])  # rows of 4 and 5 steps
padded_x[~valid], padded_y[~valid] = 0, 0
gaps = np.where(valid, padded_y, -1)
as_weight = valid.astype("float32")  # the shape of the labels

ways = {
    "padding counted": (padded_y, Loss(from_logits=True), [], None),
    "ignore_class=-1": (gaps, Loss(from_logits=True, ignore_class=-1), [], None),
    "Masking()": (padded_y, Loss(from_logits=True), [keras.layers.Masking()], None),
    "sample_weight": (padded_y, Loss(from_logits=True), [], as_weight),
    "mean_with_sample_weight": (
        padded_y,
        Loss(from_logits=True, reduction="mean_with_sample_weight"),
        [],
        as_weight,
    ),
}
losses, right = each_place(padded_x, padded_y)
print(f"{valid.sum()} of {valid.size} places, accuracy {right[valid].mean():.2f}")
divisor, accuracy, weighted = {}, {}, {}
for name, (labels, loss, layers, weights) in ways.items():
    said = fixed_head(padded_x, loss, *layers).evaluate(
        padded_x, labels, sample_weight=weights, verbose=0, return_dict=True
    )
    counted = np.ones_like(valid) if name == "padding counted" else valid
    divisor[name] = round(float(losses[counted].sum() / said["loss"]), 2)
    accuracy[name], weighted[name] = said["accuracy"], said["weighted"]
    print(f"{name:24} loss divided by {divisor[name]:4.1f}", end=", ")
    print(f"accuracy {accuracy[name]:.2f}, weighted {weighted[name]:.2f}")
# --8<-- [end:padding]

# --8<-- [start:one_unit]
scores = np.full((3, 5, 1), 40.0, "float32")  # sure of yes, and every answer is no
unit = keras.layers.Dense(1, "sigmoid", use_bias=False, kernel_initializer="ones")
one_unit = keras.Sequential([keras.Input((5, 1)), unit])
places = keras.losses.BinaryCrossentropy(reduction=None)
yes_or_no = {}
for shape in ((3, 5, 1), (3, 5)):
    with tf.GradientTape() as tape:
        of_places = places(np.zeros(shape), one_unit(scores))
    gradient = float(tape.gradient(of_places, unit.kernel)[0, 0])
    yes_or_no[shape] = tuple(of_places.shape), gradient
    print(f"labels {shape}: losses {tuple(of_places.shape)}, gradient {gradient:.0f}")
# --8<-- [end:one_unit]

# --8<-- [start:replicas]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
mirrored = tf.distribute.MirroredStrategy([device.name for device in devices])
N = mirrored.num_replicas_in_sync
other = np.random.default_rng(1)
many_x = other.normal(size=(2 * N, 6, 4)).astype("float32")
many_y = other.integers(0, 3, (2 * N, 6))
many_y[2:, 1:] = -1  # only the first replica's two rows are labelled throughout
labelled = many_y >= 0
losses, _ = each_place(many_x, np.maximum(many_y, 0))  # any class, where there is none
with mirrored.scope():
    head = keras.layers.Dense(3, use_bias=False)
    spread = keras.Sequential([keras.Input((6, 4)), head])
    spread.compile("sgd", Loss(from_logits=True, ignore_class=-1))
spread.set_weights([kernel])
said_by_replicas = spread.evaluate(many_x, many_y, batch_size=2 * N, verbose=0)
parts = [slice(2 * n, 2 * n + 2) for n in range(N)]
own = [losses[part][labelled[part]].mean() for part in parts]
over_all = losses[labelled].mean()
print(
    "ignore_class, the mean of the replicas' own means:",
    np.isclose(said_by_replicas, np.mean(own)),
)
print("more than one replica, and not the mean over all places:", end=" ")
print(N > 1 and not np.isclose(said_by_replicas, over_all, rtol=1e-2))
# --8<-- [end:replicas]

# --8<-- [start:class_weight]
CLASS_WEIGHT = {0: 1, 1: 10, 2: 10}
of_class = np.array([1, 10, 10], "float32")  # the same, for NumPy
steps = rng.normal(size=(5, 5, 4)).astype("float32")
tags = np.zeros((5, 5), int)
tags[[0, 1, 1, 2, 4], [1, 3, 4, 0, 2]] = 1, 2, 1, 2, 1
pixels, mask = np.stack(3 * [steps[:4]], axis=1), np.stack(3 * [tags[:4]], axis=1)
cases = {  # features and labels
    "(4, 5)": (steps[:4], tags[:4]),
    "(5, 5)": (steps, tags),
    "(4, 5, 1)": (steps[:4], tags[:4, :, None]),
    "(4, 3, 5)": (pixels, mask),
    "(4, 3, 5, 1)": (pixels, mask[..., None]),
}
CUT = r"Incompatible shapes: \S+ vs\. \S+\]|Dimensions must.*? for|indices.*\)"


def fit(x, y, dataset=False, **weights):
    """Return the loss that `fit` reports, or the text of its error."""
    model = fixed_head(x, Loss(from_logits=True))
    data = (x, y)
    if dataset:
        data = (tf.data.Dataset.from_tensor_slices(data).batch(len(x)),)
    try:
        history = model.fit(*data, shuffle=False, verbose=0, **weights).history
    except (TypeError, ValueError, tf.errors.InvalidArgumentError) as error:
        text = str(error)
        found = re.search(CUT, text)
        return f"{type(error).__name__}: {found[0] if found else text}"
    return history["loss"][0]


results = {}
for shape, (x, y) in cases.items():
    labels = y[..., 0] if shape.endswith(" 1)") else y
    losses, _ = each_place(x, labels)
    wanted = float((losses * of_class[labels]).mean())
    for data in ("arrays", "dataset"):
        got = fit(x, y, dataset=data == "dataset", class_weight=CLASS_WEIGHT)
        if isinstance(got, float):
            got = "right" if np.isclose(got, wanted, rtol=1e-2) else "wrong, no error"
        results[shape, data] = got
        print(f"{shape:12} {data:8} {got}")
# --8<-- [end:class_weight]

# --8<-- [start:sample_weight]
x, y = cases["(4, 5)"]
losses, _ = each_place(x, y)
wanted = float((losses * of_class[y]).mean())
by_place = fit(x, y, sample_weight=of_class[y])
print(f"of_class[y], shape {of_class[y].shape}: {by_place:.3f}, by hand {wanted:.3f}")
of_row = np.array([1, 2, 3, 4], "float32")[:, None]
by_row = fit(x, y, sample_weight=of_row)
wanted_by_row = float((losses * of_row).mean())
print(f"of_row, shape {of_row.shape}: {by_row:.3f}, by hand {wanted_by_row:.3f}")
# --8<-- [end:sample_weight]

of_largest = [CLASS_WEIGHT.get(int(place), 1) for place in tags.argmax(axis=1)]
losses, _ = each_place(steps, tags)
square = fit(steps, tags, class_weight=CLASS_WEIGHT)
row_of_weights = fit(x, y, sample_weight=of_row[:, 0])


def mean_iou(named, labels):
    """Return the mean IoU by NumPy, over the classes that occur."""
    both = [((named == c) & (labels == c)).sum() for c in range(3)]
    either = [((named == c) | (labels == c)).sum() for c in range(3)]
    return np.mean([b / e for b, e in zip(both, either, strict=True) if e])


padded = fixed_head(padded_x, "mse", keras.layers.Masking())(padded_x)
named = np.array(padded).argmax(axis=-1)
by_keras = {
    "ignore_class": keras.metrics.MeanIoU(3, ignore_class=-1, sparse_y_pred=False)(
        gaps, padded
    ),
    "mask": keras.metrics.MeanIoU(3, sparse_y_pred=False)(padded_y, padded),
}
always_yes = keras.layers.Dense(1, kernel_initializer="zeros", bias_initializer="ones")
always = keras.Sequential([keras.Input((6, 4)), keras.layers.Masking(), always_yes])
is_zero = padded_y == 0  # so is the padding
precision = keras.metrics.Precision()(is_zero[..., None], always(padded_x))
try:
    places(np.zeros((3, 5)), one_unit(scores), sample_weight=np.ones((3, 5)))
    weights_fit = True
except tf.errors.InvalidArgumentError:
    weights_fit = False
iou_of = {
    "valid": mean_iou(named[valid], padded_y[valid]),
    "all": mean_iou(named, padded_y),
}


def near(one, other):
    return bool(np.isclose(float(one), other, rtol=1e-2))


share = float(right[valid].mean())
claims = {
    "ignore_class_divides_by_the_valid": near(divisor["ignore_class=-1"], valid.sum()),
    "a_mask_divides_by_the_valid": near(divisor["Masking()"], valid.sum()),
    "weights_of_zero_divide_by_all": near(divisor["sample_weight"], valid.size),
    "mean_with_sample_weight_divides_by_the_valid": near(
        divisor["mean_with_sample_weight"], valid.sum()
    ),
    "ignore_class_divides_by_each_replicas_own": near(said_by_replicas, np.mean(own))
    and (N == 1 or not near(said_by_replicas, over_all)),
    "accuracy_counts_ignored_places_as_wrong": near(
        accuracy["ignore_class=-1"], right[valid].sum() / valid.size
    ),
    "accuracy_heeds_a_mask": near(accuracy["Masking()"], share),
    "accuracy_heeds_weights": near(accuracy["sample_weight"], share),
    "weighted_accuracy_heeds_weights": near(weighted["sample_weight"], share),
    "one_unit_needs_a_last_axis": yes_or_no[3, 5, 1][0] == (3, 5)
    and yes_or_no[3, 5, 1][1] > 100,
    "without_it_each_row_has_one_loss": yes_or_no[3, 5] == ((3,), 0.0),
    "without_it_weights_of_places_fit": weights_fit,
    "precision_heeds_a_mask": near(precision, is_zero[valid].mean()),
    "precision_counts_masked_places": near(precision, is_zero.mean()),
    "mean_iou_heeds_a_mask": near(by_keras["mask"], iou_of["valid"]),
    "mean_iou_counts_masked_places": near(by_keras["mask"], iou_of["all"]),
    "mean_iou_heeds_ignore_class": near(by_keras["ignore_class"], iou_of["valid"]),
    "class_weight_raises_for_steps": all(
        results["(4, 5)", data].startswith("InvalidArgumentError")
        for data in ("arrays", "dataset")
    ),
    "a_square_batch_is_silently_wrong": results["(5, 5)", "arrays"]
    == "wrong, no error",
    "a_square_batch_weighs_whole_steps": near(square, (losses * of_largest).mean()),
    "a_dataset_with_a_last_axis_is_right": results["(4, 5, 1)", "dataset"]
    == results["(4, 3, 5, 1)", "dataset"]
    == "right",
    "arrays_with_a_last_axis_raise": results["(4, 5, 1)", "arrays"].startswith("Type")
    and results["(4, 3, 5, 1)", "arrays"].startswith("Type"),
    "weights_of_the_labels_shape_are_right": near(by_place, wanted),
    "one_weight_for_each_row_raises": isinstance(row_of_weights, str),
    "one_weight_for_each_row_in_a_column_is_right": near(by_row, wanted_by_row),
}
measures = {"valid": int(valid.sum()), "places": int(valid.size)}
errors = {
    "arrays_with_a_last_axis": results["(4, 5, 1)", "arrays"],
    "one_weight_for_each_row": results["(4, 5)", "arrays"],
    "positions_as_classes": results["(4, 5)", "dataset"],
}
