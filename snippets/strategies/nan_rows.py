# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# tolerance = 0.1
# ///
"""One NaN in the data makes weights NaN; with oneDNN and ReLU the loss stays finite, and nothing ends the training."""

import json
import os
import subprocess
import sys

import numpy as np

# --8<-- [start:train]
TRAIN = """
import json
import keras
import numpy as np
import tensorflow as tf

x = np.random.default_rng(0).random((256, 4)).astype("float32")
y, good = x.sum(axis=1), x.copy()
x[5, 2] = np.nan  # one value of one row


def train(activation):
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(16, activation), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    stop = keras.callbacks.TerminateOnNaN()
    found = model.fit(x, y, epochs=20, callbacks=[stop], verbose=0)
    losses = np.round(found.history["loss"], 3).tolist()
    answers = np.unique(model.predict(good, verbose=0))
    return {
        "epochs": len(found.epoch),
        "loss": [losses[0], losses[-1]],
        "NaN in weights": any(np.isnan(w).any() for w in model.get_weights()),
        "answers to 256 good rows": [f"{one:.2f}" for one in answers],
    }


found = {activation: train(activation) for activation in ("relu", "gelu")}
tf.debugging.enable_check_numerics()
try:
    train("relu")
except tf.errors.InvalidArgumentError as error:
    found["enable_check_numerics"] = type(error).__name__
print("found", json.dumps(found))
"""
# --8<-- [end:train]


# --8<-- [start:run]
def run(onednn):
    """Return what the training finds in a process of its own, with or without oneDNN."""
    environment = {"TF_ENABLE_ONEDNN_OPTS": onednn, "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment["CUDA_VISIBLE_DEVICES"] = "-1"  # oneDNN computes on CPUs
    done = subprocess.run(
        [sys.executable, "-P", "-c", TRAIN],
        env={**os.environ, **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.rpartition("found ")[2])


found = {"with oneDNN": run("1"), "without": run("0")}
for name, runs in found.items():
    print(f"{name}:")
    for what, said in runs.items():
        print(f"  {what}:", json.dumps(said).replace('"', ""))
# --8<-- [end:run]

silent, loud = found["with oneDNN"]["relu"], found["without"]["relu"]
claims = {
    "relu_on_onednn_has_a_finite_loss": bool(np.isfinite(silent["loss"]).all())
    and silent["NaN in weights"],
    "the_loss_falls": silent["loss"][1] < silent["loss"][0],
    "it_trains_to_the_end": silent["epochs"] == 20,
    "it_gives_one_answer_to_all_rows": len(silent["answers to 256 good rows"]) == 1,
    "without_onednn_the_loss_is_nan": bool(np.isnan(loud["loss"]).all())
    and loud["epochs"] == 1,
    "another_activation_shows_it": all(
        bool(np.isnan(one["gelu"]["loss"]).all()) for one in found.values()
    ),
    "the_row_is_left_out": not silent["NaN in weights"],
    "check_numerics_raises": all(
        one.get("enable_check_numerics") == "InvalidArgumentError"
        for one in found.values()
    ),
}
