# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A mask that gets lost between Embedding and GRU without a warning, and how to hand it on."""

import warnings

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # a mask is the same on any device

# --8<-- [start:ways]
keras.utils.set_random_seed(0)
layers, ops = keras.layers, keras.ops

words = keras.Input((None,), dtype="int32")
vectors = layers.Embedding(50, 8, mask_zero=True)(words)
order = ops.cumsum(ops.ones_like(words), axis=1)
places = layers.Embedding(20, 8)(order)  # one vector for each place, without a mask
ways = {
    "vectors": lambda: vectors,
    "Dense(8)(vectors)": lambda: layers.Dense(8)(vectors),
    "vectors * 3": lambda: vectors * 3,
    "ops.relu(vectors)": lambda: ops.relu(vectors),
    "vectors + places": lambda: vectors + places,
    "Add()([vectors, places])": lambda: layers.Add()([vectors, places]),
}
answers, heard = {}, {}
for way, make in ways.items():
    with warnings.catch_warnings(record=True) as heard[way]:
        warnings.simplefilter("always")
        answers[way] = layers.GRU(4)(make())
# --8<-- [end:ways]

# --8<-- [start:ask]
three, padded = np.array([[3, 7, 5]]), np.array([[3, 7, 5, 0, 0, 0]])


def reads_padding(answer):
    """Tell whether padding changes what the GRU says about three words."""
    model = keras.Model(words, answer)
    return not np.allclose(model(three), model(padded), atol=1e-6)


lost = {way: reads_padding(answer) for way, answer in answers.items()}
for way, reads in lost.items():
    print(f"{way:24} the GRU {'reads' if reads else 'skips'} the padding")
warned = sum(len(heard[way]) for way in ways if lost[way])
print("warnings where the mask is lost:", warned)
# --8<-- [end:ask]

# --8<-- [start:pass]
passed = layers.GRU(4)(vectors + places, mask=ops.not_equal(words, 0))
passed_reads = reads_padding(passed)
print("with mask=, it reads the padding:", passed_reads)
# --8<-- [end:pass]

claims = {
    "embedding_hands_its_mask_on": not lost["vectors"],
    "a_layer_hands_it_on": not lost["Dense(8)(vectors)"],
    "arithmetic_loses_it": lost["vectors * 3"] and lost["vectors + places"],
    "an_operation_loses_it": lost["ops.relu(vectors)"],
    "add_loses_it_where_one_input_has_none": lost["Add()([vectors, places])"],
    "nothing_warns": warned == 0,
    "a_mask_that_is_passed_is_used": not passed_reads,
}
