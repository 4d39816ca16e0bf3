# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Train a step as GPipe does: partitions, micro-batches, recomputed activations, accumulated gradients, one update."""

# --8<-- [start:partitions]
import gc

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]
K, PER_PARTITION, WIDTH, BATCH, RATE = 4, 2, 16, 32, 0.1
keras.utils.set_random_seed(6)
# With fewer devices the partitions take turns.
place = [DEVICES[k % len(DEVICES)] for k in range(K)]
partitions = []
for device in place:
    with tf.device(device):
        partition = keras.Sequential(
            [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(PER_PARTITION)]
        )
        partition.build((None, WIDTH))
    partitions.append(partition)
random = np.random.default_rng(6)
x = tf.constant(random.normal(size=(BATCH, WIDTH)), tf.float32)
y = tf.constant(random.normal(size=(BATCH, WIDTH)), tf.float32)
# --8<-- [end:partitions]


# --8<-- [start:step]
def share_of_loss(outputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return what a micro-batch adds to the loss: a sum, divided by the size of the whole mini-batch."""
    return tf.reduce_sum((outputs - targets) ** 2) / (BATCH * WIDTH)


def alive() -> dict[int, int]:
    """Return the bytes of every tensor that is there, by its id."""
    gc.collect()
    tensors = [value for value in gc.get_objects() if isinstance(value, tf.Tensor)]
    return {id(t): int(np.prod(t.shape)) * t.dtype.size for t in tensors}


def pipeline_gradients(
    micro_batches: int, loss=share_of_loss
) -> tuple[list[list[tf.Tensor]], int]:
    """Return the accumulated gradients of every partition, and the bytes kept between forward and backward."""
    xs, ys = tf.split(x, micro_batches), tf.split(y, micro_batches)
    before = alive()
    kept = {}  # only the input of each partition is kept
    for m in range(micro_batches):
        outputs = xs[m]
        for k in range(K):
            with tf.device(place[k]):
                # The activations arrive on this device.
                kept[k, m] = tf.identity(outputs)
                outputs = partitions[k](kept[k, m])
    del outputs
    kept_bytes = sum(size for key, size in alive().items() if key not in before)
    total = [None] * K
    for m in reversed(range(micro_batches)):
        upstream = None
        for k in reversed(range(K)):
            variables = [v.value for v in partitions[k].trainable_variables]
            with tf.device(place[k]):  # for the gradients too
                inputs = kept.pop((k, m))
                with tf.GradientTape() as tape:
                    tape.watch(inputs)
                    # They are computed again: this is what saves the memory.
                    outputs = partitions[k](inputs)
                    outputs = loss(outputs, ys[m]) if k == K - 1 else outputs
                upstream, *found = tape.gradient(
                    outputs, [inputs, *variables], output_gradients=upstream
                )
                # That of an Embedding comes as slices, which cannot be added up.
                found = [tf.convert_to_tensor(gradient) for gradient in found]
                if total[k] is not None:
                    found = [a + b for a, b in zip(total[k], found, strict=True)]
                total[k] = found
    return total, kept_bytes


# --8<-- [end:step]

# --8<-- [start:reference]
# The uncut model has the same weights and gets the whole batch at once.
with tf.device(DEVICES[0]):
    uncut = keras.Sequential(
        [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(K * PER_PARTITION)]
    )
    uncut.build((None, WIDTH))
    uncut.set_weights([w for p in partitions for w in p.get_weights()])
    with tf.GradientTape() as tape:
        full_loss = tf.reduce_mean((uncut(x) - y) ** 2)
    full = tape.gradient(full_loss, [v.value for v in uncut.trainable_variables])


def gap(gradients: list[list[tf.Tensor]], factor: float = 1.0) -> float:
    """Return the largest difference from the full-batch gradients times a factor."""
    flat = [g for partition in gradients for g in partition]
    return max(
        float(tf.reduce_max(abs(a - factor * b)))
        for a, b in zip(flat, full, strict=True)
    )


gaps, kept_bytes = {}, {}
for micro_batches in (1, 2, 4, 8):
    gradients, kept_bytes[micro_batches] = pipeline_gradients(micro_batches)
    gaps[micro_batches] = gap(gradients)
    print(
        f"M = {micro_batches}: gradients equal the full batch: {gaps[micro_batches] < 1e-6}"
    )
# --8<-- [end:reference]

# --8<-- [start:update]
for k, (partition, found) in enumerate(zip(partitions, gradients, strict=True)):
    with tf.device(place[k]):  # else the gradients would travel to the first device
        for variable, gradient in zip(
            partition.trainable_variables, found, strict=True
        ):
            variable.assign_sub(RATE * gradient)
expected = [
    w - RATE * g.numpy() for w, g in zip(uncut.get_weights(), full, strict=True)
]
updated = [w for p in partitions for w in p.get_weights()]
update_gap = max(
    float(abs(a - b).max()) for a, b in zip(updated, expected, strict=True)
)
print("one update equals the update of the uncut model:", update_gap < 1e-6)
# --8<-- [end:update]

# --8<-- [start:wrong]
for partition, weights in zip(
    partitions, np.array_split(np.arange(len(full)), K), strict=True
):
    partition.set_weights([uncut.get_weights()[i] for i in weights])
means, _ = pipeline_gradients(
    4, loss=lambda outputs, targets: tf.reduce_mean((outputs - targets) ** 2)
)
print(
    "the mean of each micro-batch, added up, is 4 times the gradient:",
    gap(means, 4.0) < 1e-6,
)
# --8<-- [end:wrong]

every_activation = K * PER_PARTITION * BATCH * WIDTH * 4
claims = {
    "gradients_equal_full_batch": all(g < 1e-5 for g in gaps.values()),
    "gradients_depend_on_micro_batches": max(gaps.values()) > 1e-4,
    "gradients_computed_where_the_partition_is": all(
        gradient.device.endswith(place[k])
        for k, partition in enumerate(gradients)
        for gradient in partition
    ),
    "one_update_equals_uncut": update_gap < 1e-5,
    "sum_of_means_equals_full_batch": gap(means) < 1e-5,
    "sum_of_means_is_m_times": gap(means, 4.0) < 1e-5,
    "keeps_only_partition_inputs": all(
        b == K * BATCH * WIDTH * 4 for b in kept_bytes.values()
    ),
    "keeps_every_activation": any(b >= every_activation for b in kept_bytes.values()),
    "partitions_spread_over_devices": [
        p.weights[0].value.device[-5:] for p in partitions
    ]
    == [d[-5:] for d in place],
}
measures = {
    "partitions": K,
    "kept_bytes": kept_bytes[8],
    "every_activation_bytes": every_activation,
    "max_gap": max(gaps.values()),
}
