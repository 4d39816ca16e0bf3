# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 1
# seconds = 60
# ///
"""Decide how to split a training job from its bytes, and count what each way of splitting sends."""

# --8<-- [start:decide]
import keras
import numpy as np
import tensorflow as tf

GB = 1e9


def fits(
    *,
    state: float,
    largest_layer: float,
    gathered: float,
    gradients: float,
    activations: float,
    device: float,
    devices: int,
) -> dict[str, bool]:
    """Return which ways of splitting fit, the simplest first.

    Args:
        state: bytes of weights, gradients and optimizer slots of the whole model.
        largest_layer: the same for its largest layer.
        gathered: bytes of the weights and gradients alone of that layer.
        gradients: bytes of the gradients alone of the whole model.
        activations: bytes of activations for the smallest batch worth giving to a device.
        device: bytes of memory of a device.
        devices: how many there are.
    """
    each = state / devices
    # For the all-reduce all gradients are joined, in a second copy; the activations are gone by then.
    joined = gradients if devices > 1 else 0
    return {
        "data parallel": state + max(activations, joined) <= device,
        # A share of the state; the layer that is at work comes together for a moment, without slots.
        "sharded state (ZeRO)": each + gathered + activations <= device,
        # 1F1B: the first device holds a micro-batch for each device, but only for its
        # share of the layers: as much as one micro-batch in the whole model.
        "pipeline": max(each, largest_layer) + activations <= device,
        # Not all activations are cut, so all are counted.
        "tensor parallel": each + activations <= device,
    }


def choose(**needs: float) -> str:
    """Return the simplest way of splitting that fits."""
    if needs["devices"] == 1:
        return "one device" if fits(**needs)["data parallel"] else "does not fit"
    return next((way for way, fit in fits(**needs).items() if fit), "does not fit")


cases = {  # parameters in all and in the largest layer, GB of a device
    "1.5 billion parameters": (1.5e9, 0.1e9, 80),
    "3 billion parameters": (3e9, 0.2e9, 40),
    "8 billion parameters": (8e9, 0.5e9, 80),
    "34 billion parameters": (34e9, 1e9, 80),
    "9 billion, of which 8 in one layer": (9e9, 8e9, 80),
    "175 billion parameters": (175e9, 1.8e9, 80),
}
asked, ways, decided = {}, {}, {}
for name, (parameters, largest, size) in cases.items():
    needs = {
        "state": 16 * parameters,  # Adam in float32 keeps 16 bytes for each
        "largest_layer": 16 * largest,
        "gathered": 8 * largest,
        "gradients": 4 * parameters,
        "activations": 8 * GB,
        "device": size * GB,
        "devices": 8,
    }
    asked[name], ways[name], decided[name] = needs, fits(**needs), choose(**needs)
    print(f"{name:35} on 8 devices of {size} GB: {decided[name]}")
# --8<-- [end:decide]

# --8<-- [start:traffic]
N, LAYERS, WIDTH = 4, 8, 128
model = keras.Sequential(
    [keras.Input((WIDTH,))]
    + [keras.layers.Dense(WIDTH, activation="tanh") for _ in range(LAYERS)]
)
layer_outputs = keras.Model(model.inputs, [layer.output for layer in model.layers])


def all_reduce(size: float) -> float:
    """Return what one device sends in a ring all-reduce."""
    return 2 * (N - 1) / N * size


def traffic(batch: int) -> dict[str, float]:
    """Return the bytes that the busiest device sends in a step, from the sizes of the real tensors."""
    with tf.GradientTape() as tape:
        outputs = layer_outputs(tf.ones((batch, WIDTH)))
        loss = tf.reduce_mean(outputs[-1])
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    one_output = int(np.prod(outputs[0].shape)) * outputs[0].dtype.size
    all_gradients = sum(int(np.prod(g.shape)) * g.dtype.size for g in gradients)
    pairs = LAYERS / 2  # tensor parallelism sums once for each pair, forward and back
    return {
        "data parallel": all_reduce(all_gradients),
        "pipeline": 2 * one_output,  # forward to the next, gradients to the one before
        "tensor parallel": 2 * pairs * all_reduce(one_output),
    }


batches = [2**i for i in range(3, 14)]
sent = {batch: traffic(batch) for batch in batches}
for batch in (8, 512, 8192):
    print(
        f"batch {batch:4}",
        *[f" {name}: {value / 1e6:.2f} MB" for name, value in sent[batch].items()],
    )
