# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 90
# ///
"""What `fit` does once too often where the length of the data is unknown, and how to tell it the length."""

# --8<-- [start:data]
import tempfile
import warnings

import keras
import numpy as np
import tensorflow as tf

ROWS, BATCH, EPOCHS = 40, 8, 6
STEPS = ROWS // BATCH
row = tf.train.Example()
row.features.feature["x"].float_list.value.extend([0.0, 0.0])
row.features.feature["y"].float_list.value.append(1.0)
FORM = {
    "x": tf.io.FixedLenFeature([2], tf.float32),
    "y": tf.io.FixedLenFeature([1], tf.float32),
}


def parse(serialized):
    parsed = tf.io.parse_example(serialized, FORM)
    return parsed["x"], parsed["y"]


def read(path, drop_remainder=True):
    """Return the batches of a file."""
    data = tf.data.TFRecordDataset(path).batch(BATCH, drop_remainder=drop_remainder)
    return data.map(parse)


# --8<-- [end:data]


# --8<-- [start:train]
def train(data, steps_per_epoch=None, **options):
    """Train where each row has the loss 1 and the gradient 0: only decay moves the weight.

    Return the least loss of an epoch and of `evaluate`, and what was counted.
    """
    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(1, use_bias=False, kernel_initializer="ones"),
        ]
    )
    optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.1)
    model.compile(optimizer, "mse", **{"jit_compile": False, **options})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted = model.fit(
            data, epochs=EPOCHS, steps_per_epoch=steps_per_epoch, verbose=0
        )
        weight = float(model.get_weights()[0][0, 0])
        evaluated = [
            model.evaluate(data, steps=steps_per_epoch, verbose=0)
            for _ in range(EPOCHS)
        ]
    return {
        "loss of fit": min(fitted.history["loss"]),
        "loss of evaluate": min(evaluated),
        "optimizer.iterations": int(optimizer.iterations),
        # Each decay takes off the same part.
        "weight decays": round(np.log(weight) / np.log(1 - 0.1 * 0.1)),
        "warnings": [f"{type(one.message).__name__}: {one.message}" for one in said],
    }


# --8<-- [end:train]

# --8<-- [start:compare]
RAN_OUT = "Your input ran out of data; interrupting training."
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/rows.tfrecord"
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(ROWS):
            writer.write(row.SerializeToString())
    unknown = int(read(path).cardinality()) == tf.data.UNKNOWN_CARDINALITY
    known = read(path).apply(tf.data.experimental.assert_cardinality(STEPS))
    too_small = read(path).apply(tf.data.experimental.assert_cardinality(STEPS - 2))
    cases = {
        "as it is": train(read(path, drop_remainder=False)),
        "drop_remainder=True": train(read(path)),
        "assert_cardinality": train(known),
        "repeat, steps_per_epoch": train(read(path).repeat(), STEPS),
        "steps_per_execution=2": train(read(path), steps_per_execution=2),
        "jit_compile=True": train(read(path), jit_compile=True),
    }
    cut = train(too_small)
    try:
        train(read(path).apply(tf.data.experimental.assert_cardinality(STEPS + 2)))
        refusal = ""
    except tf.errors.FailedPreconditionError as error:
        refusal = error.message
print("updates where the length is declared too small:", cut["optimizer.iterations"])
print("warnings of it:", sum(RAN_OUT in text for text in cut["warnings"]))
print("the length of the file is unknown:", unknown)


RIGHT = EPOCHS * STEPS  # an update and a decay for each batch
TRUTH = {
    "loss of fit": (1, "too small"),
    "loss of evaluate": (1, "too small"),
    "optimizer.iterations": (RIGHT, "too many"),
    "weight decays": (RIGHT, "too many"),
}


def verdict(found):
    """Compare with the truth."""
    return {
        name: "right" if np.isclose(found[name], truth) else wrong
        for name, (truth, wrong) in TRUTH.items()
    }


verdicts = {case: verdict(found) for case, found in cases.items()}
# --8<-- [end:compare]


# --8<-- [start:loop]
class Loop:
    """A loop of your own over the same rows, with the same optimizer."""

    def __init__(self):
        kernel = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
        self.model = keras.Sequential([keras.Input((2,)), kernel])
        self.optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.1)
        self.optimizer.build(self.model.trainable_variables)
        self.mean = keras.metrics.Mean()

    def update(self, x, y):
        with tf.GradientTape() as tape:
            losses = tf.square(self.model(x, training=True) - y)
            loss = tf.reduce_mean(losses)
        weights = self.model.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        self.mean.update_state(losses)

    @tf.function
    def on_batch(self, x, y):
        self.update(x, y)

    @tf.function
    def on_next(self, iterator):
        self.update(*next(iterator))

    @tf.function
    def on_optional(self, iterator):
        batch = iterator.get_next_as_optional()
        if batch.has_value():
            self.update(*batch.get_value())
        return batch.has_value()


