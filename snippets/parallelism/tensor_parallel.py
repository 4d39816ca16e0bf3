# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Cut the weight matrices themselves over a mesh of devices with DTensor, and compare with the uncut model."""

# --8<-- [start:mesh]
import re

import numpy as np
import tensorflow as tf
from tensorflow.experimental import dtensor

DEVICES = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
N = len(DEVICES)
# The matrices are cut into MODEL parts; the rest of the mesh splits the batch.
MODEL = 2 if N % 2 == 0 else 1
mesh = dtensor.create_mesh(
    [("batch", N // MODEL), ("model", MODEL)],
    devices=[f"{d.device_type}:{i}" for i, d in enumerate(DEVICES)],
)
WHOLE = dtensor.UNSHARDED


def spread(value: np.ndarray, dimensions: list[str]) -> tf.Tensor:
    """Put an array on the mesh, each dimension whole or cut; a device gets only its part."""
    layout = dtensor.Layout(dimensions, mesh)
    counts = [1 if name == WHOLE else mesh.dim_size(name) for name in dimensions]
    sizes = [size // count for size, count in zip(value.shape, counts, strict=True)]
    parts = []
    for shard in layout.offset_to_shard():  # of each device: its place in the array
        starts = [size * index for size, index in zip(sizes, shard, strict=True)]
        ends = [size + start for size, start in zip(sizes, starts, strict=True)]
        parts.append(value[tuple(map(slice, starts, ends))])
    return dtensor.pack(parts, layout)


def gather(value: tf.Tensor) -> np.ndarray:
    """Return the whole array that a spread tensor stands for."""
    return dtensor.relayout(
        value, dtensor.Layout.replicated(mesh, value.shape.rank)
    ).numpy()


print("mesh:", {name: mesh.dim_size(name) for name in ("batch", "model")})
# --8<-- [end:mesh]

# --8<-- [start:model]
BATCH, FEATURES, HIDDEN = 8 * N, 16, 64
random = np.random.default_rng(4)
x = random.normal(size=(BATCH, FEATURES)).astype("float32")
y = random.normal(size=(BATCH, 1)).astype("float32")
first = (random.normal(size=(FEATURES, HIDDEN)) / 4).astype("float32")
second = (random.normal(size=(HIDDEN, 1)) / 8).astype("float32")

# Each part has all inputs and some of the hidden units.
w1 = dtensor.DVariable(spread(first, [WHOLE, "model"]))
# Each part has the same hidden units and all outputs.
w2 = dtensor.DVariable(spread(second, ["model", WHOLE]))


@tf.function
def step(inputs, targets):
    """Return the output and the gradients; DTensor adds the all-reduces that the layouts call for."""
    with tf.GradientTape() as tape:
        hidden = tf.tanh(tf.matmul(inputs, w1))
        # This sums over the cut dimension: an all-reduce over "model".
        output = tf.matmul(hidden, w2)
        loss = tf.reduce_mean((output - targets) ** 2)
    return hidden, output, tape.gradient(loss, [w1, w2])


hidden, output, gradients = step(
    spread(x, ["batch", WHOLE]), spread(y, ["batch", WHOLE])
)
# --8<-- [end:model]

# --8<-- [start:compare]
tanh = np.tanh(x @ first)  # the uncut model and its gradients, in NumPy
expected = tanh @ second
error = 2 / BATCH * (expected - y)
expected_gradients = x.T @ (error @ second.T * (1 - tanh**2)), tanh.T @ error
output_gap = float(abs(gather(output) - expected).max())
gradient_gap = max(
    float(abs(gather(g) - e).max())
    for g, e in zip(gradients, expected_gradients, strict=True)
)
print("outputs equal to the uncut model:  ", output_gap < 1e-5)
print("gradients equal to the uncut model:", gradient_gap < 1e-5)
# --8<-- [end:compare]


# --8<-- [start:bytes]
def parts_of(value: tf.Tensor) -> list[np.ndarray]:
    """Return what each device holds of a spread tensor."""
    return [part.numpy() for part in dtensor.unpack(value)]


shapes = {}
for name, value in [
    ("w1", w1.read_value()),
    ("w2", w2.read_value()),
    ("batch", spread(x, ["batch", WHOLE])),
    ("hidden", hidden),
]:
    shapes[name] = [part.shape for part in parts_of(value)]
    print(f"{name:6} whole {tuple(value.shape)!s:9} on each device {shapes[name][0]}")
# --8<-- [end:bytes]

# --8<-- [start:outside]
eagerly = step.python_function
batch = spread(x, ["batch", WHOLE]), spread(y, ["batch", WHOLE])


def attempt(function, inputs):
    """Return what DTensor says against a step."""
    try:
        function(*inputs)
    except tf.errors.UnimplementedError as error:
        return error.message.partition(" For other tensors")[0]
    return "runs"


said = {
    "eager": attempt(eagerly, batch),
    "compiled, NumPy batch": attempt(step, (x, y)),
}
with dtensor.default_mesh(mesh):
    said["eager, default_mesh"] = attempt(eagerly, batch)
    said["compiled, NumPy, default_mesh"] = attempt(step, (x, y))
for name, words in said.items():
    print(f"{name:30} {words if words == 'runs' else 'UnimplementedError'}")
# --8<-- [end:outside]

held = [
    a.nbytes + b.nbytes
    for a, b in zip(parts_of(w1.read_value()), parts_of(w2.read_value()), strict=True)
]
columns = [part[0, 0] for part in parts_of(w1.read_value())]
claims = {
    "a_part_comes_from_its_place": all(
        np.array_equal(part, whole)
        for value, dimensions in [(first, [WHOLE, "model"]), (x, ["batch", "model"])]
        for part, whole in zip(
            parts_of(spread(value, dimensions)),
            parts_of(
                dtensor.relayout(
                    dtensor.copy_to_mesh(value, dtensor.Layout.replicated(mesh, 2)),
                    dtensor.Layout(dimensions, mesh),
                )
            ),
            strict=True,
        )
    ),
    "a_step_outside_a_function_needs_a_default_mesh": said["eager"] != "runs"
    and said["eager, default_mesh"] == "runs",
    "a_numpy_batch_fails_either_way": said["compiled, NumPy batch"] != "runs"
    and said["compiled, NumPy, default_mesh"] != "runs",
    "outputs_equal": output_gap < 1e-5,
    "gradients_equal": gradient_gap < 1e-5,
    "weight_bytes_are_total_over_model_parts": set(held)
    == {(first.nbytes + second.nbytes) // MODEL},
    "weight_bytes_are_total": MODEL > 1 and set(held) == {first.nbytes + second.nbytes},
    "first_matrix_cut_by_columns": shapes["w1"][0] == (FEATURES, HIDDEN // MODEL),
    "first_matrix_cut_by_rows": MODEL > 1
    and shapes["w1"][0] == (FEATURES // MODEL, HIDDEN),
    "second_matrix_cut_by_rows": shapes["w2"][0] == (HIDDEN // MODEL, 1),
    "batch_cut_over_batch_dimension": shapes["batch"][0]
    == (BATCH * MODEL // N, FEATURES),
    "gradient_has_the_layout_of_its_weight": dtensor.fetch_layout(
        gradients[0]
    ).sharding_specs
    == [WHOLE, "model"],
    "hidden_units_are_cut_too": all(
        shape == (BATCH * MODEL // N, HIDDEN // MODEL) for shape in shapes["hidden"]
    ),
    "hidden_units_need_no_sum": all(
        np.allclose(np.tanh(rows @ part), own, atol=1e-2)  # a GPU may round to TF32
        for rows, part, own in zip(
            parts_of(batch[0]), parts_of(w1.read_value()), parts_of(hidden), strict=True
        )
    ),
    "cut_by_rows_they_need_one": MODEL > 1
    and not any(
        np.allclose(np.tanh(inputs @ part), tanh, atol=1e-2)
        for inputs, part in zip(
            np.split(x, MODEL, axis=1), np.split(first, MODEL, axis=0), strict=True
        )
    ),
    "weights_copied_along_batch": len(set(columns)) == MODEL,
}
measures = {
    "devices": N,
    "model_parts": MODEL,
    "batch_parts": N // MODEL,
    "weight_bytes": first.nbytes + second.nbytes,
}
measures |= {"bytes_per_device": held[0]}


words = re.sub(
    r"^The op/function \S+ got .*? but", "The op/function ... but", said["eager"]
)
errors = {"regular_tensor": f"UnimplementedError: {words}"}


def owner(row: int, column: int, matrix: str) -> str:
    """Return which devices hold the part of a matrix that a cell of the figure stands for."""
    part = column if matrix == "w1" else row
    return ", ".join(str(i) for i in range(N) if i % MODEL == part)


figures = {
    "layout": {
        "kind": "panels",
        "columns": 2,
        "panels": [
            {
                "kind": "grid",
                "title": f"First matrix, {FEATURES} x {HIDDEN}: cut by columns",
                "rows": ["all rows"],
                "columns": [
                    f"columns {i * HIDDEN // MODEL} to {(i + 1) * HIDDEN // MODEL - 1}"
                    for i in range(MODEL)
                ],
                "text": [[f"devices {owner(0, i, 'w1')}" for i in range(MODEL)]],
                "group": [[f"part {i}" for i in range(MODEL)]],
            },
            {
                "kind": "grid",
                "title": f"Second matrix, {HIDDEN} x 1: cut by rows",
                "rows": [
                    f"rows {i * HIDDEN // MODEL} to {(i + 1) * HIDDEN // MODEL - 1}"
                    for i in range(MODEL)
                ],
                "columns": ["the column"],
                "text": [[f"devices {owner(i, 0, 'w2')}"] for i in range(MODEL)],
                "group": [[f"part {i}"] for i in range(MODEL)],
            },
        ],
    }
}
