# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Records with several values under one name, in a varying number: what parses them, and what does not."""

import tensorflow as tf

# --8<-- [start:records]
ROWS = [[3, 1], [4], [1, 5, 9]]


def record(tokens):
    value = tf.train.Feature(int64_list=tf.train.Int64List(value=tokens))
    example = tf.train.Example(features=tf.train.Features(feature={"tokens": value}))
    return example.SerializeToString()


records = tf.data.Dataset.from_tensor_slices([record(tokens) for tokens in ROWS])
# --8<-- [end:records]


# --8<-- [start:parse]
def parse(kind, name="tokens", parser=tf.io.parse_single_example):
    return lambda serialized: parser(serialized, {name: kind})[name]


ragged = tf.io.RaggedFeature(tf.int64)
one_by_one = records.map(parse(ragged)).padded_batch(3)
by_the_batch = records.batch(3).map(parse(ragged, parser=tf.io.parse_example))
padded, together = next(iter(one_by_one)), next(iter(by_the_batch))
misspelled = [len(row) for row in records.map(parse(ragged, "token"))]
print("one by one, then padded_batch:", padded.numpy().tolist())
print("by the batch:", together.to_list(), type(together).__name__)
print("a name that no record has, lengths:", misspelled)
# --8<-- [end:parse]


# --8<-- [start:wrong]
def caught(data) -> str:
    """Return the error that reading raises, without its place in the graph."""
    try:
        list(data)
    except tf.errors.OpError as error:
        text = str(error)
        return f"{type(error).__name__}: {text[text.index('Key:') :].splitlines()[0]}"
    return ""


one = tf.io.FixedLenFeature([], tf.int64)
batches = records.batch(3)
errors = {
    "one_value": caught(records.map(parse(one))),
    "one_value_by_the_batch": caught(
        batches.map(parse(one, parser=tf.io.parse_example))
    ),
}
# --8<-- [end:wrong]

claims = {
    "ragged_takes_any_length": together.to_list() == ROWS,
    "padded_to_the_longest": padded.numpy().tolist() == [[3, 1, 0], [4, 0, 0], ROWS[2]],
    "another_name_is_no_error": misspelled == [0] * len(ROWS),
    "one_value_raises": bool(errors["one_value"]),
}
