# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Gradients that tf.recompute_grad changes: dense for an Embedding, 0 for a weight that the loss does not reach."""

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # what comes back is the same on any device


# --8<-- [start:table]
class Part(keras.layers.Layer):
    """A part of a model that holds a table of words."""

    def __init__(self, recompute):
        super().__init__()
        self.recompute = recompute
        self.table = keras.layers.Embedding(4, 1, embeddings_initializer="zeros")

    def build(self, shape):
        self.table.build(shape)

    def call(self, words):
        inner = tf.recompute_grad(self.table) if self.recompute else self.table
        return inner(words)


def moved(recompute, **options):
    """Return how far one step of Adam moves a word that is twice in the batch."""
    part = Part(recompute)
    model = keras.Sequential(
        [keras.Input((2,), dtype="int32"), part, keras.layers.Flatten()]
    )
    model.compile(keras.optimizers.Adam(0.1, **options), "mse")
    model.fit(np.array([[1, 1]]), np.array([[3.0, 1.0]]), verbose=0)
    return float(model.get_weights()[0][1, 0])


print(f"plain: {moved(False):.3f}   recomputed: {moved(True):.3f}")
# --8<-- [end:table]

# --8<-- [start:unreached]
used, idle, x = tf.Variable(1.0), tf.Variable(1.0), tf.constant(2.0)


def two_outputs(x):
    return used * x, idle * x


found = {}
for name, part in {
    "plain": two_outputs,
    "recomputed": tf.recompute_grad(two_outputs),
}.items():
    with tf.GradientTape() as tape:
        loss = part(x)[0]  # the second output is not used
    gradients = tape.gradient(loss, [used, idle])
    found[name] = [None if g is None else float(g) for g in gradients]
    print(f"{name:11} {found[name]}")
# --8<-- [end:unreached]


def decayed(gradient):
    """Return what one step of AdamW leaves of a weight of 1."""
    other, weight = keras.Variable(1.0), keras.Variable(1.0)
    optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.1)
    optimizer.apply_gradients([(tf.constant(1.0), other), (gradient, weight)])
    return float(weight.numpy())


with tf.GradientTape() as tape:
    vectors = Part(recompute=False)
    vectors.build((None, 2))
    loss = tf.reduce_sum(vectors(tf.constant([[1, 1]])))
plain = tape.gradient(loss, vectors.table.embeddings.value)
again = Part(recompute=True)
again.build((None, 2))


@tf.function
def compiled():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(again(tf.constant([[1, 1]])))
    gradient = tape.gradient(loss, again.table.embeddings.value)
    return tf.constant(isinstance(gradient, tf.Tensor)), tf.convert_to_tensor(gradient)


def shrunk(bound):
    """Return the step that a gradient of 1 makes in bfloat16, with a bound on the norm."""
    weight = keras.Variable(0.0, dtype="bfloat16")
    optimizer = keras.optimizers.SGD(1.0, global_clipnorm=bound)
    optimizer.apply([tf.ones((), "bfloat16")], [weight])
    return float(weight.numpy())


is_dense, dense = compiled()
claims = {
    "a_plain_one_is_slices": isinstance(plain, tf.IndexedSlices),
    "recomputed_it_is_as_large_as_the_table": bool(is_dense)
    and dense.shape == again.table.embeddings.shape,
    "adam_moves_a_repeated_word_otherwise": moved(False) > 1.2 * moved(True),
    "so_it_does_with_a_bound_on_all_gradients": moved(False, global_clipnorm=2.0**20)
    == moved(True),
    "a_bound_of_1e6_shrinks_bfloat16": shrunk(1e6) == -0.99609375,
    "a_power_of_two_does_not": shrunk(2.0**20) == -1.0,
    "unreached_is_none": found["plain"] == [2.0, None],
    "recomputed_it_is_zero": found["recomputed"] == [2.0, 0.0],
    "a_zero_is_decayed": decayed(tf.constant(0.0)) < 1.0,
    "a_none_is_not": decayed(None) == 1.0,
}
