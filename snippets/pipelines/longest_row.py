# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Rows that padded buckets refuse, since they are too long, or drop, since their bucket is never full."""

import re

import tensorflow as tf

# --8<-- [start:long]
texts = tf.data.Dataset.range(1, 41).map(tf.range)  # 1 to 40 long


def in_buckets(data):
    """Return the lengths of the batches, padded to 8, 16, 24 or 32."""
    batches = data.bucket_by_sequence_length(
        lambda text: tf.shape(text)[0],
        bucket_boundaries=[9, 17, 25, 33],
        bucket_batch_sizes=[2, 2, 2, 2, 2],
        pad_to_bucket_boundary=True,
    )
    return [batch.shape[1] for batch in batches]


try:
    in_buckets(texts)
    refused = "nothing was raised"
except tf.errors.InternalError as error:
    kind, message = type(error).__name__, error.message
    refused = f"{kind}: {re.search(r'assertion failed: .[^]]*.', message).group()}"
print(refused)
# --8<-- [end:long]

# --8<-- [start:cut]
cut = in_buckets(texts.map(lambda text: text[:32]))
print("cut to 32:", sorted(set(cut)), "in", len(cut), "batches")
# --8<-- [end:cut]

# --8<-- [start:drop]
some = tf.data.Dataset.from_tensor_slices([3] * 9 + [30]).map(tf.range)


def widths(drop_remainder):
    """Return the lengths of the batches of nine short rows and a long one."""
    batches = some.shuffle(10, seed=1).bucket_by_sequence_length(
        lambda text: tf.shape(text)[0],
        bucket_boundaries=[9, 33],
        bucket_batch_sizes=[2, 2, 2],
        pad_to_bucket_boundary=True,
        drop_remainder=drop_remainder,
    )
    return sorted(batch.shape[1] for batch in batches)


dropped, kept = widths(True), widths(False)
print("drop_remainder=True: ", dropped)
print("drop_remainder=False:", kept)
# --8<-- [end:drop]


def longest(last):
    """Tell whether rows of up to so many values pass."""
    try:
        in_buckets(texts.take(last))
    except tf.errors.InternalError:
        return False
    return True


claims = {
    "a_longer_row_raises": "length < max(bucket_boundaries)" in refused,
    "so_does_a_row_of_the_last_boundary": longest(32) and not longest(33),
    "cut_rows_pass": sorted(set(cut)) == [8, 16, 24, 32] and len(cut) == 20,
    "a_bucket_that_is_never_full_is_dropped": dropped == [8, 8, 8, 8],
    "without_it_the_rest_comes": kept == [8, 8, 8, 8, 8, 32],
}
errors = {"longer": refused}
