# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""A batch that the replicas cannot share evenly: Keras 3 `fit` refuses it as its first, a custom loop takes it."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
uneven, even = 3 * replicas + 1, 4 * replicas
rng = np.random.default_rng(0)
x = rng.normal(size=(4 * uneven, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")


def data(batch):
    """Return the rows in batches of this size, without a short last one."""
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch, drop_remainder=True)


def linear():
    """Return a model of one weight for each column, all zero, compiled in the scope."""
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
            ]
        )
        model.compile(keras.optimizers.SGD(0.05), loss="mse")
    return model


# --8<-- [end:setup]

# --8<-- [start:fit]
ways = {
    "fit, uneven batches": lambda: linear().fit(data(uneven), verbose=0),
    "fit, even batches": lambda: linear().fit(data(even), verbose=0),
    "evaluate, uneven batches": lambda: linear().evaluate(data(uneven), verbose=0),
    "predict, uneven batches": lambda: linear().predict(data(uneven), verbose=0),
}
raised = {}
for name, way in ways.items():
    try:
        way()
        print(f"{name}: works")
    except tf.errors.InvalidArgumentError as error:
        message = error.message[error.message.index("Inputs to operation") :]
        raised[name] = f"{type(error).__name__}: {message.partition('.')[0]}"
        print(f"{name}: {raised[name]}")
# --8<-- [end:fit]


# --8<-- [start:loop]
def loop(batch):
    """Train in a custom loop; every row counts the same, however the rows are shared out."""
    model = linear()

    @tf.function
    def step(rows):
        def on_replica(x, y):
            with tf.GradientTape() as tape:
                loss = tf.nn.compute_average_loss(
                    tf.square(model(x, training=True) - y)[:, 0],
                    global_batch_size=batch,
                )
            model.optimizer.apply(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
            )

        strategy.run(on_replica, args=rows)

    with strategy.scope():
        model.optimizer.build(model.trainable_variables)
    for rows in strategy.experimental_distribute_dataset(data(batch)):
        step(rows)
    return model.get_weights()[0]


reference = np.zeros((3, 1))  # the same steps in NumPy
for start in range(0, len(x), uneven):
    rows = slice(start, start + uneven)
    reference -= 0.05 * 2 / uneven * x[rows].T @ (x[rows] @ reference - y[rows])
looped = loop(uneven)
print(
    "custom loop, uneven batches: equal to NumPy:",
    bool(np.allclose(looped, reference, atol=1e-5)),
)
# --8<-- [end:loop]

claims = {
    "fit_refuses_uneven": "fit, uneven batches" in raised or replicas == 1,
    "evaluate_refuses_uneven": "evaluate, uneven batches" in raised or replicas == 1,
    "fit_takes_even": "fit, even batches" not in raised,
    "predict_takes_uneven": "predict, uneven batches" not in raised,
    "loop_takes_uneven": bool(np.allclose(looped, reference, atol=1e-5)),
}
errors = {"uneven": raised["fit, uneven batches"]} if raised else {}
measures = {"replicas": replicas, "uneven": uneven, "even": even}
