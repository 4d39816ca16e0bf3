# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#     "tensorflow==2.21.*",
#     "keras==3.15.*",
#     "tensorflow-serving-api==2.21.*",
#     "grpcio",
#     "psutil",
#     "scikit-learn",
# ]
#
# [tool.guide]
# devices = 0
# processes = 4
# seconds = 150
# files = ["model_server.py", "stand_in.py"]
# ///
"""Write warm-up requests, watch a server replay them, and compare the first request with and without."""

import contextlib
import os
import pathlib
import tempfile
import time

import grpc
import keras
import numpy as np
import psutil
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_log_pb2,
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


# --8<-- [start:write]
def request_for(rows, name="image", start=0):
    """One request of so many rows."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "digits"
    request.model_spec.signature_name = "serving_default"
    request.inputs[name].CopyFrom(tf.make_tensor_proto(x_test[start : start + rows]))
    return request


def write_warmup(folder, requests):
    """Put the requests where the server looks when it loads this version."""
    file = folder / "assets.extra" / "tf_serving_warmup_requests"
    file.parent.mkdir()
    with tf.io.TFRecordWriter(str(file)) as writer:
        for request in requests:
            log = prediction_log_pb2.PredictionLog()
            log.predict_log.request.CopyFrom(request)
            writer.write(log.SerializeToString())
    return file


def read_warmup(file):
    for record in tf.data.TFRecordDataset(str(file)):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        yield log.predict_log.request


work = tempfile.TemporaryDirectory()
cold, warm = pathlib.Path(work.name, "cold"), pathlib.Path(work.name, "warm")
model.export(cold / "1", verbose=False)
model.export(warm / "1", verbose=False)
BATCHES = [1, 8, 64]
file = write_warmup(warm / "1", [request_for(rows) for rows in BATCHES])
found = [tf.make_ndarray(one.inputs["image"]).shape for one in read_warmup(file)]
print(file.relative_to(warm), found)
# --8<-- [end:write]


# --8<-- [start:measure]
def first_and_usual(server, rows=64, repeats=30):
    """Return the seconds of the first request and of the next ones, by two clocks.

    One is the client's: how long it waits. The other counts what the server's processor
    does for it, which other programs on the machine do not lengthen.
    """
    process = psutil.Process(server.process.pid)  # with Docker only its client
    with grpc.insecure_channel(server.grpc) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = request_for(rows, start=100)  # other rows than in the file
        nobody = predict_pb2.PredictRequest()
        nobody.model_spec.name = "nobody"
        with contextlib.suppress(grpc.RpcError):  # warms up the client and the channel
            stub.Predict(nobody, timeout=30)
        waited, worked = [], [sum(process.cpu_times()[:2])]  # user and system
        for _ in range(repeats + 1):
            start = time.perf_counter()
            stub.Predict(request, timeout=30)
            waited.append(time.perf_counter() - start)
            worked.append(sum(process.cpu_times()[:2]))
    first, following = worked[1] - worked[0], worked[-1] - worked[1]
    return waited[0], float(np.median(waited[1:])), first, following / repeats


# --8<-- [end:measure]


def states(server):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "digits"
    with grpc.insecure_channel(server.grpc) as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        answer = stub.GetModelStatus(request, timeout=30)
    return {one.version: one for one in answer.model_version_status}


with contextlib.ExitStack() as stack:
    stack.callback(work.cleanup)
    # --8<-- [start:run]
    flags = ["--model_name=digits", "--file_system_poll_wait_seconds=1"]
    flags += ["--max_num_load_retries=0"]  # a version that cannot load ends at once
    first, usual, work_first, work_usual = {}, {}, {}, {}
    for name, base in {"without": cold, "with": warm}.items():
        server = stack.enter_context(ModelServer(*flags, f"--model_base_path={base}"))
        seconds = first_and_usual(server)
        first[name], usual[name], work_first[name], work_usual[name] = seconds
        print(f"{server.name}, {name} warm-up: the first request takes", end=" ")
        print(f"{first[name] / usual[name]:.1f} x the usual time")
    # --8<-- [end:run]

    # --8<-- [start:broken]
    model.export(warm / "incoming", verbose=False)
    write_warmup(warm / "incoming", [request_for(1, name="picture")])
    os.rename(warm / "incoming", warm / "2")
    State = get_model_status_pb2.ModelVersionStatus.State
    decided = {State.Value("AVAILABLE"), State.Value("END")}
    while True:
        known = {number: one.state for number, one in states(server).items()}
        if known.get(2) in decided:
            break
        time.sleep(0.1)
    known = {number: State.Name(state) for number, state in known.items()}
    reason = states(server)[2].status.error_message
    print("states:", dict(sorted(known.items())))
    print("version 2:", reason)
    # --8<-- [end:broken]

    # --8<-- [start:restart]
    try:
        stack.enter_context(ModelServer(*flags, f"--model_base_path={warm}"))
        refused = ""
    except RuntimeError as error:
        refused = str(error)
    stays_down = bool(reason) and reason in refused
    print("a fresh server does not start:", stays_down)
    # --8<-- [end:restart]

claims = {
    "read_back_as_written": found == [(rows, 8, 8, 1) for rows in BATCHES],
    "warmup_helps_other_rows": work_first["with"] < work_first["without"],
    "first_request_without_is_slow": work_first["without"] > 3 * work_usual["without"],
    "bad_warmup_keeps_the_version_out": known[2] == "END",
    "old_version_goes_on": known[1] == "AVAILABLE",
    "a_fresh_server_does_not_start": stays_down,
}
measures = {
    "server": server.name,
    "requests": len(found),
    "without_x": first["without"] / usual["without"],
    "with_x": first["with"] / usual["with"],
    "gain_x": first["without"] / first["with"],
}
errors = {"bad_warmup": f"version 2: {reason}"}
