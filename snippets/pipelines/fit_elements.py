# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""What `fit` takes the parts of an element for, and which shapes a generator has to declare."""

# --8<-- [start:parts]
import keras
import numpy as np
import tensorflow as tf

a, b, y = (np.arange(8, dtype="float32")[:, None] + n for n in (0, 1, 5))
w = np.arange(8, dtype="float32")


def compiled(*names):
    """Return a model that adds its inputs and learns nothing, so that its loss can be checked."""
    inputs = [keras.Input((1,), name=name) for name in names]
    joined = keras.layers.Concatenate()(inputs) if len(names) > 1 else inputs[0]
    add = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
    model = keras.Model(inputs if len(names) > 1 else inputs[0], add(joined))
    model.compile(keras.optimizers.SGD(0.0), "mse")
    return model


def fit(model, element):
    """Return the loss that `fit` reports, or its error."""
    data = tf.data.Dataset.from_tensor_slices(element).batch(4)
    try:
        return model.fit(data, verbose=0).history["loss"][0]
    except (AttributeError, ValueError) as error:
        return error


cases = {
    "(a, y)": fit(compiled("a"), (a, y)),
    "(a, y, w)": fit(compiled("a"), (a, y, w)),
    "((a, b), y), two inputs": fit(compiled("a", "b"), ((a, b), y)),
    "({'a': a, 'b': b}, y), two inputs": fit(compiled("a", "b"), ({"a": a, "b": b}, y)),
    "(a, b, y), two inputs": fit(compiled("a", "b"), (a, b, y)),
    "(a, b, y), one input": fit(compiled("a"), (a, b, y)),
    "(a, b, y, w)": fit(compiled("a"), (a, b, y, w)),
    "a": fit(compiled("a"), a),
    "{'a': a, 'y': y}": fit(compiled("a", "y"), {"a": a, "y": y}),
}
for name, found in cases.items():
    raised = isinstance(found, Exception)
    print(f"{name}:", "an error" if raised else f"loss {found:.1f}")
# --8<-- [end:parts]


def near(name, losses):
    """Compare the loss of a case with the mean of losses that NumPy computed."""
    found = cases[name]
    return not isinstance(found, Exception) and bool(np.isclose(found, losses.mean()))


# --8<-- [start:generator]
def rows():
    """Hand out rows of different lengths, each with its number."""
    for n in range(1, 5):
        yield np.ones(n, "float32"), n


row, number = tf.TensorSpec((None,), tf.float32), tf.TensorSpec((), tf.int64)
data = tf.data.Dataset.from_generator(rows, output_signature=(row, number))
lengths = [len(row) for row, _ in data]
print("lengths of the rows:", lengths)


def pairs():
    yield from zip(a, y, strict=True)


shapes = {}
for shape in ((1,), (None,), None):
    part = tf.TensorSpec(shape, tf.float32)
    batches = tf.data.Dataset.from_generator(pairs, output_signature=(part, part))
    batches = batches.batch(4)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    try:
        model.fit(batches, verbose=0)
        shapes[shape] = "fit works"
    except ValueError as error:
        shapes[shape] = str(error)
    says = shapes[shape] if shapes[shape] == "fit works" else "an error"
    print(f"declared {shape}, batches of {batches.element_spec[0].shape}: {says}")
# --8<-- [end:generator]

errors = {
    "four_parts": f"ValueError: {cases['(a, b, y, w)']}".split(", found:")[0],
    "no_targets": f"{type(cases['a']).__name__}: {cases['a']}",
    "unknown_rank": "ValueError: Cannot take the length of shape with unknown rank.",
}
if errors["unknown_rank"].removeprefix("ValueError: ") not in shapes[None]:
    del errors["unknown_rank"]
others = (tf.TensorSpec((3,), tf.float32), number)
try:
    list(tf.data.Dataset.from_generator(rows, output_signature=others))
except tf.errors.InvalidArgumentError as error:
    line = next(line for line in error.message.splitlines() if "`generator`" in line)
    errors["other_shape"] = f"{type(error).__name__}: {line.split('}} ')[-1]}"
claims = {
    "two_parts_are_inputs_and_targets": near("(a, y)", (a - y) ** 2),
    "the_third_part_weighs": near("(a, y, w)", w[:, None] * (a - y) ** 2),
    "nested_inputs_work": near("((a, b), y), two inputs", (a + b - y) ** 2),
    "named_inputs_work": near("({'a': a, 'b': b}, y), two inputs", (a + b - y) ** 2),
    "flat_parts_reach_two_inputs": near("(a, b, y), two inputs", (a + b - y) ** 2),
    "flat_parts_raise_with_two_inputs": isinstance(
        cases["(a, b, y), two inputs"], ValueError
    ),
    "the_second_of_three_becomes_the_targets": near(
        "(a, b, y), one input", y * (a - b) ** 2
    ),
    "four_parts_raise": isinstance(cases["(a, b, y, w)"], ValueError),
    "a_tensor_alone_has_no_targets": isinstance(cases["a"], Exception),
    "a_dictionary_alone_has_no_targets": str(cases["{'a': a, 'y': y}"])
    == str(cases["a"]),
    "none_is_a_length_that_varies": lengths == [1, 2, 3, 4],
    "a_known_rank_is_enough_here": shapes[None,] == "fit works",
    "an_unknown_rank_is_refused": "unknown_rank" in errors,
    "another_length_raises": "other_shape" in errors,
}