# --8<-- [end:traffic]

# --8<-- [start:embedding]
table = keras.layers.Embedding(1000, WIDTH)
table.build()


def gradient_bytes(batch: int) -> int:
    """Return the bytes of the gradient of a table, for rows of 8 words."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(table(tf.zeros((batch, 8), "int32")))
    slices = tape.gradient(loss, table.embeddings.value)
    return int(np.prod(slices.values.shape)) * slices.dtype.size


whole = table.count_params() * 4
slices = {batch: gradient_bytes(batch) for batch in (8, 512, 8192)}
print(f"a table of {whole / 1e6:.2f} MB")
for batch, size in slices.items():
    print(f"batch {batch:4}  its gradient: {size / 1e6:.2f} MB")
# --8<-- [end:embedding]

parameters = model.count_params() * 4
almost = asked["1.5 billion parameters"] | {"state": 16 * 4.4e9, "gradients": 4 * 4.4e9}
claims = {
    "fits_so_data_parallel": decided["1.5 billion parameters"] == "data parallel",
    "too_large_so_data_parallel": decided["8 billion parameters"] == "data parallel",
    "too_large_so_pipeline": ways["8 billion parameters"]["pipeline"],
    "too_large_so_sharded": decided["8 billion parameters"] == "sharded state (ZeRO)",
    "three_billion_fit_on_each_device": ways["3 billion parameters"]["data parallel"],
    "three_billion_so_sharded": decided["3 billion parameters"]
    == "sharded state (ZeRO)",
    "three_billion_need_tensor": decided["3 billion parameters"] == "tensor parallel",
    "sharded_too_large_so_pipeline": decided["34 billion parameters"] == "pipeline"
    and not ways["34 billion parameters"]["sharded state (ZeRO)"],
    "one_device_where_it_fits": choose(
        **asked["1.5 billion parameters"] | {"devices": 1}
    )
    == "one device",
    "fits_on_one_device_and_not_on_each_of_several": [
        choose(**almost | {"devices": count}) for count in (1, 8)
    ]
    == ["one device", "sharded state (ZeRO)"],
    "layer_too_large_so_tensor": decided["9 billion, of which 8 in one layer"]
    == "tensor parallel",
    "activations_alone_are_too_large": choose(
        **asked["8 billion parameters"] | {"activations": 100 * GB}
    )
    == "does not fit",
    "a_pipeline_needs_room_for_a_micro_batch": not fits(
        **asked["34 billion parameters"] | {"state": 16 * 39e9}
    )["pipeline"],
    "eight_devices_hold_175_billion": decided["175 billion parameters"]
    != "does not fit",
    "data_traffic_independent_of_batch": sent[8]["data parallel"]
    == sent[8192]["data parallel"]
    == all_reduce(parameters),
    "data_traffic_grows_with_batch": sent[8192]["data parallel"]
    > sent[8]["data parallel"],
    "embedding_traffic_grows_with_batch": slices[8192] == 1024 * slices[8],
    "beyond_the_size_of_the_table": slices[8] < whole < slices[512],
    "pipeline_traffic_grows_with_batch": sent[8192]["pipeline"]
    == 1024 * sent[8]["pipeline"],
    "pipeline_sends_least": all(
        row["pipeline"] <= row["tensor parallel"] for row in sent.values()
    ),
    "tensor_sends_more_than_pipeline": all(
        row["tensor parallel"] > row["pipeline"] for row in sent.values()
    ),
    "tensor_sends_least": all(
        row["tensor parallel"] <= min(row.values()) for row in sent.values()
    ),
}
three = asked["3 billion parameters"]
measures = {
    "state_gb": three["state"] / GB,
    "sharded_gb": (
        three["state"] / three["devices"] + three["gathered"] + three["activations"]
    )
    / GB,
    "devices": N,
    "parameter_bytes": parameters,
    "data_parallel_bytes": sent[8]["data parallel"],
}
figures = {
    "traffic": {
        "kind": "lines",
        "title": f"Sent per step by the busiest of {N} devices",
        "xlabel": "global batch",
        "ylabel": "bytes",
        "xscale": "log2",
        "yscale": "log",
        "x": batches,
        "series": {name: [sent[b][name] for b in batches] for name in sent[8]},
    }
}
