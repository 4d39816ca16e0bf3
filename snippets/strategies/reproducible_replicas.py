# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""The same seeds, rows and global batches on one replica and on several: equal up to rounding, not bit for bit."""

# --8<-- [start:train]
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
tf.config.experimental.enable_op_determinism()
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
BATCH, RATE = 48 * len(devices), 0.05
rng = np.random.default_rng(0)
x = rng.normal(size=(20 * BATCH, 16)).astype("float32")
y = np.sin(x.sum(1, keepdims=True)).astype("float32")


def train(count):
    """Train on the first devices, in global batches that do not depend on them."""
    # Several strategies in one process: safe here. One device sends nothing, and the
    # other strategies have the same devices and sums of one shape.
    strategy = tf.distribute.MirroredStrategy([d.name for d in devices[:count]])
    with strategy.scope():
        weights = tf.Variable(tf.zeros((16, 1)))
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=3)

    @tf.function
    def step(batch):
        def on_replica(x, y):
            with tf.GradientTape() as tape:
                errors = tf.square(x @ weights - y)[:, 0]
                loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
            context = tf.distribute.get_replica_context()
            gradient = context.all_reduce("SUM", tape.gradient(loss, weights))
            weights.assign_sub(RATE * gradient)

        strategy.run(on_replica, args=batch)

    for batch in strategy.experimental_distribute_dataset(data.batch(BATCH)):
        step(batch)
    return weights.numpy()


# --8<-- [end:train]

# --8<-- [start:compare]
one, several, again = train(1), train(len(devices)), train(len(devices))
away = float(np.abs(several - one).max())
print("replicas:", len(devices))
print("the same number again, same bits:", several.tobytes() == again.tobytes())
print("one replica and several, same bits:", several.tobytes() == one.tobytes())
print("one replica and several, equal to 5 digits:", away < 1e-5)
# --8<-- [end:compare]

claims = {
    "same_number_same_bits": several.tobytes() == again.tobytes(),
    "other_number_same_bits": len(devices) > 1 and several.tobytes() == one.tobytes(),
    "other_number_equal_up_to_rounding": away < 1e-5,
    "it_learned": float(np.abs(one).max()) > 1e-2,
}
measures = {"replicas": len(devices)}
