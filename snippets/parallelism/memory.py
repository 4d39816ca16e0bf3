# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 1
# seconds = 60
# ///
"""Count the bytes that training keeps on a device, check the count against Keras, and divide by what a device holds."""

# --8<-- [start:formula]
import gc
import math

import keras
import numpy as np
import tensorflow as tf

SLOTS = {"sgd": 0, "momentum": 1, "adam": 2}  # optimizer values kept for each parameter
# Bytes of a stored value under each Keras dtype policy.
WEIGHT_BYTES = {"float32": 4, "mixed_float16": 4, "bfloat16": 2}


def state_bytes(parameters: int, optimizer: str, policy: str) -> int:
    """Return the bytes of weights, gradients and optimizer slots, if every parameter is trained."""
    return parameters * (2 + SLOTS[optimizer]) * WEIGHT_BYTES[policy]


def devices_needed(
    parameters: int, optimizer: str, policy: str, device_bytes: float
) -> int:
    """Return into how many equal parts that state must be cut so that one part fits on a device."""
    return math.ceil(state_bytes(parameters, optimizer, policy) / device_bytes)


# --8<-- [end:formula]

# --8<-- [start:check]
WIDTH, LAYERS, BATCH = 256, 8, 64


def nbytes(values) -> int:
    """Return the bytes of tensors or variables."""
    return sum(int(np.prod(v.shape)) * tf.as_dtype(v.dtype).size for v in values)


def build(policy: str) -> keras.Model:
    """Return a stack of dense layers whose weights follow a Keras dtype policy."""
    inputs = keras.Input((WIDTH,))
    hidden = inputs
    for _ in range(LAYERS):
        hidden = keras.layers.Dense(WIDTH, activation="relu", dtype=policy)(hidden)
    return keras.Model(inputs, hidden)


def optimizer_for(name: str) -> keras.optimizers.Optimizer:
    """Return the Keras optimizer of that name."""
    if name == "adam":
        return keras.optimizers.Adam()
    return keras.optimizers.SGD(momentum=0.9 if name == "momentum" else 0.0)


