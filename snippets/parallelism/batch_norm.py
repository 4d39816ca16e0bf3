# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 1
# seconds = 60
# ///
"""Show what micro-batches do to batch normalisation, and which layers they leave alone."""

# --8<-- [start:models]
import keras
import numpy as np
import tensorflow as tf

BATCH, WIDTH, MOMENTUM = 32, 8, 0.9
random = np.random.default_rng(9)
x = random.normal(loc=3.0, size=(BATCH, WIDTH)).astype("float32")
y = random.normal(size=(BATCH, 1)).astype("float32")


def build(normalisation: keras.layers.Layer | None) -> keras.Model:
    """Return a small network with a layer of normalisation in the middle."""
    keras.utils.set_random_seed(4)
    hidden = [keras.layers.Dense(WIDTH)] + ([normalisation] if normalisation else [])
    return keras.Sequential(
        [keras.Input((WIDTH,)), *hidden, keras.layers.ReLU(), keras.layers.Dense(1)]
    )


def gradients(model: keras.Model, micro_batches: int) -> list[np.ndarray]:
    """Return the gradients of the mean squared error over the batch, accumulated over micro-batches."""
    total = None
    for inputs, targets in zip(
        np.split(x, micro_batches), np.split(y, micro_batches), strict=True
    ):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(inputs, training=True) - targets) ** 2) / BATCH
        found = [
            g.numpy()
            for g in tape.gradient(loss, [v.value for v in model.trainable_variables])
        ]
        total = (
            found
            if total is None
            else [a + b for a, b in zip(total, found, strict=True)]
        )
    return total


# --8<-- [end:models]

# --8<-- [start:compare]
layers = {
    "no normalisation": lambda: None,
    "LayerNormalization": keras.layers.LayerNormalization,
    # Frozen, it uses its moving averages.
    "frozen BatchNormalization": lambda: keras.layers.BatchNormalization(
        trainable=False
    ),
    "BatchNormalization": lambda: keras.layers.BatchNormalization(momentum=MOMENTUM),
}
off = {}
for name, layer in layers.items():
    whole = np.concatenate([g.ravel() for g in gradients(build(layer()), 1)])
    off[name] = []
    for micro_batches in (1, 2, 4, 8):
        split = np.concatenate(
            [g.ravel() for g in gradients(build(layer()), micro_batches)]
        )
        off[name].append(float(np.linalg.norm(split - whole) / np.linalg.norm(whole)))
    print(f"{name:25} gradient off by", *[f"{100 * o:.0f} %" for o in off[name]])
# --8<-- [end:compare]

# --8<-- [start:moving]
moved = {}
for micro_batches in (1, 8):
    layer = keras.layers.BatchNormalization(momentum=MOMENTUM)
    model = build(layer)
    gradients(model, micro_batches)
    moved[micro_batches] = layer.moving_mean.numpy()
mean = build(None).layers[0](x).numpy().mean(axis=0)
once, often = (float((moved[m] / mean).mean()) for m in (1, 8))
print(
    f"the moving mean goes {100 * once:.0f} % of the way in a step; with 8 micro-batches {100 * often:.0f} %"
)
# --8<-- [end:moving]

claims = {
    "batch_norm_changes_gradients": min(off["BatchNormalization"][1:]) > 0.01,
    "batch_norm_keeps_gradients": max(off["BatchNormalization"]) < 1e-4,
    "layer_norm_keeps_gradients": max(off["LayerNormalization"]) < 1e-4,
    "layer_norm_changes_gradients": max(off["LayerNormalization"]) > 0.01,
    "frozen_batch_norm_keeps_gradients": max(off["frozen BatchNormalization"]) < 1e-4,
    "no_normalisation_keeps_gradients": max(off["no normalisation"]) < 1e-4,
    "smaller_micro_batches_are_further_off": off["BatchNormalization"][3]
    > off["BatchNormalization"][1],
    "moving_mean_moves_once_per_micro_batch": abs(often - (1 - MOMENTUM**8)) < 0.1
    and abs(once - 0.1) < 0.01,
    "moving_mean_moves_once_per_step": abs(often - once) < 0.01,
}
measures = {
    "off_at_2_percent": round(100 * off["BatchNormalization"][1]),
    "off_at_8_percent": round(100 * off["BatchNormalization"][3]),
}
measures |= {
    "moved_once_percent": round(100 * once),
    "moved_often_percent": round(100 * often),
}
figures = {
    "off": {
        "kind": "lines",
        "title": "Accumulated gradient against the full-batch gradient",
        "xlabel": "micro-batches",
        "ylabel": "relative difference",
        "xscale": "log2",
        "markers": True,
        "x": [1, 2, 4, 8],
        "series": {name: [round(v, 4) for v in values] for name, values in off.items()},
    }
}
