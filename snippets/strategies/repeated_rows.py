# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""A word twice in a batch: Keras 3 squares its gradients one by one; an optimizer that adds them first."""

# --8<-- [start:fit]
import keras
import numpy as np
import tensorflow as tf
import tf_keras


def fitted(library, optimizer, words):
    """Return how far a step of `fit` on two words moves row 1 of an Embedding."""
    table = library.layers.Embedding(4, 1, embeddings_initializer="zeros")
    model = library.Sequential([table, library.layers.Flatten()])
    model.compile(optimizer, loss="mse")
    model.fit(np.array([words]), np.array([[3.0, 1.0]]), verbose=0)
    return float(model.get_weights()[0][1, 0])


by_fit = {}
for library in (keras, tf_keras):
    adam = library.optimizers.Adam
    once, twice = (fitted(library, adam(0.1), words) for words in ([1, 2], [1, 1]))
    by_fit[library.__name__] = once, twice
    print(f"{library.__name__:8} a word once: {once:.4f}  twice: {twice:.4f}")
# --8<-- [end:fit]


# --8<-- [start:squares]
NAMES = [
    "Adam",
    "AdamW",
    "Nadam",
    "RMSprop",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Ftrl",
    "Adamax",
    "Lion",
    "SGD",
]


def moved(optimizer, *gradients):
    """Return how far one step moves row 1 of a table, whose gradient is the sum of these."""
    table = tf.Variable(tf.zeros((4, 1)))
    values, rows = tf.constant(gradients)[:, None], tf.ones(len(gradients), tf.int32)
    slices = tf.IndexedSlices(values, rows, tf.constant([4, 1]))
    optimizer.apply_gradients([(slices, table)])
    return -float(table[1, 0])


def ratios(kind):
    """Return the steps for 3 and 1, and for 5 and -1, each divided by the step for 4."""
    whole = moved(kind(1.0), 4.0)
    return tuple(
        moved(kind(1.0), *parts) / whole for parts in ((3.0, 1.0), (5.0, -1.0))
    )


steps = {
    library.__name__: {
        name: ratios(getattr(library.optimizers, name)) for name in NAMES
    }
    for library in (keras, tf_keras)
}
# --8<-- [end:squares]


# --8<-- [start:add]
def add_rows(gradient):
    """Return a gradient with one slice for each row, if it comes in slices."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, place = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, place, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


class AddRows:
    """Makes an optimizer of Keras 3 add the gradients of a row before it uses them."""

    def update_step(self, gradient, variable, learning_rate):
        super().update_step(add_rows(gradient), variable, learning_rate)


class TableAdam(AddRows, keras.optimizers.Adam):
    """Adam for models with an Embedding."""


by_table_adam = fitted(keras, TableAdam(0.1), [1, 1])
print(f"TableAdam, a word twice: {by_table_adam:.4f}")
# --8<-- [end:add]

# --8<-- [start:replicas]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
one = tf.distribute.get_strategy()  # outside of every scope: one device
replicas = strategy.num_replicas_in_sync
batch = 8 * replicas
words = np.random.default_rng(0).integers(0, 5, size=(4 * batch, 8))
one_hot = np.eye(5, dtype="float32")[words]  # a row for each word, 1 at its place
targets = np.sin(words.sum(axis=1, keepdims=True)).astype("float32")


def before(change):
    """Return an Adam that changes gradients before the replicas exchange them."""

    class Before(keras.optimizers.Adam):
        def apply(self, gradients, variables):
            super().apply([change(gradient) for gradient in gradients], variables)

    return Before


def train(place, kind, matrix=False):
    """Return the weights after an epoch of `fit`; a matrix can do the Embedding's work."""
    first = keras.initializers.RandomNormal(seed=2)
    look_up = [keras.Input((8,)), keras.layers.Embedding(5, 2, first)]
    multiply = keras.layers.Dense(2, use_bias=False, kernel_initializer=first)
    keras.utils.set_random_seed(1)
    with place.scope():
        model = keras.Sequential([keras.Input((8, 5)), multiply] if matrix else look_up)
        model.add(keras.layers.Flatten())
        model.add(keras.layers.Dense(1))
        model.compile(kind(0.01), loss="mse")
    features = one_hot if matrix else words
    model.fit(features, targets, batch_size=batch, shuffle=False, verbose=0)
    return model.get_weights()


