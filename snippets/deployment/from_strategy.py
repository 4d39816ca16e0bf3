# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# processes = 2
# seconds = 240
# tolerance = 0.1
# ///
"""Train under MirroredStrategy, save in four forms, and ask each in a process that knows no strategy."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow.core.protobuf import saved_model_pb2


# --8<-- [start:elsewhere]
def answer(folder):
    """Load what is in the folder, let each form answer, and return what this process saw."""
    images = np.load(folder / "images.npy")
    seen = {"devices": len(tf.config.list_logical_devices())}
    answers = {}
    for form in ("export", "in the scope", "tf.saved_model.save"):
        served = tf.saved_model.load(folder / form).signatures["serving_default"]
        (seen[form],) = served.structured_input_signature[1]  # the name of its input
        answers[form] = served(**{seen[form]: tf.constant(images)})["output_0"]
    loaded = keras.models.load_model(folder / "model.keras")
    answers["keras"] = loaded(images)
    seen["variable"] = type(loaded.weights[0].value).__name__
    loaded.export(folder / "again.tflite", format="litert", verbose=False)
    np.savez(folder / "answers.npz", **answers)
    return seen


if sys.argv[1:]:  # this process was started with a folder
    print(json.dumps(answer(Path(sys.argv[1]))))
    raise SystemExit
# --8<-- [end:elsewhere]

# --8<-- [start:train]
keras.utils.set_random_seed(0)
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)


def network():
    """Return an untrained network for images of digits."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1), name="image"),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy(devices)
replicas = strategy.num_replicas_in_sync
with strategy.scope():
    model = network()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=8 * replicas, epochs=6, verbose=0)
expected = model.predict(x_test, batch_size=8 * replicas, verbose=0)
print(f"{replicas} replicas, accuracy {(expected.argmax(1) == y_test).mean():.2f}")
# --8<-- [end:train]

# --8<-- [start:save]
work = tempfile.TemporaryDirectory()
folder = Path(work.name)
model.export(folder / "export", verbose=False)
model.export(folder / "model.tflite", format="litert", verbose=False)
model.save(folder / "model.keras")
with strategy.scope():
    model.export(folder / "in the scope", verbose=False)
tf.saved_model.save(model, folder / "tf.saved_model.save")  # for comparison
# --8<-- [end:save]

# --8<-- [start:ask]
np.save(folder / "images.npy", x_test)
plain = subprocess.run(
    [sys.executable, __file__, str(folder)],
    env=os.environ | {"CUDA_VISIBLE_DEVICES": "-1"},  # as on a machine without GPUs
    stdout=subprocess.PIPE,
    text=True,
    check=True,
)
seen = json.loads(plain.stdout.splitlines()[-1])
answers = np.load(folder / "answers.npz")
print(f"there: {seen['devices']} device, weights are {seen['variable']}s")
for form, rows in answers.items():
    print(f"{form:20} off by {np.abs(rows - expected).max():.1e}")
# --8<-- [end:ask]


# --8<-- [start:inside]
def inside(folder):
    """Return the device names in the graph of a SavedModel, and how many numbers it stores."""
    saved = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    )
    graph = saved.meta_graphs[0].graph_def
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    stored = tf.train.list_variables(str(folder / "variables" / "variables"))
    return {
        "devices": {node.device for node in nodes},
        "nodes": len(nodes),
        "names": [name for name, _ in stored],
        "numbers": sum(int(np.prod(shape)) for name, shape in stored if shape),
        "kb": sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1000,
    }


forms = {name: inside(folder / name) for name in ("export", "tf.saved_model.save")}
print("devices named in the graph:", sorted(forms["export"]["devices"]))
# --8<-- [end:inside]

