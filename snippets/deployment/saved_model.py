# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# ///
"""Export the digits model as a SavedModel, read its signatures, and run it in a process without Keras."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow.core.protobuf import saved_model_pb2

tf.config.set_visible_devices([], "GPU")  # as in the process below

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

# --8<-- [start:export]
work = tempfile.TemporaryDirectory()
base = pathlib.Path(work.name)
model.export(base / "digits" / "1", verbose=False)
files = sorted(f for f in (base / "digits").rglob("*") if f.is_file())
for file in files:
    print(file.relative_to(base))
# --8<-- [end:export]


# --8<-- [start:listing]
def listing(folder):
    """Return one row for each input and output of each signature on disk."""
    file = saved_model_pb2.SavedModel()
    file.ParseFromString((folder / "saved_model.pb").read_bytes())
    rows = []
    for name, signature in sorted(file.meta_graphs[0].signature_def.items()):
        if name.startswith("__"):  # how TensorFlow itself starts the model
            continue
        for side in ("inputs", "outputs"):
            for key, info in sorted(getattr(signature, side).items()):
                shape = [None if d.size < 0 else d.size for d in info.tensor_shape.dim]
                kind = tf.as_dtype(info.dtype).name
                rows.append([name, side[:-1], key, kind, str(tuple(shape))])
    return rows


plain = listing(base / "digits" / "1")
for row in plain:
    print("  ".join(row))
# --8<-- [end:listing]

# --8<-- [start:call]
loaded = tf.saved_model.load(base / "digits" / "1")
signature = loaded.signatures["serving_default"]
answer = signature(image=x_test)
print({name: value.shape for name, value in answer.items()})
by_keras = model.predict(x_test, verbose=0)
difference = float(np.max(np.abs(answer["output_0"] - by_keras)))
print("equal to Keras:", difference < 1e-6)
cast = signature(image=x_test.astype("float64"))["output_0"].numpy()
print("the same from an array of float64:", np.array_equal(cast, answer["output_0"]))
tensor = tf.constant(x_test)
unnamed = signature(tensor)["output_0"].numpy()
print("the same from one tensor, unnamed:", np.array_equal(unnamed, cast))
print("as a function:", loaded.serve(x_test).shape)
# --8<-- [end:call]

# --8<-- [start:call_errors]
errors = {}
wrong = {
    "positional": lambda: signature(x_test),
    "other_name": lambda: signature(x=x_test),
    "other_type": lambda: signature(image=tf.constant(x_test, tf.float64)),
}
for name, call in wrong.items():
    try:
        call()
    except Exception as error:
        text = f"{type(error).__name__}: {error}".partition(". Received")[0]
        errors[name] = re.sub(r"call___\d+", "call___1", text)
        print(errors[name])
# --8<-- [end:call_errors]

# --8<-- [start:without_keras]
OTHER = """
import sys
sys.modules["keras"] = None  # as if it was not installed
import numpy as np
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
answer = loaded.signatures["serving_default"](image=np.load(sys.argv[2]))
np.save(sys.argv[3], answer["output_0"])
try:
    import keras
except ImportError:
    print("there is no Keras here")
