# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""Under MirroredStrategy, two ways to "You must feed a value for placeholder tensor", and what cures each."""

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]
default = tf.distribute.MirroredStrategy(names)
on_one_device = tf.distribute.MirroredStrategy(
    names, cross_device_ops=tf.distribute.ReductionToOneDevice()
)
batch, steps = 2 * len(names), 2
x = np.random.default_rng(0).normal(size=(steps * batch, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")


def data():
    """Return the rows in global batches."""
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


def linear():
    """Return a model of one weight for each column, all zero."""
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
        ]
    )


# --8<-- [start:fit]
def fit(strategy, steps_per_execution):
    """Train with `fit`, several steps for each call of the training function."""
    with strategy.scope():
        model = linear()
        model.compile(
            keras.optimizers.SGD(0.1),
            loss="mse",
            steps_per_execution=steps_per_execution,
        )
    model.fit(data(), verbose=0)
    return model.get_weights()[0]


# --8<-- [end:fit]


# --8<-- [start:loop]
def loop(strategy, build_first):
    """Train in a custom loop; Adam makes its slots in the scope, or at its first use inside `tf.function`."""
    with strategy.scope():
        model, optimizer = linear(), keras.optimizers.Adam(0.1)
        if build_first:
            optimizer.build(model.trainable_variables)

    def on_replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(
                tf.square(model(x, training=True) - y)[:, 0],
                global_batch_size=batch,
            )
        optimizer.apply(
            tape.gradient(loss, model.trainable_variables), model.trainable_variables
        )

    step = tf.function(lambda x, y: strategy.run(on_replica, args=(x, y)))
    for rows in strategy.experimental_distribute_dataset(data()):
        step(*rows)
    return model.get_weights()[0]


# --8<-- [end:loop]

# --8<-- [start:run]
cases = {
    "fit, 2 steps per execution": lambda: fit(default, 2),
    "fit, 2 steps, reduced on one device": lambda: fit(on_one_device, 2),
    "loop, Adam built first": lambda: loop(default, True),
    "loop, Adam not built": lambda: loop(default, False),
    "loop, Adam not built, reduced on one device": lambda: loop(on_one_device, False),
}
raised, nodes, weights = {}, {}, {}
for name, train in cases.items():
    try:
        weights[name] = train()
        print(f"{name}: trained")
    except tf.errors.InvalidArgumentError as error:
        message = error.message[error.message.index("You must feed") :]
        text, _, node = message.partition(" '")
        nodes[name] = node.partition("'")[0]  # its number varies from run to run
        raised[name] = f"{type(error).__name__}: {text}"
        print(f"{name}: {raised[name]}")
# --8<-- [end:run]

sgd = np.zeros((3, 1))  # the same steps in NumPy
for rows in (slice(0, batch), slice(batch, 2 * batch)):
    sgd -= 0.1 * 2 / batch * x[rows].T @ (x[rows] @ sgd - y[rows])
adam = loop(tf.distribute.get_strategy(), True)  # the same steps on one device
claims = {
    "steps_per_execution_raises": "fit, 2 steps per execution" in raised
    or len(names) == 1,
    "unbuilt_optimizer_raises": "loop, Adam not built" in raised or len(names) == 1,
    "placeholder_is_in_a_conditional": all("cond/" in node for node in nodes.values()),
    "one_device_reduction_cures_fit": bool(
        np.allclose(weights["fit, 2 steps, reduced on one device"], sgd, atol=1e-5)
    ),
    "building_first_cures_the_loop": bool(
        np.allclose(weights["loop, Adam built first"], adam, atol=1e-5)
    ),
    "one_device_reduction_cures_the_loop": bool(
        np.allclose(
            weights["loop, Adam not built, reduced on one device"], adam, atol=1e-5
        )
    ),
}
errors = {
    name: raised[case]
    for name, case in {
        "steps_per_execution": "fit, 2 steps per execution",
        "unbuilt_optimizer": "loop, Adam not built",
    }.items()
    if case in raised
}
measures = {"replicas": len(names), "errors_seen": len(raised)}
