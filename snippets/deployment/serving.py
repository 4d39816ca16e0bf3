# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#     "tensorflow==2.21.*",
#     "keras==3.15.*",
#     "tensorflow-serving-api==2.21.*",
#     "grpcio",
#     "scikit-learn",
# ]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# files = ["model_server.py", "stand_in.py"]
# ///
"""Serve the digits model over REST and gRPC: equal numbers, versions that come and go, and the answers to mistakes."""

import contextlib
import json
import os
import pathlib
import tempfile
import threading
import time
import urllib.error
import urllib.request

import grpc
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from model_server import ModelServer

tf.config.set_visible_devices([], "GPU")  # as in the server below

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


# --8<-- [start:folders]
work = tempfile.TemporaryDirectory()
base = pathlib.Path(work.name, "digits")


def publish(model, number):
    """Export under another name, then rename: no server sees half a version."""
    model.export(base / "incoming", verbose=False)
    os.rename(base / "incoming", base / str(number))


publish(model, 1)
config = pathlib.Path(work.name, "models.config")
config.write_text(f"""
model_config_list {{
  config {{
    name: "digits"
    base_path: "{base}"
    model_platform: "tensorflow"
  }}
  config {{
    name: "digits-kept"
    base_path: "{base}"
    model_platform: "tensorflow"
    model_version_policy {{ all {{}} }}
  }}
}}
""")
# --8<-- [end:folders]


# --8<-- [start:clients]
def ask_rest(path, body=None):
    """GET where there is no body, else POST. Return the status and the answer."""
    url = f"http://{server.rest}/v1/models/{path}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(url, data, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ask_grpc(name="digits", version=None, signature="", **inputs):
    """Return the answer of PredictionService.Predict."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    for key, array in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(array))
    with grpc.insecure_channel(server.grpc) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        return stub.Predict(request, timeout=30)


# --8<-- [end:clients]


def states(name):
    """Return the state of each version that the server knows, by gRPC."""
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = name
    with grpc.insecure_channel(server.grpc) as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        answer = stub.GetModelStatus(request, timeout=30)
    named = get_model_status_pb2.ModelVersionStatus.State.Name
    return {one.version: named(one.state) for one in answer.model_version_status}


def wait_for(name, wanted, seconds=300):
    """Ask until exactly these versions are AVAILABLE; return the state of each."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = states(name)
        if {n for n, state in found.items() if state == "AVAILABLE"} == wanted:
            return found
        time.sleep(0.1)
    raise TimeoutError(f"{name}: not {wanted} but {found}")


def furthest(some, others):
    return float(np.max(np.abs(np.asarray(some) - np.asarray(others))))


with contextlib.ExitStack() as stack:
    stack.callback(work.cleanup)
    # --8<-- [start:start]
    server = stack.enter_context(
        ModelServer(
            f"--model_config_file={config}", "--file_system_poll_wait_seconds=1"
        )
    )
    print("server:", server.name)
    # --8<-- [end:start]

    # --8<-- [start:rest]
    some = x_test[:3]
    code, status = ask_rest("digits")
    print(code, json.dumps(status))
    code, metadata = ask_rest("digits/metadata")
    signatures = metadata["metadata"]["signature_def"]["signature_def"]
    print(code, "inputs:", list(signatures["serving_default"]["inputs"]))

    code, answer = ask_rest("digits:predict", {"instances": some.tolist()})
    rows = np.float32(answer["predictions"])
    print(code, "digits:", rows.argmax(axis=1))

    body = {"signature_name": "serving_default", "inputs": {"image": some.tolist()}}
    code, answer = ask_rest("digits:predict", body)
    columns = np.float32(answer["outputs"])
    print(code, "digits:", columns.argmax(axis=1))
    # --8<-- [end:rest]

    # --8<-- [start:grpc]
    answer = ask_grpc(image=x_test)
    by_grpc = tf.make_ndarray(answer.outputs["output_0"])
    print("version", answer.model_spec.version.value, "shape", by_grpc.shape)
    # --8<-- [end:grpc]

    # --8<-- [start:compare]
    loaded = tf.saved_model.load(str(base / "1"))
    direct = loaded.signatures["serving_default"](image=x_test)["output_0"].numpy()
    _, answer = ask_rest("digits:predict", {"instances": x_test.tolist()})
    by_rest = np.float32(answer["predictions"])
    by_keras = model.predict(x_test, verbose=0)
    for way, numbers in {"REST": by_rest, "gRPC": by_grpc}.items():
        print(f"{way}: {len(numbers)} rows; equal to the signature:", end=" ")
        print(f"{furthest(numbers, direct) < 1e-6}; to Keras:", end=" ")
        print(furthest(numbers, by_keras) < 1e-5)
    # --8<-- [end:compare]

    # --8<-- [start:versions]
    stop, answered, failures = threading.Event(), [], []

    def keep_asking():
        """Ask all the time while the version changes, and note who answers."""
        stopped = False
        while not stopped:
            stopped = stop.is_set()  # after that once more
            try:
                answered.append(ask_grpc(image=some).model_spec.version.value)
            except grpc.RpcError as error:
                failures.append(error.details())

    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        model.fit(x_train, y_train, batch_size=32, epochs=2, verbose=0)
        publish(model, 2)
        print("digits:     ", wait_for("digits", {2}))
    finally:
        stop.set()
        asking.join()
    print("digits-kept:", wait_for("digits-kept", {1, 2}))
    print("answered by versions", sorted(set(answered)), "- failures:", len(failures))

    first = ask_rest("digits-kept/versions/1:predict", {"instances": some.tolist()})
    second = ask_rest("digits-kept:predict", {"instances": some.tolist()})
    gone = ask_rest("digits/versions/1:predict", {"instances": some.tolist()})
    print("version 1, asked for by number, as before:", end=" ")
    print(furthest(first[1]["predictions"], rows) < 1e-6)
    print("no number, the newest:", end=" ")
    print(furthest(second[1]["predictions"], rows) > 1e-6)
    print("version 1, where only the newest is kept:", gone)
    # --8<-- [end:versions]

    # --8<-- [start:back]
    (base / "2").rename(base / "bad-2")
    print("after version 2 was renamed:", wait_for("digits", {1}))
    back = tf.make_ndarray(ask_grpc(image=x_test).outputs["output_0"])
    print("the numbers of version 1 again:", furthest(back, direct) < 1e-6)
    # --8<-- [end:back]

    # --8<-- [start:mistakes]
    text = np.full((8, 8, 1), "dark").tolist()
    by_hand = {
        "unknown model": ("digit:predict", {"instances": some.tolist()}),
        "unknown version": ("digits/versions/9:predict", {"instances": some.tolist()}),
        "unknown signature": (
            "digits:predict",
            {"signature_name": "classify", "instances": some.tolist()},
        ),
        "no inputs": ("digits:predict", {"images": some.tolist()}),
        "wrong name": ("digits:predict", {"instances": [{"img": some[0].tolist()}]}),
        "wrong type": ("digits:predict", {"instances": [text]}),
        "wrong shape": ("digits:predict", {"instances": some[:, :7].tolist()}),
        "no batch": ("digits:predict", {"instances": some[0].tolist()}),
        "no such path": ("digits/predict", {"instances": some.tolist()}),
    }
    by_stub = {
        "unknown model": {"name": "digit", "image": some},
        "unknown version": {"version": 9, "image": some},
        "unknown signature": {"signature": "classify", "image": some},
        "no inputs": {},
        "wrong name": {"img": some},
        "wrong type": {"image": some.astype("float64")},
        "wrong shape": {"image": some[:, :7]},
        "no batch": {"image": some[0]},
    }
    refused = {}
    for mistake, (path, body) in by_hand.items():
        code, answer = ask_rest(path, body)
        refused["REST", mistake] = f"{code}: {answer.get('error')}"
    for mistake, arguments in by_stub.items():
        try:
            refused["gRPC", mistake] = str(ask_grpc(**arguments))
        except grpc.RpcError as error:
            refused["gRPC", mistake] = f"{error.code().name}: {error.details()}"
    after = tf.make_ndarray(ask_grpc(image=some).outputs["output_0"])
    print(len(refused), "mistakes; the server still answers:", len(after), "rows")
    # --8<-- [end:mistakes]

