# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A checkpoint does not see layers that a model keeps in a list: averages are not saved, and nothing says so."""

import tempfile

import keras
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # a file holds the same on any device


# --8<-- [start:listed]
class Blocks(keras.Model):
    """A model of your own, with its layers in a list."""

    def __init__(self):
        super().__init__()
        self.blocks = [keras.layers.Dense(3), keras.layers.BatchNormalization()]

    def call(self, rows, training=None):
        dense, norm = self.blocks
        return norm(dense(rows), training=training)


def make():
    keras.utils.set_random_seed(1)
    model = Blocks()
    model(tf.zeros((2, 3)))
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss="mse")
    model.optimizer.build(model.trainable_variables)
    return model


def checkpoint(model):
    return tf.train.Checkpoint(model=model, optimizer=model.optimizer)


def with_all(model):
    every = [one.value for one in model.variables + model.optimizer.variables]
    return tf.train.Checkpoint(model=model, optimizer=model.optimizer, every=every)


def of_file(path):
    """Return a new model with the weights of a file."""
    model = make()
    model.load_weights(path)
    return model


model = make()
rows = tf.random.stateless_normal((64, 3), seed=(0, 1)) + 5
model.fit(rows, rows, epochs=3, verbose=0)
back = {}
with tempfile.TemporaryDirectory() as folder:
    for kind in (checkpoint, with_all):
        path = kind(model).write(f"{folder}/{kind.__name__}")
        back[kind.__name__] = make()
        # It passes, whatever the checkpoint does not see.
        kind(back[kind.__name__]).read(path).assert_consumed()
    model.save_weights(f"{folder}/model.weights.h5")
    back["save_weights"] = of_file(f"{folder}/model.weights.h5")


def same(some, others):
    """Say whether all values of two lists of variables are equal."""
    pairs = zip(some, others, strict=True)
    return all(bool(tf.reduce_all(a.value == b.value)) for a, b in pairs)


for name, new in back.items():
    trained = same(new.trainable_variables, model.trainable_variables)
    others = same(new.non_trainable_weights, model.non_trainable_weights)
    print(f"{name:12} trained weights back: {trained}, averages: {others}")
# --8<-- [end:listed]


def stored(model):
    """Count the variables that a checkpoint of a model alone holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(model=model).write(f"{folder}/model")
        names = [name for name, _ in tf.train.list_variables(path)]
    return sum("VARIABLE_VALUE" in name for name in names)


class Tuple(Blocks):
    """The same model, with its layers in a tuple."""

    def __init__(self):
        super().__init__()
        self.blocks = tuple(self.blocks)


listed, in_a_tuple = Blocks(), Tuple()
listed(tf.zeros((2, 3)))
in_a_tuple(tf.zeros((2, 3)))
with tempfile.TemporaryDirectory() as folder:
    path = checkpoint(model).write(f"{folder}/model")
    keras.utils.set_random_seed(2)
    predicts = Blocks()
    predicts(tf.zeros((2, 3)))
    initial = [tf.identity(one.value) for one in predicts.weights]
    tf.train.Checkpoint(model=predicts).read(path).assert_existing_objects_matched()
in_a_row = keras.Sequential([keras.layers.Dense(3), keras.layers.BatchNormalization()])
in_a_row.build((None, 3))
fresh, averages = make(), model.non_trainable_weights
claims = {
    "the_optimizer_brings_the_trained_weights": same(
        back["checkpoint"].trainable_variables, model.trainable_variables
    ),
    "averages_start_anew": same(
        back["checkpoint"].non_trainable_weights, fresh.non_trainable_weights
    )
    and not same(averages, fresh.non_trainable_weights),
    "a_model_that_is_not_compiled_saves_nothing": stored(listed) == 0,
    "an_entry_for_all_brings_all": same(back["with_all"].weights, model.weights),
    "a_file_of_keras_has_all": same(back["save_weights"].weights, model.weights),
    "a_tuple_is_seen": stored(in_a_tuple) == len(in_a_tuple.weights) == 6,
    "without_an_optimizer_nothing_is_read": all(
        bool(tf.reduce_all(a == b.value))
        for a, b in zip(initial, predicts.weights, strict=True)
    ),
    "a_sequential_is_seen": stored(in_a_row) == len(in_a_row.weights) == 6,
}
