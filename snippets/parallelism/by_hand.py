# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Train one step in parallel by hand: copy the weights, split the batch, combine the gradients, update every copy."""

# --8<-- [start:setup]
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
DEVICES = [d.name for d in devices]
# ROWS of the batch go to each replica.
REPLICAS, ROWS, FEATURES, RATE = len(DEVICES), 4, 5, 0.1
random = np.random.default_rng(7)
x = random.normal(size=(REPLICAS * ROWS, FEATURES)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [0.5], [3.0], [0.0]], "float32") + random.normal(
    size=(len(x), 1)
).astype("float32")
start = np.zeros((FEATURES, 1), "float32")


def gradient(weights: tf.Variable, inputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Return the gradient of the mean squared error over the rows given."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((inputs @ weights - targets) ** 2)
    return tape.gradient(loss, weights)


# --8<-- [end:setup]

# --8<-- [start:step]
copies, gradients = [], []
for device, inputs, targets in zip(
    DEVICES, tf.split(x, REPLICAS), tf.split(y, REPLICAS), strict=True
):
    with tf.device(device):
        # 1. Every device holds the whole model,
        copies.append(tf.Variable(start))
        # 2. and works on its own rows.
        gradients.append(gradient(copies[-1], inputs, targets))
# 3. The gradients meet: this is the all-reduce.
combined = tf.add_n(gradients) / REPLICAS
for copy in copies:
    # 4. Every copy makes the same update.
    copy.assign_sub(RATE * combined)
print("every copy after the step:", np.round(copies[0].numpy().ravel(), 3))
# --8<-- [end:step]

# --8<-- [start:reference]
# The same gradient in NumPy, on all rows at once.
whole_batch = 2 / len(x) * x.T @ (x @ start - y)
expected = start - RATE * whole_batch
print("one device, whole batch:  ", np.round(expected.ravel(), 3))
# --8<-- [end:reference]

# --8<-- [start:mistakes]
# Nothing is combined: there are as many models as devices.
alone = [start - RATE * g.numpy() for g in gradients]
# The means are added up and not divided: the step is too long.
summed = start - RATE * tf.add_n(gradients).numpy()
print(
    "not combined: the models differ by",
    f"{max(abs(a - alone[0]).max() for a in alone):.4f}",
)
print(
    "means added up: the step is",
    f"{np.linalg.norm(summed - start) / np.linalg.norm(expected - start):.4f}",
    "times too long",
)
# --8<-- [end:mistakes]


def close(a, b) -> bool:
    """Return whether two arrays agree to float32 rounding."""
    return bool(np.allclose(a, b, atol=1e-5))


# With one replica there is nothing to combine, and every way agrees.
many = REPLICAS > 1
claims = {
    "equals_one_device": all(close(c.numpy(), expected) for c in copies),
    "copies_equal": all((c.numpy() == copies[0].numpy()).all() for c in copies),
    "copies_on_their_devices": all(
        c.device.endswith(d) for c, d in zip(copies, DEVICES, strict=True)
    ),
    "gradients_differ_before_all_reduce": not many
    or not close(gradients[0], gradients[-1]),
    "gradients_equal_before_all_reduce": many and close(gradients[0], gradients[-1]),
    "models_agree_without_all_reduce": many and all(close(a, alone[0]) for a in alone),
    "sum_of_means_equals_one_device": many and close(summed, expected),
    "sum_of_means_is_replicas_times": close(
        summed - start, REPLICAS * (expected - start)
    ),
}
measures = {
    "replicas": REPLICAS,
    "rows": len(x),
    "max_difference": float(abs(copies[0].numpy() - expected).max()),
}
figures = {
    "split_and_meet": {
        "kind": "panels",
        "columns": 1,
        "panels": [
            {
                "kind": "grid",
                "title": "The batch is split",
                "rows": ["batch"],
                "columns": [str(i) for i in range(len(x))],
                "xlabel": "row",
                "text": [[str(i // ROWS) for i in range(len(x))]],
                "group": [[f"replica {i // ROWS}" for i in range(len(x))]],
            },
            {
                "kind": "matrix",
                "title": "The gradients meet",
                "rows": [f"replica {i}" for i in range(REPLICAS)]
                + ["mean of the replicas", "one device, all rows"],
                "columns": [f"weight {i}" for i in range(FEATURES)],
                "values": [
                    np.round(g, 3).ravel().tolist()
                    for g in [*gradients, combined, whole_batch]
                ],
                "text": [
                    [f"{v:.2f}" for v in np.ravel(g)]
                    for g in [*gradients, combined, whole_batch]
                ],
            },
        ],
    }
}