ASKED_OVER = 50  # requests while the version changed: how many depends on the machine
claims = {
    "rest_equals_signature": furthest(by_rest, direct) < 1e-6,
    "grpc_equals_signature": furthest(by_grpc, direct) < 1e-6,
    "equal_to_keras": furthest(by_grpc, by_keras) < 1e-5,
    "rows_equal_columns": furthest(rows, columns) < 1e-6,
    "new_version_came_without_restart": set(answered) == {1, 2},
    "no_request_failed_meanwhile": not failures and len(answered) > ASKED_OVER,
    "default_keeps_only_the_newest": gone[0] == 404,
    "version_by_number_is_the_old_one": furthest(first[1]["predictions"], rows) < 1e-6,
    "no_number_means_the_newest": furthest(second[1]["predictions"], rows) > 1e-6,
    "renaming_the_folder_rolls_back": furthest(back, direct) < 1e-6,
    "unknown_model_is_404": refused["REST", "unknown model"].startswith("404"),
    "wrong_name_is_400": refused["REST", "wrong name"].startswith("400"),
    "one_row_without_batch_is_refused": refused["REST", "no batch"].startswith("400"),
    "rest_takes_any_number_where_grpc_wants_the_type": furthest(by_rest, direct) < 1e-6
    and refused["gRPC", "wrong type"].startswith("INVALID_ARGUMENT"),
    "every_mistake_is_refused": not any(
        answer.startswith(("200", "outputs")) for answer in refused.values()
    ),
    "server_outlives_mistakes": furthest(after, rows) < 1e-6,
}
measures = {
    "server": server.name,
    "rows": len(by_rest),
    "mistakes": len(refused),
    "failed": len(failures),
    "asked_over": ASKED_OVER,
}
errors = {
    "unknown_model": "HTTP " + refused["REST", "unknown model"],
    "unknown_version": "HTTP " + refused["REST", "unknown version"],
    "unknown_signature": "HTTP " + refused["REST", "unknown signature"],
    "no_inputs": "HTTP " + refused["REST", "no inputs"],
    "wrong_name": "HTTP " + refused["REST", "wrong name"],
    "wrong_type": "HTTP " + refused["REST", "wrong type"],
    "grpc_wrong_name": refused["gRPC", "wrong name"],
    "grpc_no_inputs": refused["gRPC", "no inputs"],
    "grpc_unknown_signature": refused["gRPC", "unknown signature"],
}
tables = {
    "mistakes": {
        "columns": ["mistake", "REST", "gRPC"],
        "rows": [
            [mistake, refused["REST", mistake], refused.get(("gRPC", mistake), "")]
            for mistake in by_hand
        ],
    }
}
