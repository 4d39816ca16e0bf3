# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "kserve", "scikit-learn"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# ///
"""Serve the digits model with KServe, an independent server that speaks the same REST protocol, and compare."""

import asyncio
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import keras
import numpy as np
import tensorflow as tf
from kserve import Model, ModelServer
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

tf.config.set_visible_devices([], "GPU")  # as in the server below


# --8<-- [start:predictor]
class SavedModelPredictor(Model):
    """A SavedModel behind KServe: what a request holds is ours to read."""

    def __init__(self, name, folder):
        super().__init__(name)
        self.loaded = tf.saved_model.load(folder)
        self.signature = self.loaded.signatures["serving_default"]
        self.ready = True

    async def predict(self, payload, headers=None, response_headers=None):
        image = tf.constant(payload["instances"], tf.float32)
        # It runs in a thread: a plain call here would hold up every other request.
        outputs = await asyncio.to_thread(self.signature, image=image)
        return {"predictions": outputs["output_0"].numpy().tolist()}


def end_with(parent):
    """End this process when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if len(sys.argv) > 1:  # the server's process: kserve_rest.py FOLDER PARENT
    folder, parent = sys.argv[1], int(sys.argv[2])
    threading.Thread(target=end_with, args=[parent], daemon=True).start()
    # Port 0 takes a free one, which the log then names.
    server = ModelServer(http_port=0, enable_grpc=False, workers=1)
    server.start([SavedModelPredictor("digits", folder)])
    sys.exit()
# --8<-- [end:predictor]

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


def started(process, log):
    """Return the port that the log names, as soon as it does."""
    ended = False
    while not ended:
        ended = process.poll() is not None  # before the log is read for the last time
        with open(log) as file:
            text = file.read()
        if found := re.search(r"running on http://0\.0\.0\.0:(\d+)", text):
            return int(found[1])
        time.sleep(0.1)
    raise RuntimeError(f"KServe did not start:\n{text[-2000:]}")


# --8<-- [start:ask]
def ask(path, body=None, kind="application/json"):
    """GET where there is no body, else POST it as `kind`. Return status and answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        data = None if body is None else json.dumps(body)
        verb = "GET" if body is None else "POST"
        connection.request(verb, path, data, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except (http.client.HTTPException, OSError) as error:
        return type(error).__name__, None
    finally:
        connection.close()


# --8<-- [end:ask]

with tempfile.TemporaryDirectory() as folder:
    model.export(f"{folder}/digits", verbose=False)
    log = f"{folder}/log"
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, f"{folder}/digits", str(os.getpid())],
            env={
                **os.environ,
                "TF_ENABLE_ONEDNN_OPTS": "1",
                "CUDA_VISIBLE_DEVICES": "-1",  # oneDNN computes on CPUs
            },
            stdout=file,
            stderr=file,
        )
    try:
        port = started(process, log)
        # --8<-- [start:predict]
        rows = {"instances": x_test.tolist()}
        status, answer = ask("/v1/models/digits:predict", rows)
        by_kserve = np.float32(answer["predictions"])
        loaded = tf.saved_model.load(f"{folder}/digits")
        direct = loaded.signatures["serving_default"](image=x_test)["output_0"].numpy()
        difference = float(np.max(np.abs(by_kserve - direct)))
        print(status, "rows:", len(by_kserve), "equal:", difference < 1e-6)
        # --8<-- [end:predict]

        # --8<-- [start:lacks]
        tried = {
            "status": ask("/v1/models/digits"),
            "metadata": ask("/v1/models/digits/metadata"),
            "one version": ask("/v1/models/digits/versions/1:predict", rows),
            "columns": ask(
                "/v1/models/digits:predict", {"inputs": {"image": x_test[:1].tolist()}}
            ),
            "no Content-Type": ask(
                "/v1/models/digits:predict",
                {"instances": x_test[:1].tolist()},
                "application/x-www-form-urlencoded",
            ),
            "unknown model": ask("/v1/models/digit:predict", rows),
        }
        for what, (status, answer) in tried.items():
            print(f"{what}: {status} {json.dumps(answer)[:110]}")
        # --8<-- [end:lacks]

        # --8<-- [start:abort]
        status, _ = ask("/v1/models/digits:predict", {"instances": x_test[0].tolist()})
        print("one row without its batch:", status)
        try:
            ended = process.wait(30)
        except subprocess.TimeoutExpired:
            ended = None  # it goes on
        print("the server ended with", ended)
        # --8<-- [end:abort]
    finally:
        process.kill()
        process.wait()

codes = {what: status for what, (status, _) in tried.items()}
claims = {
    "equal_to_the_signature": difference < 1e-6,
    "columns_are_not_built_in": codes["columns"] == 500,
    "no_metadata": codes["metadata"] == 404,
    "no_versions": codes["one version"] == 404,
    "needs_content_type": codes["no Content-Type"] == 500,
    "status_names_no_versions": tried["status"][1] == {"name": "digits", "ready": True},
    "one_bad_request_ends_the_server": ended == -6,
}
measures = {"server": "KServe", "rows": len(by_kserve)}
errors = {
    "columns": f"HTTP {codes['columns']}: {tried['columns'][1]['error']}",
    "content_type": f"HTTP {codes['no Content-Type']}: "
    + tried["no Content-Type"][1]["error"],
    "versions": f"HTTP {codes['one version']}: {json.dumps(tried['one version'][1])}",
}
