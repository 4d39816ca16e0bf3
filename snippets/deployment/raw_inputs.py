# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Export endpoints that take words and the bytes of images, and what is missing when the lookup is not tracked."""

import base64
import json
import pathlib
import re
import tempfile

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits, load_iris

# --8<-- [start:words_model]
keras.utils.set_random_seed(0)
iris = load_iris()
words = iris.target_names[iris.target]  # "setosa", "versicolor" or "virginica"
width, length = iris.data[:, 3:].astype("float32"), iris.data[:, 2]

temporary = tempfile.TemporaryDirectory()
base = pathlib.Path(temporary.name)
(base / "species.txt").write_text("\n".join(iris.target_names))
lookup = keras.layers.StringLookup(vocabulary=str(base / "species.txt"))

species = keras.Input((), dtype="int64", name="species")
petal = keras.Input((1,), name="width")
known = keras.layers.Embedding(lookup.vocabulary_size(), 4)(species)
hidden = keras.layers.Concatenate()([known, petal])
hidden = keras.layers.Dense(16, activation="relu")(hidden)
grower = keras.Model([species, petal], keras.layers.Dense(1)(hidden))
grower.compile(keras.optimizers.Adam(0.01), "mse")
grower.fit([lookup(words), width], length, batch_size=30, epochs=20, verbose=0)
# --8<-- [end:words_model]


# --8<-- [start:words_export]
def grow(species, width):
    """Take the word that a client has, not a number that it would have to look up."""
    return {"length": grower([lookup(species), width], training=False)[:, 0]}


taken = [
    tf.TensorSpec((None,), tf.string, name="species"),
    tf.TensorSpec((None, 1), tf.float32, name="width"),
]


def export(folder, tracked):
    archive = keras.export.ExportArchive()
    for part in tracked:
        archive.track(part)
    archive.add_endpoint("grow", grow, taken)
    archive.write_out(folder, verbose=False)


export(base / "grower" / "1", tracked=[grower, lookup])
# --8<-- [end:words_export]

# --8<-- [start:words_untracked]
errors = {}
try:
    export(base / "untracked" / "1", tracked=[grower])  # without the lookup
except AssertionError as error:
    text = str(error).partition(" See the information below")[0]
    errors["untracked"] = f"AssertionError: {text}"
    print(errors["untracked"])
    named = "StaticHashTable" in str(error)
    print("further down it names a table:", named)
# --8<-- [end:words_untracked]

# --8<-- [start:words_model_export]
inputs = [keras.Input((), dtype="string", name="species"), petal]
whole = keras.Model(inputs, grower([lookup(inputs[0]), petal]))
whole.export(base / "whole" / "1", verbose=False)
inside = tf.saved_model.load(base / "whole" / "1")
by_whole = inside.serve([tf.constant(words), width]).numpy()[:, 0]
# --8<-- [end:words_model_export]

# --8<-- [start:words_ask]
(base / "species.txt").unlink()  # the export has its own copy
assets = [path.name for path in (base / "grower/1/assets").iterdir()]
loaded = tf.saved_model.load(base / "grower" / "1")
ask = loaded.signatures["serving_default"]
answer = ask(species=tf.constant(words), width=width)["length"].numpy()
numbers = iris.target + 1  # without any lookup: 0 is for words that are not known
by_keras = grower.predict([numbers, width], verbose=0)[:, 0]
print("in assets:", assets)
print("equal to Keras:", np.allclose(answer, by_keras, atol=1e-3))
held = np.allclose(by_whole, by_keras, atol=1e-3)
print("and the model that holds the lookup:", held)

slips = tf.constant(["Setosa", "setosa ", "rose"])
unknown = ask(species=slips, width=width[:3])["length"].numpy()
as_zero = grower.predict([np.zeros(3, "int64"), width[:3]], verbose=0)[:, 0]
print("three words that are not in the list: answered as number 0:", end=" ")
print(np.allclose(unknown, as_zero, atol=1e-3))
# --8<-- [end:words_ask]

# --8<-- [start:images_model]
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
reader = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
reader.compile("adam", "sparse_categorical_crossentropy")
reader.fit(images, digits.target, batch_size=32, epochs=8, verbose=0)
# --8<-- [end:images_model]


