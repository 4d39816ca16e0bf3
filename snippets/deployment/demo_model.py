# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#   "tensorflow==2.21.*",
#   "keras==3.15.*",
#   "scikit-learn",
#   "scipy",
#   "tensorflowjs==4.22.0",
#   "tf-keras==2.21.*",
# ]
#
# [tool.uv]
# override-dependencies = [
#   "flax; python_version < '3'",
#   "jax; python_version < '3'",
#   "jaxlib; python_version < '3'",
#   "packaging>=24",
#   "tensorflow-decision-forests; python_version < '3'",
#   "tensorflow-hub; python_version < '3'",
# ]
#
# [tool.guide]
# seconds = 240
# tolerance = 0.02
# ///
"""Train the small network of the page's demo and convert it for the browser.

`python demo_model.py FOLDER` also keeps what the demo needs, in FOLDER.
"""

import hashlib
import json
import sys
import tempfile
import types
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from scipy.ndimage import affine_transform
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# --8<-- [start:augment]
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)
random = np.random.default_rng(0)


def distort(image):
    """Turn, slant, stretch and move an image a little, as hands do."""
    angle, slant = random.normal(0, 0.12), random.normal(0, 0.15)
    turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    matrix = turn @ np.array([[1, 0], [slant, 1]]) / random.uniform(0.9, 1.1, 2)
    centre = np.full(2, 3.5)
    offset = centre - matrix @ centre + random.normal(0, 0.4, 2)
    return affine_transform(image[..., 0], matrix, offset, order=1)[..., None].clip(
        0, 1
    )


copies = 6
x = np.concatenate(
    [x_train] + [[distort(one) for one in x_train] for _ in range(copies - 1)]
)
y = np.tile(y_train, copies)
print(len(x_train), "images,", len(x), "with distorted copies")
# --8<-- [end:augment]

# --8<-- [start:train]
keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((8, 8, 1), name="image"),
        keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=128, epochs=20, verbose=0)
_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print(
    f"{model.count_params():,} weights, {accuracy:.3f} of {len(x_test)} held-out images right"
)
# --8<-- [end:train]

for name in [
    "tensorflow_decision_forests",
    "tensorflow_hub",
    "tensorflowjs.converters.jax_conversion",
]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["tensorflowjs.converters.jax_conversion"].convert_jax = None

# --8<-- [start:convert]
from tensorflowjs.converters import convert_tf_saved_model

scratch = tempfile.TemporaryDirectory()
saved, web = Path(scratch.name, "saved"), Path(scratch.name, "web")
model.export(str(saved), verbose=False)
convert_tf_saved_model(str(saved), str(web), quantization_dtype_map={"float16": "*"})
graph = json.loads((web / "model.json").read_text())
kernels = sorted(
    {node["op"] for node in graph["modelTopology"]["node"]} - {"Const", "Placeholder"}
)
size = sum(
    (web / path).stat().st_size
    for group in graph["weightsManifest"]
    for path in group["paths"]
)
print("the browser needs:", *kernels)
print(f"weights: {size:,} bytes as float16")
# --8<-- [end:convert]

# --8<-- [start:keep]
# Ten held-out images of each digit are kept, with one sign for each pixel:
# 0 to 9 and a to g stand for the 17 levels of ink.
order = np.stack(
    [np.flatnonzero(y_test == digit)[:10] for digit in range(10)], axis=1
).ravel()
signs = [
    "".join(
        "0123456789abcdefg"[ink] for ink in np.rint(x_test[at].ravel() * 16).astype(int)
    )
    for at in order
]

for folder in map(Path, sys.argv[1:]):
    folder.mkdir(parents=True, exist_ok=True)
    graph["userDefinedMetadata"] = {
        "program": Path(__file__).name,
        "sha256": hashlib.sha256(Path(__file__).read_bytes()).hexdigest(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "accuracy": accuracy,
    }
    (folder / "model.json").write_text(json.dumps(graph, separators=(",", ":")) + "\n")
    for group in graph["weightsManifest"]:
        for path in group["paths"]:
            (folder / path).write_bytes((web / path).read_bytes())
    kept = {"digits": "".join(str(y_test[at]) for at in order), "images": signs}
    (folder / "examples.json").write_text(
        json.dumps(kept, separators=(",", ":")) + "\n"
    )
    bare = keras.Model(model.inputs, model.outputs)  # without the optimizer's state
    bare.save(folder / "model.keras")
# --8<-- [end:keep]

shown = [int(order[at]) for at in (2, 6, 8)]
probabilities = model.predict(x_test[shown], verbose=0)
rows = [str(number) for number in range(8)]
scratch.cleanup()

claims = {
    "reads_held_out_images": accuracy > 0.98,
    "half_the_bytes_of_float32": abs(size / (4 * model.count_params()) - 0.5) < 0.01,
    "few_kernels_are_enough": len(kernels) < 12,
    "shown_examples_are_right": bool((probabilities.argmax(1) == y_test[shown]).all()),
}
measures = {
    "weights": model.count_params(),
    "bytes": size,
    "accuracy": accuracy,
    "held_out": len(x_test),
    "kernels": len(kernels),
}
figures = {
    "examples": {
        "kind": "panels",
        "columns": 3,
        "panels": [
            {
                "kind": "matrix",
                "title": f"a held-out {y_test[at]}",
                "rows": rows,
                "columns": rows,
                "values": x_test[at][..., 0].round(3).tolist(),
            }
            for at in shown
        ]
        + [
            {
                "kind": "bars",
                "title": f"the answer: {found.argmax()}",
                "xlabel": "digit",
                "ylabel": "probability",
                "categories": [str(digit) for digit in range(10)],
                "series": {"probability": found.round(3).tolist()},
            }
            for found in probabilities
        ],
    }
}
