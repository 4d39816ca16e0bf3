# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""The default strategy and OneDeviceStrategy: the same code on one device, and what one device cannot show."""

# --8<-- [start:default]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]

default = tf.distribute.get_strategy()  # what is current when nobody chose a strategy
one = tf.distribute.OneDeviceStrategy(names[-1])
many = tf.distribute.MirroredStrategy(names)

print(
    "chosen:", tf.distribute.has_strategy(), "- replicas:", default.num_replicas_in_sync
)
with one.scope():
    print(
        "chosen:", tf.distribute.has_strategy(), "- replicas:", one.num_replicas_in_sync
    )
    variable = tf.Variable(0.0)
print(
    "made in the scope of OneDeviceStrategy, on", variable.device.split("task:0/")[-1]
)
# --8<-- [end:default]

batch = 4 * len(names)
rng = np.random.default_rng(0)
x = rng.normal(size=(4 * batch, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")


# --8<-- [start:train]
def train(strategy, scale):
    """Train a linear model; `scale` turns the losses of a replica's rows into the loss that it differentiates."""
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
            ]
        )
        optimizer = keras.optimizers.SGD(0.05)
        optimizer.build(model.trainable_variables)

    @tf.function
    def step(rows):
        def on_replica(x, y):
            with tf.GradientTape() as tape:
                loss = scale(tf.square(model(x, training=True) - y)[:, 0])
            optimizer.apply(tape.gradient(loss, model.trainable_variables))

        strategy.run(on_replica, args=rows)

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
    for rows in strategy.experimental_distribute_dataset(dataset):
        step(rows)
    return model.get_weights()[0]


# --8<-- [end:train]


# --8<-- [start:same]
def global_mean(losses):
    """Divide by the global batch size: right under every strategy."""
    return tf.nn.compute_average_loss(losses, global_batch_size=batch)


reference = np.zeros((3, 1))  # the same steps in NumPy
for start in range(0, len(x), batch):
    rows = slice(start, start + batch)
    reference -= 0.05 * 2 / batch * x[rows].T @ (x[rows] @ reference - y[rows])

right = {
    name: train(strategy, global_mean)
    for name, strategy in {"default": default, "one": one, "many": many}.items()
}
for name, weights in right.items():
    print(f"{name:8} equal to NumPy: {np.allclose(weights, reference, atol=1e-5)}")
# --8<-- [end:same]

# --8<-- [start:hidden]
# This is the mistake: each replica takes the mean of its own rows.
wrong = {"one": train(one, tf.reduce_mean), "many": train(many, tf.reduce_mean)}
for name, weights in wrong.items():
    print(
        f"wrong scaling, {name:5} equal to NumPy: {np.allclose(weights, reference, atol=1e-5)}"
    )
# --8<-- [end:hidden]

claims = {
    "default_is_not_chosen": not tf.distribute.has_strategy(),
    "default_has_one_replica": default.num_replicas_in_sync == 1,
    "one_device_has_one_replica": one.num_replicas_in_sync == 1,
    "variables_are_on_the_named_device": variable.device.endswith(
        names[-1].split("device:")[-1]
    ),
    "same_code_same_numbers": all(
        bool(np.allclose(weights, reference, atol=1e-5)) for weights in right.values()
    ),
    "one_device_hides_wrong_scaling": bool(
        np.allclose(wrong["one"], reference, atol=1e-5)
    ),
    "many_devices_show_wrong_scaling": len(names) == 1
    or not np.allclose(wrong["many"], reference, atol=1e-3),
}
measures = {"devices": len(names), "default_type": type(default).__name__}
