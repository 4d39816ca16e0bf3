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
REPLICAS, ROWS, FEATURES, RATE = (
    len(DEVICES),
    4,
    5,
    0.1,
)  # ROWS of the batch go to each replica
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
        copies.append(tf.Variable(start))  # 1. every device holds the whole model
        gradients.append(
            gradient(copies[-1], inputs, targets)
        )  # 2. and works on its own rows
combined = (
    tf.add_n(gradients) / REPLICAS
)  # 3. the gradients meet: this is the all-reduce
for copy in copies:
    copy.assign_sub(RATE * combined)  # 4. every copy makes the same update
print("every copy after the step:", np.round(copies[0].numpy().ravel(), 3))
# --8<-- [end:step]

# --8<-- [start:reference]
whole_batch = (
    2 / len(x) * x.T @ (x @ start - y)
)  # the same gradient in NumPy, on all rows at once
expected = start - RATE * whole_batch
print("one device, whole batch:  ", np.round(expected.ravel(), 3))
# --8<-- [end:reference]

# --8<-- [start:mistakes]
alone = [
    start - RATE * g.numpy() for g in gradients
]  # nobody combines: as many models as devices
summed = (
    start - RATE * tf.add_n(gradients).numpy()
)  # means added up: the step is too long
print(
    "not combined: the models differ by",
    f"{max(abs(a - alone[0]).max() for a in alone):.4f}",
)
print(
    "means added up: the step is",
    f"{np.linalg.norm(summed) / np.linalg.norm(expected):.4f}",
    "times too long",
)
# --8<-- [end:mistakes]


def close(a, b) -> bool:
    """Return whether two arrays agree to float32 rounding."""
    return bool(np.allclose(a, b, atol=1e-5))


many = (
    REPLICAS > 1
)  # with one replica there is nothing to combine, and every way agrees
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
    "sum_of_means_is_replicas_times": close(summed, REPLICAS * expected),
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
