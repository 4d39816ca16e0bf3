# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Put an operation on strings into a step that XLA compiles, and move it into the input pipeline."""

import re

import tensorflow as tf

ids = tf.data.Dataset.from_tensor_slices([7, 21, 1001, 7]).batch(4)
weights = tf.Variable(tf.range(10.0))


# --8<-- [start:step]
def bucket(numbers):
    return tf.strings.to_hash_bucket_fast(tf.strings.as_string(numbers), 10)


@tf.function(jit_compile=True)
def step(numbers):
    return tf.gather(weights, bucket(numbers))


@tf.function(jit_compile=True)
def step_after_pipeline(buckets):
    return tf.gather(weights, buckets)


try:
    step(next(iter(ids)))
    text = "no error"
except tf.errors.InvalidArgumentError as error:
    text = f"{type(error).__name__}: {error.message}"
found = re.findall(r"No registered '(\w+)'", text)
print("in the step:", text.partition(":")[0], found)
rows = step_after_pipeline(next(iter(ids.map(bucket))))
print("in the pipeline:", rows.numpy())
# --8<-- [end:step]

expected = [weights.numpy()[int(bucket(number))] for number in (7, 21, 1001, 7)]
claims = {
    "strings_in_the_step_raise": "unsupported operations" in text,
    "names_the_operation": bool(found),
    "strings_in_the_pipeline_work": rows.numpy().tolist() == expected,
}
# Without the name that TensorFlow made for the function.
text = re.sub(r"graph \S+ on", "graph ... on", text.splitlines()[0])
errors = {"unsupported": text.partition("{{")[0] + "..."}