def outside(loop, data):
    for x, y in data:
        loop.on_batch(x, y)


def until_it_raises(loop, data):
    iterator = iter(data)
    try:
        while True:
            loop.on_next(iterator)
    except tf.errors.OutOfRangeError:
        pass


def counted(loop, data):
    iterator = iter(data)
    for _ in range(STEPS):
        loop.on_next(iterator)


def as_optional(loop, data):
    iterator = iter(data)
    while loop.on_optional(iterator):
        pass


# --8<-- [end:loop]


# --8<-- [start:loops]
def train_in(epoch, data):
    """Train as `train` does, with a loop of your own; return the same counts."""
    loop, means = Loop(), []
    for _ in range(EPOCHS):
        loop.mean.reset_state()
        epoch(loop, data)
        means.append(float(loop.mean.result()))
    weight = float(loop.model.get_weights()[0][0, 0])
    return {
        "mean loss": min(means),
        "optimizer.iterations": int(loop.optimizer.iterations),
        "weight decays": round(np.log(weight) / np.log(1 - 0.1 * 0.1)),
    }


with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/rows.tfrecord"
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(ROWS):
            writer.write(row.SerializeToString())
    told = read(path).apply(tf.data.experimental.assert_cardinality(STEPS))
    loops = {
        "for batch in data": train_in(outside, read(path)),
        "next in the function, until it raises": train_in(until_it_raises, read(path)),
        "the same, length declared": train_in(until_it_raises, told),
        "next in the function, as often as there are batches": train_in(
            counted, read(path)
        ),
        "get_next_as_optional in the function": train_in(as_optional, read(path)),
    }
for name, found in loops.items():
    counts = found["optimizer.iterations"], found["weight decays"]
    print(f"{name}: {counts[0]} updates, {counts[1]} decays", end=", ")
    print(f"least mean loss {found['mean loss']:.3f}")
# --8<-- [end:loops]

PLAIN, DROP = cases["as it is"], cases["drop_remainder=True"]
LOOP_TRUTH = {"mean loss": 1, "optimizer.iterations": RIGHT, "weight decays": RIGHT}
_, RAISES, _, COUNTED, OPTIONAL = loops.values()
right = {case for case, words in verdicts.items() if set(words.values()) == {"right"}}
claims = {
    "length_of_a_file_is_unknown": unknown,
    "loss_is_too_small": DROP["loss of fit"] < 0.99 and DROP["loss of evaluate"] < 0.99,
    "loss_is_right_with_the_remainder": verdicts["as it is"]["loss of fit"] == "right",
    "optimizer_counts_too_many": min(
        case["optimizer.iterations"] for case in (PLAIN, DROP)
    )
    > RIGHT,
    "weights_decay_too_often": min(case["weight decays"] for case in (PLAIN, DROP))
    > RIGHT,
    "at_most_once_in_an_epoch": DROP["optimizer.iterations"] <= EPOCHS * (STEPS + 1),
    "a_known_length_cures": "assert_cardinality" in right,
    "every_cure_cures": len(right) == len(cases) - 2,
    "too_small_a_length_is_silent": cut["optimizer.iterations"] == EPOCHS * (STEPS - 2)
    and not any(RAN_OUT in text for text in cut["warnings"]),
    "too_large_a_length_raises": bool(refusal),
    "a_plain_loop_is_right": loops["for batch in data"] == LOOP_TRUTH,
    "next_inside_updates_too_often": RAISES["optimizer.iterations"] > RIGHT
    and RAISES["weight decays"] > RIGHT,
    "next_inside_makes_the_mean_too_small": RAISES["mean loss"] < 0.99,
    "a_declared_length_cures_a_loop": loops["the same, length declared"] == LOOP_TRUTH,
    "counting_cures_a_loop": COUNTED == LOOP_TRUTH,
    "an_optional_cures_a_loop": OPTIONAL == LOOP_TRUTH,
    "fit_warns": any(RAN_OUT in text for text in PLAIN["warnings"]),
    "every_pass_warns": sum(RAN_OUT in text for text in PLAIN["warnings"])
    == 2 * EPOCHS,
}
warned = [text for text in PLAIN["warnings"] if RAN_OUT in text] or ["no warning"]
errors = {"ran_out": warned[0].split(" Make sure")[0]}
_, begin, rest = refusal.partition("Input dataset was expected")
if begin:  # versions differ in what they print around this sentence
    sentence = begin + rest.partition(".")[0] + "."
    errors["declared_too_large"] = f"FailedPreconditionError: {sentence}"
columns = list(verdicts["as it is"])
tables = {
    "found": {
        "columns": ["data and options", *columns],
        "rows": [[case, *words.values()] for case, words in verdicts.items()],
    }
}
measures = {"steps": STEPS, "epochs": EPOCHS}
