# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Concatenate of an input with a mask and one without: the mask that comes out hides nothing."""

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # a mask is the same on any device

# --8<-- [start:join]
keras.utils.set_random_seed(0)
words = tf.constant([[3, 7, 5, 0, 0, 0]])  # three words and padding
embed = keras.layers.Embedding(50, 8, mask_zero=True)
join = keras.layers.Concatenate()
vectors = embed(words)
prices = tf.ones((1, 6, 1))  # a number for each step, without a mask
joined = join([vectors, prices])
before = embed.compute_mask(words).numpy()
after = join.compute_mask([vectors, prices], [before, None]).numpy()
print("the mask of the words:  ", before[0].astype(int))
print("the mask after the join:", after[0].astype(int))
# --8<-- [end:join]

# --8<-- [start:pass]
gru = keras.layers.GRU(4)
three = gru(joined[:, :3])
right = np.allclose(gru(joined, mask=tf.not_equal(words, 0)), three, atol=1e-6)
wrong = np.allclose(gru(joined), three, atol=1e-6)
print("as for the three words alone: with mask=,", right, "- without,", wrong)
# --8<-- [end:pass]

claims = {
    "the_joined_mask_hides_nothing": bool(after.all()) and not before.all(),
    "the_padding_is_read": not wrong,
    "a_mask_that_is_passed_is_used": right,
}