# --8<-- [start:images_export]
def decode(encoded):
    """Return one image from the bytes of a PNG or a JPEG."""
    image = tf.io.decode_image(encoded, channels=1, expand_animations=False)
    image.set_shape((None, None, 1))  # the file knows its size, the graph does not
    return tf.image.resize(image, (8, 8)) / 240  # these files' maximum; else 255


def read(image_bytes):
    size = tf.TensorSpec((8, 8, 1), tf.float32)  # what decode returns for one
    images = tf.map_fn(decode, image_bytes, fn_output_signature=size)
    return {"probability": reader(images, training=False)}


archive = keras.export.ExportArchive()
archive.track(reader)
encoded = [tf.TensorSpec((None,), tf.string, name="image_bytes")]
archive.add_endpoint("read", read, encoded)
archive.write_out(base / "reader" / "1", verbose=False)
# --8<-- [end:images_export]

# --8<-- [start:images_ask]
gray = (digits.images[:100, ..., None] * 15).astype("uint8")  # 0 to 240
png = [tf.io.encode_png(one).numpy() for one in gray]
jpeg = [tf.io.encode_jpeg(one, quality=95).numpy() for one in gray]
loaded_reader = tf.saved_model.load(base / "reader" / "1")
call = loaded_reader.signatures["serving_default"]
expected = reader.predict(images[:100], verbose=0)
from_png = call(image_bytes=tf.constant(png))["probability"].numpy()
from_jpeg = call(image_bytes=tf.constant(jpeg))["probability"].numpy()
print("from PNG, equal to Keras:", np.allclose(from_png, expected, atol=1e-3))
agreed = float(np.mean(from_jpeg.argmax(1) == expected.argmax(1)))
print(f"from JPEG, which changes pixels: the same digit for {agreed:.0%}")

body = {"instances": [{"image_bytes": {"b64": base64.b64encode(png[0]).decode()}}]}
print(json.dumps(body)[:70] + "...")
# --8<-- [end:images_ask]


# --8<-- [start:images_errors]
def without_signature(image_bytes):
    return {"probability": reader(tf.map_fn(decode, image_bytes), training=False)}


archive = keras.export.ExportArchive()
archive.track(reader)
archive.add_endpoint("read", without_signature, encoded)
archive.write_out(base / "unsigned" / "1", verbose=False)
written = (base / "unsigned/1/saved_model.pb").exists()
print("written without fn_output_signature:", written)
unsigned = tf.saved_model.load(base / "unsigned" / "1")
attempts = {
    "no_signature": lambda: unsigned.read(tf.constant(png)),
    "no_image": lambda: call(image_bytes=tf.constant([*png[:3], b"<html>Not found"])),
}
for name, attempt in attempts.items():
    try:
        attempt()
    except tf.errors.OpError as error:
        # On a GPU other words stand before it.
        text = re.search(r"(Cast \w+ to|Unknown) .*", str(error))[0]
        errors[name] = f"{type(error).__name__}: {text}"
        print(errors[name])
# --8<-- [end:images_errors]
temporary.cleanup()
huge = tf.io.encode_png(tf.zeros((4000, 4000, 1), tf.uint8)).numpy()

claims = {
    "words_equal_keras": np.allclose(answer, by_keras, atol=1e-3),
    "untracked_lookup_raises": "untracked" in errors,
    "the_error_names_the_table": named,
    "a_model_that_holds_the_lookup_needs_no_track": held,
    "the_vocabulary_travels": assets == ["species.txt"],
    "an_unknown_word_is_number_zero": np.allclose(unknown, as_zero, atol=1e-3),
    "capitals_are_ignored": bool(abs(unknown[0] - by_keras[0]) < 1e-3),
    "png_equals_keras": np.allclose(from_png, expected, atol=1e-3),
    "jpeg_is_read": agreed > 0.9,
    "without_output_signature_the_export_is_written": written,
    "without_output_signature_the_call_raises": "no_signature" in errors,
    "one_output_for_each_image": from_png.shape == (100, 10),
    "one_bad_image_fails_the_request": "no_image" in errors,
    "a_small_file_is_a_huge_picture": len(huge) < 4000 * 4000 / 500,
}
measures = {"images": len(png), "words": len(words), "huge_kb": len(huge) // 1000}
