# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A step in `tf.function` that makes a variable in a later trace: the error, and what cures it."""

import keras
import tensorflow as tf

# --8<-- [start:step]
rows = tf.ones((4, 2))


def linear():
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])


@tf.function
def step(model, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    variables = model.trainable_variables
    optimizer.apply(tape.gradient(loss, variables), variables)


@tf.function
def layer_inside():
    return keras.layers.Dense(1)(rows)


@tf.function
def optimizer_inside():
    step(first, keras.optimizers.Adam())


# --8<-- [end:step]


# --8<-- [start:run]
def built_for(model):
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    return optimizer


first, second = linear(), linear()
cases = {
    "a model, a new Adam": lambda: step(first, keras.optimizers.Adam()),
    "another model, a new Adam": lambda: step(second, keras.optimizers.Adam()),
    "another model, an Adam built for it": lambda: step(second, built_for(second)),
    "a layer made in the step": layer_inside,
    "an Adam made in the step": optimizer_inside,
}
raised = {}
for case, call in cases.items():
    try:
        call()
    except ValueError as error:
        lines = str(error).splitlines()
        raised[case] = next(line.strip() for line in lines if "singleton" in line)
    print(f"{case}:", "ValueError" if case in raised else "works")
# --8<-- [end:run]

claims = {
    "the_first_optimizer_may_be_new": "a model, a new Adam" not in raised,
    "a_second_new_optimizer_raises": "another model, a new Adam" in raised,
    "a_built_one_works": "another model, an Adam built for it" not in raised,
    "a_layer_made_in_the_step_raises": "a layer made in the step" in raised,
    "an_optimizer_made_in_the_step_raises": "an Adam made in the step" in raised,
}
errors = {"late": raised["another model, a new Adam"]}
