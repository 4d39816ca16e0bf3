# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""Four mistakes in a custom loop under MirroredStrategy, the error that each raises, and the cure."""

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
texts = {}


def attempt(name, work):
    """Run `work`; keep the error that it raises, and return what it returns."""
    try:
        result = work()
    except Exception as error:
        texts[name] = f"{type(error).__name__}: {error}"
        print(f"{name}:", type(error).__name__)
    else:
        print(f"{name}: works")
        return result


def linear():
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    return keras.Sequential([keras.Input((2,)), layer])


x = np.array([[1.0, 2.0]], "float32")
# --8<-- [end:setup]

# --8<-- [start:scale]
with strategy.scope():
    half = linear()
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.5))
    optimizer.build(half.trainable_variables)


def old_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(half(x)) / replicas
        scaled = optimizer.get_scaled_loss(loss)
    gradients = tape.gradient(scaled, half.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(gradients)
    optimizer.apply(gradients, half.trainable_variables)


def new_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(half(x)) / replicas
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, half.trainable_variables)
    optimizer.apply(gradients, half.trainable_variables)  # divides by the scale


attempt("get_scaled_loss", lambda: strategy.run(old_step))
attempt("scale_loss", lambda: strategy.run(new_step))
print("the step of SGD:", half.get_weights()[0].ravel())
# --8<-- [end:scale]

# --8<-- [start:unknown]
with strategy.scope():
    model, other = linear(), linear()
    sgd = keras.optimizers.SGD(0.5)
    sgd.build(model.trainable_variables)


def train(trained, optimizer):
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(trained(x)) / replicas
        variables = trained.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)

    strategy.run(step)


attempt("one optimizer, another model", lambda: train(other, sgd))
with strategy.scope():
    own = keras.optimizers.SGD(0.5)
    own.build(other.trainable_variables)
attempt("an optimizer for each", lambda: train(other, own))
# --8<-- [end:unknown]


# --8<-- [start:context]
def sum_inside():
    return strategy.reduce("SUM", tf.constant(1.0), axis=None)


def scope_inside():
    with strategy.scope():
        return tf.constant(1.0)


def sum_in_replica():
    return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))


attempt("reduce in the step", lambda: strategy.run(sum_inside))
attempt("the scope in the step", lambda: strategy.run(scope_inside))
inside = attempt("all_reduce in the step", lambda: strategy.run(sum_in_replica))
each = strategy.run(lambda: tf.constant(1.0))
outside = attempt("reduce outside", lambda: strategy.reduce("SUM", each, axis=None))
sums = [float(value) for value in strategy.experimental_local_results(inside)]
print("sums:", {*sums, float(outside)} == {float(replicas)})
# --8<-- [end:context]


# --8<-- [start:gradients]
def no_path(loss_of):
    def step():
        with tf.GradientTape() as tape:
            output = model(x)
            loss = loss_of(output) if loss_of else None
        if loss is None:
            loss = tf.reduce_sum(output)  # too late: the tape has stopped
        variables = model.trainable_variables
        sgd.apply(tape.gradient(loss, variables), variables)

    strategy.run(step)


attempt("a loss after the tape", lambda: no_path(None))
attempt("NumPy under the tape", lambda: no_path(lambda out: tf.constant(out.numpy())))
attempt("a whole number", lambda: no_path(lambda out: tf.cast(out > 0, tf.float32)))
attempt("a loss of the output", lambda: no_path(tf.reduce_sum))
# --8<-- [end:gradients]

# --8<-- [start:aggregation]
with strategy.scope():
    counter = tf.Variable(0.0)
    summed = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)


def count():
    mine = tf.distribute.get_replica_context().replica_id_in_sync_group
    value = tf.cast(mine, tf.float32) + 1
    counter.assign_add(value)
    summed.assign_add(value)


strategy.run(count)
copies = [float(copy) for copy in strategy.experimental_local_results(counter)]
right = [float(copy) for copy in strategy.experimental_local_results(summed)]
print("no aggregation:", copies)
print("SUM:", right)
# --8<-- [end:aggregation]

total = replicas * (replicas + 1) / 2
claims = {
    "get_scaled_loss_is_gone": "get_scaled_loss" in texts["get_scaled_loss"],
    "scale_loss_gives_the_step_of_sgd": np.allclose(
        half.get_weights()[0].ravel(), [-0.5, -1.0]
    ),
    "an_optimizer_knows_one_model": "one optimizer, another model" in texts,
    "an_optimizer_for_each_works": "an optimizer for each" not in texts
    and np.allclose(other.get_weights()[0].ravel(), [-0.5, -1.0]),
    "reduce_in_the_step_raises": "reduce in the step" in texts,
    "the_scope_in_the_step_raises": texts.get("the scope in the step")
    == texts["reduce in the step"],
    "all_reduce_in_the_step_works": sums == [float(replicas)] * replicas,
    "reduce_outside_works": float(outside) == replicas,
    "a_loss_after_the_tape_raises": "a loss after the tape" in texts,
    "a_loss_of_the_output_works": "a loss of the output" not in texts,
    "without_aggregation_copies_differ": len(set(copies)) == replicas > 1,
    "sum_is_the_sum": right == [total] * replicas,
}
errors = {
    "scaled_loss": texts["get_scaled_loss"],
    "unknown_variable": "ValueError: Unknown variable: ... "
    + texts["one optimizer, another model"].partition("]]>. ")[2],
    "context": texts["reduce in the step"],
    "no_gradients": texts["a loss after the tape"],
}
