# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A shuffle with a seed of its own: another global seed gives another order, and another split."""

import tensorflow as tf

tf.config.set_visible_devices([], "GPU")

# --8<-- [start:split]


def held_out(program_seed):
    """Return the rows that a run with this global seed holds out."""
    tf.random.set_seed(program_seed)
    rows = tf.data.Dataset.range(100)
    shuffled = rows.shuffle(100, seed=7, reshuffle_each_iteration=False)
    return {int(n) for n in shuffled.take(20)}


first, again, other = held_out(1), held_out(1), held_out(2)
print("same global seed, the same split:", first == again)
print("another global seed, the same split:", first == other)
print("rows of its test part that the first run trained on:", len(other - first))
# --8<-- [end:split]

claims = {
    "the_same_seeds_split_alike": first == again,
    "another_global_seed_splits_differently": first != other,
}
measures = {"trained_on": len(other - first), "held_out": len(other)}