# --8<-- [start:precision]
keras.config.set_dtype_policy("mixed_float16")
half = network()  # stands for one that was trained under this policy
keras.config.set_dtype_policy("float32")
full = network()
full.set_weights(half.get_weights())
exported = {}
for name, made in {"mixed_float16": half, "float32": full}.items():
    made.export(folder / name, verbose=False)
    made.export(folder / f"{name}.tflite", format="litert", verbose=False)
    served = tf.saved_model.load(folder / name).signatures["serving_default"]
    dtype = served.structured_outputs["output_0"].dtype.name
    flex = b"FlexConv2D" in (folder / f"{name}.tflite").read_bytes()
    exported[name] = dtype, flex
    print(f"{name:14} answers in {dtype}, LiteRT would need TensorFlow: {flex}")
off = np.abs(half.predict(x_test, verbose=0) - full.predict(x_test, verbose=0)).max()
# --8<-- [end:precision]

# --8<-- [start:resume]
with strategy.scope():
    resumed = keras.models.load_model(folder / "model.keras")
before = int(resumed.optimizer.iterations.numpy())
part = slice(80 * replicas)
resumed.fit(x_train[part], y_train[part], batch_size=8 * replicas, verbose=0)
after = int(resumed.optimizer.iterations.numpy())
print(
    type(resumed.weights[0].value).__name__, "- trained on for", after - before, "steps"
)
# --8<-- [end:resume]

again = (folder / "again.tflite").read_bytes()
from_replicas = (folder / "model.tflite").read_bytes()
keras_kb = (folder / "model.keras").stat().st_size / 1000
work.cleanup()

largest = {name: float(np.abs(rows - expected).max()) for name, rows in answers.items()}
slots = {
    name: any(n.startswith("optimizer/") for n in form["names"])
    for name, form in forms.items()
}
claims = {
    "one_replica_per_device": replicas == len(devices),
    "fresh_process_has_one_device": seen["devices"] == 1,
    "export_gives_the_same_numbers": largest["export"] < 1e-5,
    "export_in_the_scope_is_the_same": np.array_equal(
        answers["in the scope"], answers["export"]
    ),
    "keras_file_gives_the_same_numbers": largest["keras"] < 1e-5,
    "tf_save_gives_the_same_numbers": largest["tf.saved_model.save"] < 1e-5,
    "loaded_weights_are_plain": "Mirrored" not in seen["variable"],
    "no_replica_in_the_graph": not any(
        device.endswith(f":{n}")
        for device in forms["export"]["devices"]
        for n in range(1, 16)
    )
    and not any("GPU" in device for device in forms["export"]["devices"]),
    "export_keeps_the_input_name": seen["export"] == "image",
    "tf_save_loses_the_input_name": seen["tf.saved_model.save"] == "inputs",
    "export_leaves_the_optimizer_out": not slots["export"],
    "tf_save_keeps_the_optimizer": slots["tf.saved_model.save"],
    "tf_save_is_larger": forms["tf.saved_model.save"]["kb"]
    > 1.3 * forms["export"]["kb"],
    "each_weight_is_stored_twice": forms["export"]["numbers"]
    == 2 * model.count_params(),
    "resumes_in_the_scope": before > 0 and after == before + 10,
    "same_litert_file": again == from_replicas,
    "float16_is_exported_as_it_is": exported["mixed_float16"] == ("float16", True),
    "copied_weights_export_in_float32": exported["float32"] == ("float32", False)
    and bool(off < 0.01),
}
measures = {
    "replicas": replicas,
    "weights": model.count_params(),
    "largest_difference": largest["export"],
    "larger": forms["tf.saved_model.save"]["kb"] / forms["export"]["kb"],
    "export_kb": forms["export"]["kb"],
    "keras_kb": keras_kb,
    "litert_kb": len(from_replicas) / 1000,
}
tables = {
    "forms": {
        "columns": ["written by", "kB", "name of the input", "optimizer inside"],
        "rows": [
            [call, forms[name]["kb"], seen[name], "yes" if slots[name] else "no"]
            for call, name in (
                ("model.export", "export"),
                ("tf.saved_model.save", "tf.saved_model.save"),
            )
        ],
    }
}
