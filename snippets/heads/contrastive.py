# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# tolerance = 0.1
# ///
"""A loss that compares the rows of a batch: replicas that see only their own rows, and replicas that gather all."""

# --8<-- [start:setup]
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
rows = 8  # of one replica
batch = rows * replicas

rng = np.random.default_rng(1)
image = rng.normal(size=(batch, 6)).astype("float32")
caption = (image @ rng.normal(size=(6, 5)) + rng.normal(size=(batch, 5))).astype("f")
start = [rng.normal(size=(n, 4)).astype("f") for n in (6, 5)]  # two linear encoders


def encode(x, kernel):
    return tf.math.l2_normalize(x @ kernel, axis=1)


def each_row(a, b, all_a, all_b, first):
    """Return one loss for each pair: row i of `a` and of `b` is row `first` + i of all."""
    partner = first + tf.range(len(a))
    to_b, to_a = (
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            partner, 5 * tf.matmul(some, others, transpose_b=True)
        )
        for some, others in ((a, all_b), (b, all_a))
    )
    return (to_b + to_a) / 2


# --8<-- [end:setup]


# --8<-- [start:ways]
def own_rows(a, b):
    return each_row(a, b, a, b, 0)


def gathered(a, b, sent):
    replica = tf.distribute.get_replica_context()
    all_a, all_b = replica.all_gather(sent, axis=0)  # in the order of the replicas
    return each_row(a, b, all_a, all_b, replica.replica_id_in_sync_group * rows)


def all_rows(a, b):
    return gathered(a, b, [a, b])


def all_rows_as_constants(a, b):
    return gathered(a, b, [tf.stop_gradient(a), tf.stop_gradient(b)])


# --8<-- [end:ways]


# --8<-- [start:compare]
def loss_and_gradient(where, losses):
    """Return the loss of the whole batch and its gradient, summed over the replicas."""
    with where.scope():
        kernels = [tf.Variable(kernel) for kernel in start]
    data = tf.data.Dataset.from_tensor_slices((image, caption)).batch(batch)
    data = where.experimental_distribute_dataset(data)

    @tf.function
    def step(pairs):
        def on_replica(x, y):
            with tf.GradientTape() as tape:
                of_rows = losses(encode(x, kernels[0]), encode(y, kernels[1]))
                loss = tf.nn.compute_average_loss(of_rows, global_batch_size=batch)
            return [loss, *tape.gradient(loss, kernels)]

        return where.reduce("SUM", where.run(on_replica, args=pairs), axis=None)

    loss, *gradients = step(next(iter(data)))
    return float(loss), np.concatenate([g.numpy().ravel() for g in gradients])


one_device = tf.distribute.OneDeviceStrategy(devices[0].name)
loss, gradient = loss_and_gradient(one_device, own_rows)
print(f"one device, {batch} rows: loss {loss:.3f}")
found = {}
for losses in (own_rows, all_rows, all_rows_as_constants):
    value, other = loss_and_gradient(strategy, losses)
    off = np.linalg.norm(other - gradient) / np.linalg.norm(gradient)
    found[losses.__name__] = value - loss, off, other
    print(f"{losses.__name__:26} loss {value:.3f}, gradient off by {off:.2f}")
# --8<-- [end:compare]


def same(name):
    """Return whether loss and gradient are those of one device; a GPU rounds to TensorFloat-32."""
    of_loss, of_gradient, _ = found[name]
    return bool(abs(of_loss) < 0.01 and of_gradient < 0.03)


def direction(name):
    """Return the cosine of the angle between this gradient and that of one device."""
    other = found[name][2]
    return float(other @ gradient / np.linalg.norm(other) / np.linalg.norm(gradient))


alone = replicas == 1
claims = {
    "gathered_rows_are_one_device": same("all_rows"),
    "own_rows_are_one_device": not alone and same("own_rows"),
    "own_rows_give_a_lower_loss": alone or found["own_rows"][0] < -0.1,
    "a_factor_mends_own_rows": not alone and direction("own_rows") > 0.99,
    "constants_are_one_device": not alone and same("all_rows_as_constants"),
    "constants_report_the_right_loss": bool(
        abs(found["all_rows_as_constants"][0]) < 0.01
    ),
}
measures = {"replicas": replicas, "rows": rows, "batch": batch}
