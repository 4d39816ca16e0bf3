# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# ///
"""A NaN in the input need not be one in the output: max pooling drops it, and so does oneDNN's ReLU."""

import os
import subprocess
import sys

# --8<-- [start:models]
MODELS = """
import tempfile
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
images = np.ones((2, 8, 8, 8), "float32")
images[0, 3, 3] = np.nan  # one pixel of the first image


def answers(*layers):
    ends = [keras.layers.Flatten(), keras.layers.Dense(10, "softmax")]
    model = keras.Sequential([keras.Input((8, 8, 8)), *layers, *ends])
    yield "model(x)", model(images)
    yield "predict", model.predict(images, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        served = tf.saved_model.load(folder).signatures["serving_default"]
        yield "the export", served(tf.constant(images))["output_0"]


begins = {
    "Dense with ReLU": [keras.layers.Flatten(), keras.layers.Dense(16, "relu")],
    "Dense with GELU": [keras.layers.Flatten(), keras.layers.Dense(16, "gelu")],
    "max pooling": [keras.layers.MaxPooling2D()],
}
for name, layers in begins.items():
    said = [
        f"{way} {'NaN' if np.isnan(rows[0]).all() else 'a class'}"
        for way, rows in answers(*layers)
    ]
    print(f"{name}:", ", ".join(said))
"""
# --8<-- [end:models]


# --8<-- [start:run]
def run(onednn):
    """Return what the models answer in a process of its own, with or without oneDNN."""
    environment = {"TF_ENABLE_ONEDNN_OPTS": onednn, "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment["CUDA_VISIBLE_DEVICES"] = "-1"  # oneDNN computes on CPUs
    done = subprocess.run(
        [sys.executable, "-P", "-c", MODELS],
        env={**os.environ, **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.splitlines()


with_onednn, without = run("1"), run("0")
print("with oneDNN:", *with_onednn, sep="\n  ")
print("without:", *without, sep="\n  ")
# --8<-- [end:run]

said = {
    (name, way.removesuffix(" NaN").removesuffix(" a class"), onednn): way[-3:] == "NaN"
    for onednn, lines in ((True, with_onednn), (False, without))
    for name, ways in (line.split(": ") for line in lines)
    for way in ways.split(", ")
}
claims = {
    "a_fused_relu_answers": not said["Dense with ReLU", "predict", True]
    and not said["Dense with ReLU", "the export", True],
    "without_onednn_it_is_nan": said["Dense with ReLU", "predict", False],
    "called_alone_it_is_nan": said["Dense with ReLU", "model(x)", True],
    "another_activation_is_nan": all(
        nan for (name, _, _), nan in said.items() if name == "Dense with GELU"
    ),
    "max_pooling_answers": not any(
        nan for (name, _, _), nan in said.items() if name == "max pooling"
    ),
}
