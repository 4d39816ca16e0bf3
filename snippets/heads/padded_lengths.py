# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 1
# seconds = 120
# ///
"""Masked accuracy over batches of two lengths, a loss that depends on the batch size, classes without a weight."""

# --8<-- [start:accuracy]
import keras
import numpy as np
import tensorflow as tf

accuracy = keras.metrics.SparseCategoricalAccuracy
model = keras.Sequential([keras.Input((None, 2)), keras.layers.Masking()])
model.compile(
    loss="sparse_categorical_crossentropy",
    metrics=[accuracy(name="plain")],
    weighted_metrics=[accuracy(name="weighted")],
)


def row(length, places, right):
    """Return a batch of one row: so many places count; at each the head says class 1."""
    x = np.zeros((1, length, 2), "float32")
    x[0, :places] = [0.25, 0.75]
    return x, np.full((1, length), int(right))


def measured(*rows):
    shapes = tf.TensorSpec((1, None, 2)), tf.TensorSpec((1, None), tf.int64)
    batches = tf.data.Dataset.from_generator(lambda: rows, output_signature=shapes)
    batches = batches.apply(tf.data.experimental.assert_cardinality(len(rows)))
    found = model.evaluate(batches, verbose=0, return_dict=True)
    return round(found["plain"], 3), round(found["weighted"], 3)


four, many = row(4, 4, right=True), row(40, 36, right=False)
padded = row(40, 4, right=True)
true = round(4 / (4 + 36), 3)
uneven, even = measured(four, many), measured(padded, many)
print("4 right places of 4, then 36 wrong ones of 40:", *uneven, "instead of", true)
print("both batches padded to 40:", *even)
# --8<-- [end:accuracy]

# --8<-- [start:loss]
labels = np.array([[0, -1, -1, -1], [1, 0, 1, 1], [0, 1, -1, -1], [1, -1, -1, -1]])
inputs = np.random.default_rng(0).normal(size=(4, 4, 2)).astype("float32")
head = keras.Sequential([keras.Input((4, 2))])
head.add(keras.layers.Activation("linear"))
head.compile(loss=keras.losses.SparseCategoricalCrossentropy(True, ignore_class=-1))
reported = {
    size: round(head.evaluate(inputs, labels, batch_size=size, verbose=0), 3)
    for size in (1, 2, 4)
}
for size, loss in reported.items():
    print(f"batches of {size}: loss {loss:.3f}")
# --8<-- [end:loss]

# --8<-- [start:class_weight]
train = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
train.compile("sgd", keras.losses.SparseCategoricalCrossentropy(True, ignore_class=-1))
numbers = np.array([[0], [1], [2], [-1]])
x = np.ones((4, 2), "float32")
cases = {
    "class 2 without a weight": (numbers[:3], {0: 5.0, 1: 1.0}),
    "a label of -1": (numbers, {0: 5.0, 1: 1.0, 2: 1.0}),
}
answers, errors = {}, {}
for name, (y, weights) in cases.items():
    dataset = tf.data.Dataset.from_tensor_slices((x[: len(y)], y)).batch(4)
    for kind, data in {"arrays": (x[: len(y)], y), "a dataset": (dataset,)}.items():
        try:
            train.fit(*data, class_weight=weights, shuffle=False, verbose=0)
            answers[name, kind] = "trains"
        except tf.errors.InvalidArgumentError as error:
            answers[name, kind] = "raises"
            start = error.message.index("indices[")
            text = error.message[start:].partition("\n")[0]
            errors["ignored" if -1 in y else "missing"] = (
                f"InvalidArgumentError: {text}"
            )
        print(f"{name}, {kind}: {answers[name, kind]}")
# --8<-- [end:class_weight]

claims = {
    "uneven_lengths_give_another_accuracy": min(uneven) > 5 * true,
    "one_length_gives_the_true_accuracy": even == (true, true),
    "the_reported_loss_depends_on_the_batch_size": len({*reported.values()}) > 1,
    "arrays_take_a_class_without_a_weight": answers[
        "class 2 without a weight", "arrays"
    ]
    == "trains",
    "a_dataset_refuses_it": answers["class 2 without a weight", "a dataset"]
    == "raises",
    "arrays_take_an_ignored_label": answers["a label of -1", "arrays"] == "trains",
    "a_dataset_refuses_an_ignored_label": answers["a label of -1", "a dataset"]
    == "raises",
}
