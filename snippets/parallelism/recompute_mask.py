# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A mask that Keras carries along is lost when a part is computed again, and the gradient is wrong."""

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # a mask is the same on any device

# --8<-- [start:lost]
keras.utils.set_random_seed(0)
words = tf.constant([[3, 7, 5, 0, 0, 0]])  # three words and padding
embedding = keras.layers.Embedding(50, 8, mask_zero=True)
gru = keras.layers.GRU(4)
gru(embedding(words))
weights = tf.constant([1.0, -2.0, 3.0, -4.0])


def loss_and_gradient(part):
    """Return the loss, and its gradient for the kernel of the GRU."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(part(embedding(words)) * weights)
    return loss, tape.gradient(loss, gru.trainable_variables[0].value)


kept = loss_and_gradient(gru)
again = loss_and_gradient(tf.recompute_grad(gru))
mask = tf.not_equal(words, 0)
passed = loss_and_gradient(tf.recompute_grad(lambda vectors: gru(vectors, mask=mask)))


def compare(found):
    """Tell whether loss and gradient are those without recomputing."""
    return [np.allclose(a, b, atol=1e-6) for a, b in zip(found, kept, strict=True)]


for name, found in {"carried along": again, "passed": passed}.items():
    same_loss, same_gradient = compare(found)
    print(f"mask {name}: same loss: {same_loss}, same gradient: {same_gradient}")
# --8<-- [end:lost]

in_a_graph = tf.function(lambda: loss_and_gradient(tf.recompute_grad(gru)))()
claims = {
    "the_loss_is_right": compare(again)[0],
    "the_gradient_is_wrong": not compare(again)[1],
    "so_it_is_in_a_graph": compare(in_a_graph) == [True, False],
    "a_mask_that_is_passed_is_kept": all(compare(passed)),
}