def apart(some, others):
    """Return the largest difference of two lists of weights."""
    pairs = zip(some, others, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


kinds = {
    "Adam": keras.optimizers.Adam,
    "rows added in apply": before(add_rows),
    "made dense in apply": before(tf.convert_to_tensor),
    "TableAdam": TableAdam,
}
whole = train(one, keras.optimizers.Adam, matrix=True)
alone = train(one, keras.optimizers.Adam)
several = {name: train(strategy, kind) for name, kind in kinds.items()}
print(f"one device, Adam:                {apart(whole, alone):.4f} from a matrix")
for name, weights in several.items():
    print(f"{replicas} replicas, {name + ':':20} {apart(whole, weights):.4f}")
# --8<-- [end:replicas]

apart_by_hand = 4 / 10**0.5, 4 / 26**0.5  # a sum by the root of the sum of squares
start = 0.1  # of the sums of Adagrad and Ftrl
with_start = tuple(((4**2 + start) / (n + start)) ** 0.5 for n in (10, 26))
expected = dict.fromkeys(NAMES, apart_by_hand)
expected |= {"Adagrad": with_start, "Ftrl": with_start}
expected |= {"Adamax": (1, 4 / 6), "Lion": (1, 1), "SGD": (1, 1)}


def near(some, others, by=1e-3):
    return np.allclose(some, others, rtol=0, atol=by)


added = {
    name: ratios(type(name, (AddRows, getattr(keras.optimizers, name)), {}))
    for name in NAMES
}
groups = {}
for name in NAMES:
    groups.setdefault(tuple(round(r, 3) for r in steps["keras"][name]), []).append(name)
claims = {
    "keras3_squares_repeated_rows_apart": all(
        near(steps["keras"][name], expected[name]) for name in NAMES
    ),
    "tf_keras_adds_repeated_rows": all(
        near(ratio, (1, 1)) for ratio in steps["tf_keras"].values()
    ),
    "keras3_adds_repeated_rows": near(steps["keras"]["Adam"], (1, 1)),
    "only_lion_and_sgd_need_no_sum": [
        n for n in NAMES if near(steps["keras"][n], (1, 1))
    ]
    == ["Lion", "SGD"],
    "fit_squares_them_apart": near(by_fit["keras"], (0.1, 0.1 * 4 / 10**0.5), 1e-4),
    "fit_of_tf_keras_adds_them": near(by_fit["tf_keras"], (0.1, 0.1), 1e-4),
    "fit_moves_a_repeated_row_as_if_once": near(by_fit["keras"][1], 0.1, 1e-4),
    "fit_moves_a_repeated_row_twice": near(by_fit["keras"][1], 0.2, 1e-4),
    "the_mixin_adds_them": all(near(ratio, (1, 1)) for ratio in added.values()),
    "the_mixin_adds_them_in_fit": near(by_table_adam, 0.1, 1e-4),
    "fit_on_replicas_equals_one_device": apart(alone, several["Adam"]) < 1e-5,
    "it_differs_from_a_matrix": apart(whole, alone) > 1e-3,
    "made_dense_equals_a_matrix": apart(whole, several["made dense in apply"]) < 1e-5,
    "made_dense_differs_from_fit": apart(alone, several["made dense in apply"]) > 1e-3,
    "adding_in_apply_is_too_early": replicas > 1
    and apart(whole, several["rows added in apply"]) > 1e-3,
    "the_mixin_equals_a_matrix": apart(whole, several["TableAdam"]) < 1e-5,
}
measures = {"replicas": replicas}
tables = {
    "squares": {
        "columns": ["optimizers of Keras 3", "3 and 1", "5 and -1"],
        "rows": [[", ".join(names), *ratio] for ratio, names in groups.items()],
    }
}
