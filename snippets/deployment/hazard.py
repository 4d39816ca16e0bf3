# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 360
# ///
"""Send an input of the wrong rank to a convolution: with oneDNN the process aborts, without it there is an error."""

import os
import signal
import subprocess
import sys
import tempfile

import keras
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

# --8<-- [start:child]
CHILD = """
import sys
import tensorflow as tf
tf.config.set_visible_devices([], "GPU")
loaded = tf.saved_model.load(sys.argv[1])
call = loaded.signatures["serving_default"]
for shape in sys.argv[2:]:
    sizes = [int(size) for size in shape.split(",")]
    try:
        print("an answer of shape", call(image=tf.zeros(sizes))["output_0"].shape, flush=True)
    except tf.errors.OpError as error:
        print(type(error).__name__, flush=True)
"""


def try_shapes(folder, shapes, onednn, child=CHILD):
    """Call the signature with each shape, in a new process after each that was killed."""
    environment = {"TF_ENABLE_ONEDNN_OPTS": onednn, "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment["CUDA_VISIBLE_DEVICES"] = "-1"  # oneDNN computes on CPUs
    seen = []
    while len(seen) < len(shapes):
        done = subprocess.run(
            [sys.executable, "-P", "-c", child, folder, *shapes[len(seen) :]],
            env={**os.environ, **environment},
            check=False,
            capture_output=True,
            text=True,
        )
        seen += done.stdout.splitlines()
        if done.returncode >= 0:
            return seen
        failed = [line for line in done.stderr.splitlines() if "Check failed" in line]
        words = failed[0].partition("] ")[2] if failed else "no last words"
        seen.append(f"killed by {signal.Signals(-done.returncode).name}: {words}")
    return seen


# --8<-- [end:child]

# --8<-- [start:try]
SHAPES = {
    "right": "1,8,8,1",
    "other sizes": "1,4,4,1",
    "other channels": "1,8,8,3",
    "the batch forgotten": "8,8,1",
    "one row flattened": "1,64",
}
work = tempfile.TemporaryDirectory()
folder = work.name
model.export(folder, verbose=False)
with_onednn = try_shapes(folder, [*SHAPES.values()], "1")
without = try_shapes(folder, [*SHAPES.values()], "0")
for what, one, other in zip(SHAPES, with_onednn, without, strict=True):
    print(f"{what} ({SHAPES[what]})")
    print(f"    oneDNN on:  {one}")
    print(f"    oneDNN off: {other}")
# --8<-- [end:try]

# --8<-- [start:session]
SESSION = """
import sys
import numpy as np
import tensorflow as tf
tf1 = tf.compat.v1
# Python compares no shapes with a placeholder of any shape: the session gets them all.
with tf1.Session(graph=tf.Graph()) as session:
    image = tf1.placeholder(tf.float32, None)
    into = {"serving_default_image:0": image}
    meta = tf1.saved_model.load(session, ["serve"], sys.argv[1], input_map=into)
    output = meta.signature_def["serving_default"].outputs["output_0"].name
    for shape in sys.argv[2:]:
        sizes = [int(size) for size in shape.split(",")]
        try:
            answer = session.run(output, {image: np.zeros(sizes)})
            print("an answer of shape", answer.shape, flush=True)
        except tf.errors.OpError as error:
            print(type(error).__name__, flush=True)
"""
asked = [SHAPES["right"], SHAPES["the batch forgotten"]]
in_session = {
    "on": try_shapes(folder, asked, "1", SESSION),
    "off": try_shapes(folder, asked, "0", SESSION),
}
for onednn, ends in in_session.items():
    print(f"a session, oneDNN {onednn}:", *ends, sep="\n    ")
# --8<-- [end:session]


# --8<-- [start:guard]
def checked(signature):
    """Return the signature behind a check of its shapes and types."""
    specs = signature.structured_input_signature[1]

    def call(**inputs):
        for name, spec in specs.items():
            given = tf.convert_to_tensor(inputs[name])
            if not spec.is_compatible_with(given):
                wanted = f"{spec.dtype.name}{spec.shape}"
                found = f"{given.dtype.name}{given.shape}"
                raise ValueError(f"{name} is {found}, the signature says {wanted}")
        return signature(**inputs)

    return call


loaded = tf.saved_model.load(folder)
predict = checked(loaded.signatures["serving_default"])
print("right:", predict(image=x_test[:1])["output_0"].shape)
raised = {}
for what, shape in SHAPES.items():
    try:
        predict(image=tf.zeros([int(size) for size in shape.split(",")]))
    except ValueError as error:
        raised[what] = f"ValueError: {error}"
print("\n".join(raised.values()))
# --8<-- [end:guard]

# --8<-- [start:serve]
try:
    loaded.serve(x_test[0])
    refused = "nothing was raised"
except TypeError as error:
    refused = f"TypeError: {error}".partition(" Received args")[0]
print(refused)
# --8<-- [end:serve]

# Without a convolution, nothing may notice another arrangement of as many values.
flat = keras.Sequential(
    [
        keras.Input((8, 8, 1), name="image"),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
)
folder = os.path.join(work.name, "flat")
flat.export(folder, verbose=False)
(by_flat,) = try_shapes(folder, ["1,4,16,1"], "1")
# A depthwise convolution runs in another kernel of oneDNN.
depthwise = keras.Sequential(
    [keras.Input((8, 8, 1), name="image"), keras.layers.DepthwiseConv2D(3)]
)
folder = os.path.join(work.name, "depthwise")
depthwise.export(folder, verbose=False)
(by_depthwise,) = try_shapes(folder, [SHAPES["the batch forgotten"]], "1")
work.cleanup()

killed = [what for what, end in zip(SHAPES, with_onednn, strict=True) if "kill" in end]
claims = {
    "wrong_rank_aborts_with_onednn": killed
    == ["the batch forgotten", "one row flattened"]
    and all("SIGABRT" in end for end in with_onednn[3:]),
    "wrong_size_only_raises": all("Error" in end for end in with_onednn[1:3]),
    "without_onednn_every_mistake_raises": all("Error" in end for end in without[1:]),
    "a_session_aborts_as_well": "SIGABRT" in in_session["on"][1]
    and in_session["off"][1] == "InvalidArgumentError"
    and in_session["on"][0] == in_session["off"][0] == "an answer of shape (1, 10)",
    "a_depthwise_convolution_aborts_as_well": "SIGABRT" in by_depthwise,
    "without_a_convolution_a_wrong_shape_is_answered": by_flat
    == "an answer of shape (1, 10)",
    "right_shape_answers_either_way": with_onednn[0]
    == without[0]
    == "an answer of shape (1, 10)",
    "try_except_in_the_process_helps": all("Error" in end for end in with_onednn[1:]),
    "guard_raises_for_every_mistake": list(raised) == list(SHAPES)[1:],
    "serve_function_checks_the_shape": refused.startswith("TypeError: Binding inputs"),
}
measures = {"shapes": len(SHAPES), "killed": len(killed)}
errors = {
    "guard": raised["the batch forgotten"],
    "aborted": next(
        (end for end in with_onednn if "kill" in end), "nothing was killed"
    ),
    "serve_function": refused,
}
tables = {
    "outcomes": {
        "columns": ["input", "shape", "oneDNN on", "oneDNN off"],
        "rows": [
            [what, f"({shape.replace(',', ', ')})", one, other]
            for (what, shape), one, other in zip(
                SHAPES.items(), with_onednn, without, strict=True
            )
        ],
    }
}
