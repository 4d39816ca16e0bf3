# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6", "ai-edge-litert>=2.1"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# tolerance = 0.2
# ///
"""Write one model in the three forms that others are made from, and ask each: the last without TensorFlow."""

import subprocess
import sys
import tempfile
from importlib.metadata import files
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

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

# --8<-- [start:write]
work = tempfile.TemporaryDirectory()
folder = Path(work.name)
model.save(folder / "digits.keras")  # to go on training
model.export(folder / "digits" / "1", verbose=False)  # for servers: a SavedModel
model.export(folder / "digits.tflite", format="litert", verbose=False)  # for phones
# --8<-- [end:write]

# --8<-- [start:ask]
expected = model.predict(x_test, verbose=0)
keras_file = keras.models.load_model(folder / "digits.keras").predict(x_test, verbose=0)
loaded = tf.saved_model.load(folder / "digits" / "1")
saved_model = loaded.serve(x_test).numpy()
# --8<-- [end:ask]

# --8<-- [start:dropped]
try:
    tf.saved_model.load(folder / "digits" / "1").serve(x_test)  # nothing keeps it
except AssertionError as error:
    dropped = str(error)
    print(dropped.partition(". ")[0])
# --8<-- [end:dropped]

# --8<-- [start:without]
WITHOUT_TENSORFLOW = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter

ask = Interpreter("digits.tflite").get_signature_runner()
np.save("answers.npy", ask(image=np.load("images.npy"))["output_0"])
print("tensorflow" in sys.modules, "keras" in sys.modules)
"""
np.save(folder / "images.npy", x_test)
ended = subprocess.run(
    [sys.executable, "-c", WITHOUT_TENSORFLOW],
    cwd=folder,
    stdout=subprocess.PIPE,
    text=True,
    check=True,
)
litert = np.load(folder / "answers.npy")
print("TensorFlow and Keras loaded:", ended.stdout.strip())
# --8<-- [end:without]


# --8<-- [start:compare]
def kilobytes(path):
    """Return the size of a file or a folder."""
    inside = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in inside if file.is_file()) / 1000


answers = {
    "digits.keras": keras_file,
    "digits/1": saved_model,
    "digits.tflite": litert,
}
for name, answer in answers.items():
    away = np.abs(answer - expected).max()
    print(f"{name:13} {kilobytes(folder / name):5.1f} kB, off by {away:.1e}")
# --8<-- [end:compare]


def megabytes(package):
    """Return what the files of an installed package take."""
    paths = [Path(file.locate()) for file in files(package)]
    return (
        sum(p.stat().st_size for p in paths if p.suffix != ".pyc" and p.exists()) / 1e6
    )


installed = {name: megabytes(name) for name in ("tensorflow", "ai-edge-litert")}
sizes = {name: kilobytes(folder / name) for name in answers}
inside_keras = keras.models.load_model(folder / "digits.keras")
# What only the Keras file still knows: the optimizer and the loss.
can_train = inside_keras.optimizer.iterations.numpy() > 0
work.cleanup()

away = {
    name: float(np.abs(answer - expected).max()) for name, answer in answers.items()
}
claims = {
    "all_forms_agree": max(away.values()) < 1e-5,
    "same_digit_every_time": all(
        np.array_equal(answer.argmax(1), expected.argmax(1))
        for answer in answers.values()
    ),
    "litert_needs_no_tensorflow": ended.stdout.split() == ["False", "False"],
    "litert_file_is_smallest": sizes["digits.tflite"] == min(sizes.values()),
    "litert_runtime_is_a_tenth": installed["ai-edge-litert"]
    < 0.1 * installed["tensorflow"],
    "keras_file_can_go_on_training": bool(can_train),
    "loaded_object_must_be_kept": "variables which have been deleted" in dropped,
    "saved_model_is_no_keras_model": not hasattr(loaded, "fit"),
}
measures = {
    "images": len(x_test),
    "weights": model.count_params(),
    "keras_kb": sizes["digits.keras"],
    "saved_model_kb": sizes["digits/1"],
    "litert_kb": sizes["digits.tflite"],
    "runtime_share": installed["ai-edge-litert"] / installed["tensorflow"],
}
errors = {"dropped": f"AssertionError: {dropped}"}
