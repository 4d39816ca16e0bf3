# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# tolerance = 0.05
# ///
"""How far a shuffle buffer mixes, and what a small buffer or the wrong order costs on data that is stored by class."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:buffer]
ELEMENTS = 1000
BUFFERS = [1, 10, 100, ELEMENTS]
orders = {
    buffer: [int(n) for n in tf.data.Dataset.range(ELEMENTS).shuffle(buffer, seed=1)]
    for buffer in BUFFERS
}
early = {
    buffer: max(n - place for place, n in enumerate(order))
    for buffer, order in orders.items()
}
for buffer, order in orders.items():
    print(
        f"buffer {buffer:4}: starts {order[:6]}, at most {early[buffer]} places early"
    )
# --8<-- [end:buffer]

# --8<-- [start:sorted]
digits = load_digits()
is_test = np.arange(len(digits.target)) % 5 == 0
# The rows are sorted by class, as files in one folder for each class are.
by_class = np.argsort(digits.target[~is_test], kind="stable")
images = (digits.data[~is_test] / 16).astype("float32")[by_class]
labels = digits.target[~is_test][by_class]
ROWS, BATCH = len(labels), 32


def rows():
    """Return the rows in the order in which they are stored."""
    return tf.data.Dataset.from_tensor_slices((images, labels))


pipelines = {
    "no shuffle": rows().batch(BATCH),
    "shuffle(100), then batch": rows().shuffle(100, seed=1).batch(BATCH),
    "batch, then shuffle(all)": rows().batch(BATCH).shuffle(ROWS, seed=1),
    "shuffle(all), then batch": rows().shuffle(ROWS, seed=1).batch(BATCH),
}
# --8<-- [end:sorted]


# --8<-- [start:train]
def accuracy(data):
    """Train softmax regression for one epoch; return the share of unseen digits that it names right."""
    kernel, bias = tf.Variable(tf.zeros((64, 10))), tf.Variable(tf.zeros(10))
    for image, label in data:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                label, image @ kernel + bias
            )
            loss = tf.reduce_mean(losses)
        for variable, gradient in zip(
            (kernel, bias), tape.gradient(loss, (kernel, bias)), strict=True
        ):
            variable.assign_sub(0.3 * gradient)
    logits = (digits.data[is_test] / 16) @ kernel.numpy() + bias.numpy()
    return float(np.mean(logits.argmax(axis=1) == digits.target[is_test]))


table = []
for name, data in pipelines.items():
    classes = float(np.mean([len(set(label.numpy())) for _, label in data]))
    table.append([name, round(classes, 1), round(accuracy(data), 2)])
    print(f"{name:24}: {classes:.1f} classes in a batch, accuracy {table[-1][2]:.2f}")
# --8<-- [end:train]

# --8<-- [start:passes]
mixed_labels = tf.data.Dataset.from_tensor_slices(digits.target[is_test])
mixed_labels = mixed_labels.shuffle(len(mixed_labels), seed=1).batch(BATCH)
predicted, truth = (
    np.concatenate(list(mixed_labels.as_numpy_iterator())) for _ in range(2)
)
two_passes = float(np.mean(predicted == truth))
print(f"a model that is always right, scored over two passes: {two_passes:.2f} right")
# --8<-- [end:passes]

(_, none, bad), (_, few, poor), (_, fixed, _), (_, mixed, good) = table
claims = {
    "every_element_once": all(
        sorted(order) == list(range(ELEMENTS)) for order in orders.values()
    ),
    "buffer_of_one_does_nothing": orders[1] == list(range(ELEMENTS)),
    "no_element_comes_a_buffer_early": all(
        early[buffer] < buffer for buffer in BUFFERS
    ),
    "small_buffer_mixes_everything": early[10] > ELEMENTS // 2,
    "elements_can_stay_long": max(place - n for place, n in enumerate(orders[10])) > 10,
    "small_buffer_leaves_few_classes": few < mixed / 2,
    "batch_then_shuffle_does_not_mix_batches": abs(fixed - none) < 0.05,
    "full_buffer_mixes_classes": mixed > 8,
    "full_buffer_trains_better": good > poor + 0.15 and good > bad + 0.15,
    "small_buffer_trains_as_well": poor > good - 0.02,
    "two_passes_match": two_passes > 0.9,
    "two_passes_match_by_chance": two_passes < 0.2,
    "two_passes_hold_the_same_labels": sorted(predicted) == sorted(truth),
}
measures = {
    "rows": ROWS,
    "batch": BATCH,
    "good": good,
    "poor": poor,
    "bad": bad,
    "classes": mixed,
    "two_passes": round(two_passes, 2),
}
tables = {
    "sorted": {"columns": ["pipeline", "classes in a batch", "accuracy"], "rows": table}
}
figures = {
    "orders": {
        "kind": "panels",
        "columns": 2,
        "panels": [
            {
                "kind": "scatter",
                "title": f"buffer {buffer}",
                "xlabel": "place in the stream",
                "ylabel": "place in the source",
                "series": {
                    "element": {
                        "x": list(range(0, ELEMENTS, 4)),
                        "y": orders[buffer][::4],
                    }
                },
            }
            for buffer in BUFFERS
        ],
    }
}
