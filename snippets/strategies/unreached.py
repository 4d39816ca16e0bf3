# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""A variable that the loss does not reach: a warning in a plain step, an error where you sum gradients yourself."""

import warnings

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
x = np.random.default_rng(0).normal(size=(8 * replicas, 4)).astype("float32")
rows = tf.data.Dataset.from_tensors(x)

with strategy.scope():
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(8, "tanh", name="base")(inputs)
    heads = [keras.layers.Dense(1, name=name)(hidden) for name in ("used", "unused")]
    model = keras.Model(inputs, heads)
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
# --8<-- [end:setup]


# --8<-- [start:step]
def loss_of(features):
    output, _ = model(features, training=True)  # the loss takes one of two heads
    return tf.reduce_sum(output**2) / len(x)


def gradients(features, variables, **options):
    with tf.GradientTape() as tape:
        loss = loss_of(features)
    return tape.gradient(loss, variables, **options)


def plain(features):
    found = gradients(features, model.trainable_variables)
    optimizer.apply(found, model.trainable_variables)


def apply_sum(found):
    """Sum first, as a step does that clips, or looks at what all replicas found."""
    sums = tf.distribute.get_replica_context().all_reduce("SUM", found)
    optimizer.apply([one / replicas for one in sums], model.trainable_variables)


def summed(features):
    apply_sum(gradients(features, model.trainable_variables))


ZERO = {"unconnected_gradients": tf.UnconnectedGradients.ZERO}


def zeros_of_keras(features):
    apply_sum(gradients(features, model.trainable_variables, **ZERO))


def zeros(features):
    values = [variable.value for variable in model.trainable_variables]
    apply_sum(gradients(features, values, **ZERO))


# --8<-- [end:step]


# --8<-- [start:run]
def attempt(on_replica):
    """Train one batch; return the error and the warning, each `None` without one."""
    run = tf.function(lambda batch: strategy.run(on_replica, args=(batch,)))
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for batch in strategy.experimental_distribute_dataset(rows):
            try:
                run(batch)
            except Exception as raised:
                last = str(raised).strip().splitlines()[-1].strip()  # after the trace
                name = type(raised).__name__
                error = last if last.startswith(name) else f"{name}: {last}"
    said = [str(one.message) for one in caught]
    return error, next((one for one in said if one.startswith("Gradients")), None)


before = model.get_weights()
found, still = {}, {}
for step in (plain, summed, zeros_of_keras, zeros):
    error, warned = found[step.__name__] = attempt(step)
    print(f"{step.__name__:15}{error or ('works, and warns' if warned else 'works')}")
    pairs = zip(model.variables, before, model.get_weights(), strict=True)
    still[step.__name__] = [v.path for v, a, b in pairs if np.array_equal(a, b)]
print("not moved by the plain step:", still["plain"])
print("never moved:", still["zeros"])
# --8<-- [end:run]

claims = {
    "a_plain_step_warns_and_trains": found["plain"][0] is None
    and "unused/kernel" in str(found["plain"][1])
    and still["plain"] == ["unused/kernel", "unused/bias"],
    "what_the_loss_does_not_reach_never_moves": still["zeros"]
    == ["unused/kernel", "unused/bias"],
    "a_sum_of_none_raises": "None values not supported" in str(found["summed"][0]),
    "zeros_for_keras_variables_raise": "_type_enum" in str(found["zeros_of_keras"][0]),
    "zeros_can_be_summed": found["zeros"] == (None, None),
}
errors = {
    "warning": f"UserWarning: {found['plain'][1]}",
    "none": found["summed"][0],
    "zeros": found["zeros_of_keras"][0],
}