"""
inputs, outputs = str(base / "inputs.npy"), str(base / "outputs.npy")
np.save(inputs, x_test)
done = subprocess.run(
    [sys.executable, "-P", "-c", OTHER, str(base / "digits" / "1"), inputs, outputs],
    env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"},
    stdout=subprocess.PIPE,
    text=True,
    check=True,
)
elsewhere = np.load(outputs)
equal = float(np.max(np.abs(elsewhere - by_keras))) < 1e-6
print(done.stdout.strip(), "- equal to Keras:", equal)
# --8<-- [end:without_keras]

# --8<-- [start:archive]
features = keras.Model(model.inputs, model.layers[-2].output)


def classify(pixels):
    """Take what a scanner gives: whole numbers from 0 to 16, without channels."""
    image = tf.cast(pixels, tf.float32)[..., None] / 16
    probability = model(image, training=False)
    return {"digit": tf.argmax(probability, axis=-1), "probability": probability}


def embed(pixels):
    return {"features": features(tf.cast(pixels, tf.float32)[..., None] / 16)}


archive = keras.export.ExportArchive()
archive.track(model)
pixels = [tf.TensorSpec((None, 8, 8), tf.uint8, name="pixels")]
archive.add_endpoint("classify", classify, pixels)
archive.add_endpoint("embed", embed, pixels)
archive.write_out(base / "scanner" / "1", verbose=False)

named = listing(base / "scanner" / "1")
for row in named:
    print("  ".join(row))
# --8<-- [end:archive]

# --8<-- [start:archive_call]
scanner = tf.saved_model.load(base / "scanner" / "1")
raw = (x_test[:5, ..., 0] * 16).astype("uint8")
answer = scanner.signatures["classify"](pixels=raw)
print("digits:", answer["digit"].numpy(), "- Keras:", by_keras[:5].argmax(axis=1))
large = scanner.signatures["classify"](pixels=np.full((1, 8, 8), 300))["probability"]
inks = np.ones((301, 8, 8, 1)) * np.arange(301)[:, None, None, None]
by_ink = model.predict(inks / 16, verbose=0)
nearest = int(np.abs(by_ink - large).max(axis=1).argmin())
print("the answer to 300 in every pixel is the one of Keras to", nearest)
print("features:", scanner.signatures["embed"](pixels=raw)["features"].shape)
same = float(np.max(np.abs(answer["probability"] - by_keras[:5]))) < 1e-6
# --8<-- [end:archive_call]


# --8<-- [start:save_errors]
def attempt(name, call):
    try:
        call()
    except (TypeError, ValueError, NotImplementedError, OSError) as error:
        # The folder differs from run to run.
        text = str(error).partition(" You can attempt")[0].replace(work.name, "models")
        text = text.rpartition("Exception encountered: ")[2]
        errors[name] = f"{type(error).__name__}: {text}"
        print(errors[name])


attempt("save_folder", lambda: model.save(base / "digits"))
attempt("load_folder", lambda: keras.models.load_model(str(base / "digits" / "1")))
# --8<-- [end:save_errors]


# --8<-- [start:python_if]
def clipped(pixels):
    if tf.reduce_max(pixels) > 16:
        pixels = tf.minimum(pixels, 16)
    return classify(pixels)


def clipped_by_numpy(pixels):
    return classify(np.minimum(pixels, 16))


def export(function):
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("classify", function, pixels)
    archive.write_out(base / function.__name__, verbose=False)


attempt("python_if", lambda: export(clipped))
attempt("traced_if", lambda: export(tf.function(clipped)))
attempt("numpy_call", lambda: export(clipped_by_numpy))
dark = np.full((1, 8, 8), 30, "uint8")
clipping = tf.saved_model.load(base / "clipped")
answer_to_30 = clipping.classify(dark)["probability"]
taken_for_16 = np.allclose(answer_to_30, model(np.ones((1, 8, 8, 1))), atol=1e-6)
print("under tf.function, 30 is taken for 16:", taken_for_16)
# --8<-- [end:python_if]

# --8<-- [start:layer]
folder = str(base / "digits" / "1")
layer = keras.layers.TFSMLayer(folder, call_endpoint="serving_default")
again = layer(x_test)
names_of_layer = sorted(again)
print(type(again).__name__, names_of_layer)
layer_equal = float(np.max(np.abs(again["output_0"] - by_keras))) < 1e-6
print("equal to Keras:", layer_equal)
# --8<-- [end:layer]

# --8<-- [start:layer_errors]
wrapped = keras.Sequential([keras.Input((8, 8, 1)), layer])
file = base / "wrapped.keras"
wrapped.save(file)
attempt("load_layer", lambda: keras.models.load_model(file))
trusted = keras.models.load_model(file, safe_mode=False)
answers = trusted.predict(x_test, verbose=0)["output_0"]
trusted_equal = float(np.max(np.abs(answers - by_keras))) < 1e-6
print("with safe_mode=False, equal to Keras:", trusted_equal)

by_path = keras.layers.TFSMLayer(pathlib.Path(folder), call_endpoint="serving_default")
wrapped = keras.Sequential([keras.Input((8, 8, 1)), by_path])
attempt("save_layer", lambda: wrapped.save(base / "by_path.keras"))
# --8<-- [end:layer_errors]

# --8<-- [start:missing]
model.save(base / "digits.keras")
back = keras.models.load_model(base / "digits.keras")
lost = ["fit", "optimizer", "layers", "get_config", "summary"]
for name in lost:
    print(
        f"{name}: Keras file {hasattr(back, name)}, SavedModel {hasattr(loaded, name)}"
    )
steps_before = int(back.optimizer.iterations)
back.fit(x_train, y_train, batch_size=32, epochs=1, verbose=0)
print("from the Keras file, training goes on after step", steps_before)
variables = tf.train.list_variables(base / "digits/1/variables/variables")
stored = [name for name, _ in variables]
print("the SavedModel stores", len(stored), "entries, of the optimizer:", end=" ")
print(sum("optimizer" in name for name in stored))
with tf.GradientTape() as tape:
    likely = tf.gather(loaded.serve(x_train), y_train, batch_dims=1)
    loss = -tf.reduce_mean(tf.math.log(likely))
slopes = tape.gradient(loss, loaded.trainable_variables)
print("its", len(slopes), "weights have gradients:", None not in slopes)
# --8<-- [end:missing]

# --8<-- [start:as_in_inference]
layers = [
    keras.layers.BatchNormalization(),
    keras.layers.Flatten(),
    keras.layers.Dropout(0.5),
    keras.layers.Dense(1),
]
dropping = keras.Sequential([keras.Input((8, 8, 1), name="image"), *layers])
dropping.export(base / "dropping", verbose=False)
frozen = tf.saved_model.load(base / "dropping")


def agree(one, other):
    return all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


averages = [one.numpy() for one in frozen.non_trainable_variables]
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((frozen.serve(x_train) - y_train[:, None]) ** 2)
slopes_of_all = tape.gradient(loss, frozen.trainable_variables)
for weight, slope in zip(frozen.trainable_variables, slopes_of_all, strict=True):
    weight.assign_sub(0.001 * slope)
kept = agree(averages, frozen.non_trainable_variables)
equal_answers = agree(frozen.serve(x_train), frozen.serve(x_train))
print("SavedModel: averages unchanged:", kept, "- no dropout:", equal_answers)

averages = [one.numpy() for one in dropping.non_trainable_weights]  # no seeds
first, second = (dropping(x_train, training=True) for _ in range(2))
moved = not agree(averages, dropping.non_trainable_weights)
print("Keras: averages unchanged:", not moved, "- no dropout:", agree(first, second))
# --8<-- [end:as_in_inference]

# --8<-- [start:layer_trains]
negatives = 1 - x_train  # the data has changed
layer = keras.layers.TFSMLayer(folder, call_endpoint="serve")
tuned = keras.Sequential([keras.Input((8, 8, 1)), layer])
untuned = tuned.predict(negatives, verbose=0)
tuned.compile("adam", "sparse_categorical_crossentropy")
attempt("slots", lambda: tuned.fit(negatives, y_train, verbose=0))

tuned.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
tuned.fit(negatives, y_train, batch_size=32, epochs=10, verbose=0)
answers = tuned.predict(negatives, verbose=0)
right = [float(np.mean(p.argmax(axis=1) == y_train)) for p in (untuned, answers)]
print("trained with SGD, right more often:", right[1] > right[0] + 0.1)

tuned.save(base / "tuned.keras")
trusted = keras.models.load_model(base / "tuned.keras", safe_mode=False)
in_the_file = np.allclose(trusted.predict(negatives, verbose=0), answers, atol=1e-6)
tuned.export(base / "digits" / "2", verbose=False)
shipped = tf.saved_model.load(base / "digits" / "2")
exported = np.allclose(shipped.serve(negatives), answers, atol=1e-6)
print("its weights are in the Keras file:", in_the_file, "- exported:", exported)

without = keras.layers.TFSMLayer(str(base / "dropping"), call_endpoint="serve")
calls = [without(x_train, training=True) for _ in range(2)]
print("no dropout:", agree(*calls))

(base / "digits" / "1").rename(base / "moved")
attempt(
    "no_folder",
    lambda: keras.models.load_model(base / "tuned.keras", safe_mode=False),
)
# --8<-- [end:layer_trains]
work.cleanup()

# Whole numbers from 0 to 16 into the first export, which wants 0 to 1: cast, not divided.
unscaled = signature(image=(x_test * 16).astype("uint8"))["output_0"].numpy()
scaled_for_it = model.predict(x_test * 16, verbose=0)

claims = {
    "an_endpoint_with_an_if_raises": "python_if" in errors,
    "a_numpy_call_raises": "numpy_call" in errors,
    "tf_function_translates_the_if": "traced_if" not in errors and taken_for_16,
    "signature_equals_keras": difference < 1e-6,
    "input_keeps_its_name": ["serving_default", "input", "image"]
    in [row[:3] for row in plain],
    "output_gets_a_made_up_name": ["serving_default", "output", "output_0"]
    in [row[:3] for row in plain],
    "batch_is_free": all(row[4].startswith("(None,") for row in plain),
    "positional_call_raises": errors["positional"].startswith("TypeError"),
    "one_tensor_goes_by_position": float(np.max(np.abs(unnamed - by_keras))) < 1e-6,
    "a_tensor_is_not_cast": errors["other_type"].startswith("InvalidArgumentError"),
    "an_array_is_cast": float(np.max(np.abs(cast - by_keras))) < 1e-6,
    "a_cast_wraps_in_silence": nearest == 300 - 256
    and np.allclose(large, by_ink[nearest], atol=1e-6)
    and not np.allclose(large, by_ink[300], atol=1e-2),
    "a_cast_divides_by_nothing": np.allclose(unscaled, scaled_for_it, atol=1e-4)
    and float(np.max(np.abs(unscaled - by_keras))) > 0.1,
    "runs_without_keras": done.stdout.strip() == "there is no Keras here" and equal,
    "dictionary_names_the_outputs": {row[2] for row in named if row[1] == "output"}
    == {"digit", "probability", "features"},
    "first_endpoint_is_the_default": [row[1:] for row in named if row[0] == "classify"]
    == [row[1:] for row in named if row[0] == "serving_default"],
    "preprocessing_is_inside": same,
    "save_to_a_folder_raises": "save_folder" in errors,
    "load_model_refuses_the_folder": "load_folder" in errors,
    "layer_answers_as_the_signature_does": names_of_layer == ["output_0"]
    and layer_equal,
    "a_layer_by_string_is_saved_and_trusted_by_hand": trusted_equal
    and {"load_layer", "save_layer"} <= set(errors),
    "its_weights_have_gradients": len(slopes) > 0 and None not in slopes,
    "your_loop_runs_it_without_dropout": equal_answers and not agree(first, second),
    "your_loop_leaves_its_averages": kept
    and moved
    and len(frozen.non_trainable_variables) >= 2
    and None not in slopes_of_all,
    "sgd_trains_a_layer": np.allclose(
        untuned, model.predict(negatives, verbose=0), atol=1e-6
    )
    and right[1] > right[0] + 0.1,
    "adam_does_not": "slots" in errors,
    "a_layer_runs_without_dropout": agree(*calls) and not agree(first, second),
    "a_keras_file_holds_its_weights": in_the_file
    and not np.allclose(answers, untuned, atol=0.1),
    "a_trained_layer_exports": exported,
    "a_keras_file_needs_the_folder": "no_folder" in errors,
    "training_parts_are_lost": not any(hasattr(loaded, name) for name in lost),
    "keras_file_keeps_training_parts": all(hasattr(back, name) for name in lost),
    "keras_file_goes_on_training": int(back.optimizer.iterations) > steps_before > 0,
    "no_optimizer_on_disk": not any("optimizer" in name for name in stored),
}
measures = {
    "files": len(files),
    "rows": len(x_test),
    "steps": steps_before,
    "wrapped": nearest,
}
columns = ["signature", "side", "name", "type", "shape"]
tables = {
    "plain": {"columns": columns, "rows": plain},
    "archive": {"columns": columns, "rows": named},
}