checked, table = [], []
for policy in WEIGHT_BYTES:
    model = build(policy)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.cast(model(tf.ones((BATCH, WIDTH))), tf.float32))
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    for name in SLOTS:
        optimizer = optimizer_for(name)
        optimizer.build(model.trainable_variables)
        # The step counter and the learning rate are scalars: they are left out.
        slots = [v for v in optimizer.variables if len(v.shape)]
        real = nbytes(model.trainable_variables), nbytes(gradients), nbytes(slots)
        checked.append(sum(real) == state_bytes(model.count_params(), name, policy))
        table.append([name, policy, *real, sum(real) // model.count_params()])
        print(
            f"{name:9}{policy:14} weights {real[0]:9,}  gradients {real[1]:9,}  slots {real[2]:9,} bytes"
        )
# --8<-- [end:check]


# --8<-- [start:options]
def slots_kept(optimizer: keras.optimizers.Optimizer) -> float:
    """Return how many values the optimizer keeps for each parameter of the model."""
    optimizer.build(model.trainable_variables)
    values = sum(int(np.prod(v.shape)) for v in optimizer.variables if len(v.shape))
    return values / model.count_params()


options = {"use_ema": True, "amsgrad": True, "gradient_accumulation_steps": 4}
slots_with = {}
alone = [{name: value} for name, value in options.items()]
for chosen in ({}, *alone, options):
    slots_with[tuple(chosen)] = slots_kept(keras.optimizers.Adam(**chosen))
    print(f"{slots_with[tuple(chosen)]:.0f} slots: Adam({', '.join(chosen)})")
# --8<-- [end:options]


# --8<-- [start:cast]
def alive() -> list[tf.Tensor]:
    """Return every tensor that something refers to."""
    gc.collect()
    return [value for value in gc.get_objects() if isinstance(value, tf.Tensor)]


def kernels_in_bfloat16() -> list[tf.Tensor]:
    """Return the matrices of that type and shape that are alive."""
    shape, dtype = (WIDTH, WIDTH), tf.bfloat16
    return [value for value in alive() if (value.shape, value.dtype) == (shape, dtype)]


del gradients, model  # those of the policy above
model = build("mixed_bfloat16")
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(tf.ones((BATCH, WIDTH))))
casts = len(kernels_in_bfloat16()), nbytes(kernels_in_bfloat16())
print("kept for the backward pass: {} kernels in bfloat16, {:,} bytes".format(*casts))
# --8<-- [end:cast]


# --8<-- [start:kept]
def bytes_kept(policy: str, *, norm: bool, batch: int = BATCH) -> int:
    """Return the bytes of activations that wait for the backward pass."""
    inputs = hidden = keras.Input((WIDTH,))
    for _ in range(LAYERS):
        hidden = keras.layers.Dense(WIDTH, activation="relu", dtype=policy)(hidden)
        if norm:
            hidden = keras.layers.LayerNormalization(dtype=policy)(hidden)
    network, rows = keras.Model(inputs, hidden), tf.ones((batch, WIDTH))
    before = {id(value) for value in alive()}
    with tf.GradientTape():
        tf.reduce_sum(network(rows, training=True))
        new = [value for value in alive() if id(value) not in before]
        return nbytes(value for value in new if value.shape[:1] == (batch,))


kept_of = {}
for norm in (False, True):
    kept_of[norm] = [
        bytes_kept(policy, norm=norm) for policy in ("float32", "mixed_bfloat16")
    ]
    label = "with LayerNormalization" if norm else "dense layers alone"
    in_float32, in_mixed = kept_of[norm]
    print(f"{label:23} float32 {in_float32:9,}  mixed_bfloat16 {in_mixed:9,} bytes")
# --8<-- [end:kept]


# --8<-- [start:bfloat16]
def after(steps: int, dtype: str) -> float:
    """Return what SGD makes of a weight of 1 that should lose 0.001 in every step."""
    weight, optimizer = keras.Variable(1.0, dtype=dtype), keras.optimizers.SGD(0.001)
    for _ in range(steps):
        optimizer.apply([tf.ones((), dtype)], [weight])
    return float(weight.numpy())


ended = {dtype: after(100, dtype) for dtype in ("float32", "bfloat16")}
for dtype, value in ended.items():
    print(f"a weight of 1 after 100 updates of -0.001, in {dtype:8}: {value:.3f}")
# --8<-- [end:bfloat16]

# --8<-- [start:activations]
model = build("float32")
weights_before = nbytes(model.trainable_variables)
every_output = keras.Model(model.inputs, [layer.output for layer in model.layers[1:]])
outputs = every_output(tf.ones((BATCH, WIDTH)))
activations = nbytes(outputs)
print(f"activations kept for the backward pass: {activations:,} bytes at batch {BATCH}")
twice = nbytes(every_output(tf.ones((2 * BATCH, WIDTH))))
print(
    f"twice the batch: {twice:,} bytes; the weights stay at {nbytes(model.trainable_variables):,}"
)
# --8<-- [end:activations]

# --8<-- [start:fewer]
kept = {}
for name in ("Adam", "Adafactor", "Lion", "SGD"):
    kept[name] = slots_kept(getattr(keras.optimizers, name)())
    print(f"{name:10} keeps {kept[name]:.2f} values for each parameter")
# --8<-- [end:fewer]

# --8<-- [start:thin]
dense = keras.layers.Dense(WIDTH)
dense.build((None, WIDTH))
dense.enable_lora(rank=4)
adam = keras.optimizers.Adam()
adam.build(dense.trainable_variables)
slots = [v for v in adam.variables if len(v.shape)]
thin = [
    sum(int(np.prod(v.shape)) for v in values)
    for values in (dense.variables, dense.trainable_variables, slots)
]
print("{:,} parameters, {:,} of them trained, {:,} values in slots".format(*thin))
# --8<-- [end:thin]

# --8<-- [start:published]
GB = 10**9
# Model, year, parameters, an accelerator of that time, its memory in GB. The page names the source of each.
PUBLISHED = [
    ("BERT-Large", 2018, 340e6, "V100", 32),
    ("GPT-2", 2019, 1.5e9, "V100", 32),
    ("GPT-3", 2020, 175e9, "A100", 40),
    ("PaLM", 2022, 540e9, "H100", 80),
    ("Llama 3.1", 2024, 405e9, "H200", 141),
]
needs = []
for name, year, parameters, accelerator, memory in PUBLISHED:
    total = state_bytes(int(parameters), "adam", "float32")
    count = devices_needed(int(parameters), "adam", "float32", memory * GB)
    needs.append(
        [
            name,
            year,
            f"{parameters / 1e9:g} billion",
            round(total / GB, 1),
            accelerator,
            memory,
            count,
        ]
    )
    print(
        f"{name:10} {year}: {total / GB:7,.1f} GB of state, {accelerator} with {memory:3} GB, devices needed: {count}"
    )
# --8<-- [end:published]

every = np.arange(2**16, dtype="uint16").view(tf.bfloat16.as_numpy_dtype)
below_one = float(max(number for number in every.astype("float32") if number < 1))
by_name = {row[0]: row for row in needs}
claims = {
    "formula_equals_keras": all(checked),
    "adam_float32_is_16_bytes": all(
        row[5] == 16 for row in table if row[:2] == ["adam", "float32"]
    ),
    "adam_float32_is_4_bytes": all(
        row[5] == 4 for row in table if row[:2] == ["adam", "float32"]
    ),
    "adam_float32_is_8_bytes": all(
        row[5] == 8 for row in table if row[:2] == ["adam", "float32"]
    ),
    "sgd_needs_slots": any(row[4] > 0 for row in table if row[0] == "sgd"),
    "mixed_float16_halves_weights": table[3][2] * 2 == table[0][2],
    "mixed_float16_state_equals_float32": all(
        a[2:] == b[2:] for a, b in zip(table[:3], table[3:6], strict=True)
    ),
    "mixed_keeps_a_copy_of_each_matrix": casts == (LAYERS, 2 * LAYERS * WIDTH**2),
    "bfloat16_loses_small_updates": ended["bfloat16"] == 1,
    "float32_keeps_them": abs(ended["float32"] - 0.9) < 1e-4,
    "one_minus_a_thousandth_rounds_to_one": (1 + below_one) / 2 < 1 - 0.001,
    "lion_keeps_half_of_adam": kept["Lion"] == 1 and kept["Adam"] == 2,
    "adafactor_keeps_a_whole_value": 1 < kept["Adafactor"] < 1.1,
    "lora_trains_two_thin_matrices_and_the_bias": thin
    == [WIDTH**2 + 9 * WIDTH, 9 * WIDTH, 18 * WIDTH],
    "each_option_of_adam_keeps_one_more": list(slots_with.values()) == [2, 3, 3, 3, 5],
    "activations_grow_with_batch": twice == 2 * activations
    and bytes_kept("float32", norm=False) == activations
    and bytes_kept("float32", norm=False, batch=2 * BATCH) == twice,
    "weights_grow_with_batch": nbytes(model.trainable_variables) > weights_before,
    "mixed_keeps_about_half_of_dense_layers": 0.5
    <= kept_of[False][1] / kept_of[False][0]
    < 0.6,
    "mixed_keeps_no_less_with_normalisation": kept_of[True][1] >= kept_of[True][0],
    "gpt3_fits_one_a100": by_name["GPT-3"][6] == 1,
    "bert_fits_one_v100": by_name["BERT-Large"][6] == 1,
    "state_outgrew_memory": by_name["Llama 3.1"][3] / by_name["BERT-Large"][3]
    > 10 * by_name["Llama 3.1"][5] / by_name["BERT-Large"][5],
}
measures = {
    "parameters": model.count_params(),
    "activation_bytes": activations,
    "adam_bytes_per_parameter": table[2][5],
    "below_one": round(below_one, 4),
    "state_growth": round(by_name["Llama 3.1"][3] / by_name["BERT-Large"][3]),
    "memory_growth": round(by_name["Llama 3.1"][5] / by_name["BERT-Large"][5], 1),
    "gpt3_devices": by_name["GPT-3"][6],
}
tables = {
    "per_parameter": {
        "columns": [
            "optimizer",
            "dtype policy",
            "weights",
            "gradients",
            "slots",
            "bytes per parameter",
        ],
        "rows": table,
    },
    "published": {
        "columns": [
            "model",
            "year",
            "parameters",
            "state with Adam (GB)",
            "accelerator",
            "its memory (GB)",
            "devices",
        ],
        "rows": needs,
    },
    "widget": {
        "columns": [
            "parameters",
            "optimizer",
            "policy",
            "parts",
            "data parallel",
            "cut",
        ],
        "rows": [
            [p, o, w, n, state_bytes(p, o, w), state_bytes(p, o, w) / n]
            for p in (10**6, 10**9, 175 * 10**9)
            for o in SLOTS
            for w in WEIGHT_BYTES
            for n in (1, 3, 64)
        ],
    },
}
figures = {
    "growth": {
        "kind": "lines",
        "title": "State to train with Adam in float32, and memory of one accelerator",
        "xlabel": "year",
        "ylabel": "GB",
        "yscale": "log",
        "markers": True,
        "x": [row[1] for row in needs],
        "series": {
            "training state": [row[3] for row in needs],
            "one accelerator": [row[5] for row in needs],
        },
    },
    "per_device": {
        "kind": "lines",
        "title": "7 billion parameters, Adam, float32",
        "xlabel": "devices",
        "ylabel": "GB on each device",
        "xscale": "log2",
        "markers": True,
        "x": [1, 2, 4, 8, 16],
        "series": {
            "data parallel": [state_bytes(7 * 10**9, "adam", "float32") / GB] * 5,
            "cut into parts": [
                state_bytes(7 * 10**9, "adam", "float32") / GB / 2**i for i in range(5)
            ],
        },
    },
}
