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
# seconds = 150
# alone = true
# files = ["model_server.py", "stand_in.py"]
# ///
"""Measure latency and throughput over REST and gRPC against calls in the process, by rows in a request and clients."""

import contextlib
import http.client
import json
import pathlib
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

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


# --8<-- [start:ways]
@contextlib.contextmanager
def in_process():
    """Call the signature itself, from an array to an array."""
    yield lambda rows: signature(image=tf.constant(rows))["output_0"].numpy()


@contextlib.contextmanager
def over_rest():
    """Keep one connection open, as a client with many requests would."""
    kept = http.client.HTTPConnection(server.rest, timeout=100)
    with contextlib.closing(kept) as connection:

        def call(rows):
            body = json.dumps({"instances": rows.tolist()})
            connection.request("POST", "/v1/models/digits:predict", body)
            return np.float32(json.load(connection.getresponse())["predictions"])

        yield call


@contextlib.contextmanager
def over_grpc():
    """One channel, and one stub on it."""
    with grpc.insecure_channel(server.grpc) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

        def call(rows):
            request = predict_pb2.PredictRequest()
            request.model_spec.name = "digits"
            request.inputs["image"].CopyFrom(tf.make_tensor_proto(rows))
            return tf.make_ndarray(
                stub.Predict(request, timeout=100).outputs["output_0"]
            )

        yield call


# --8<-- [end:ways]


# --8<-- [start:measure]
def one_client(way, rows, seconds):
    """Ask as fast as the answers come; return how long each took."""
    with way() as call:
        for _ in range(5):
            call(rows)
        latencies, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            call(rows)
            latencies.append(time.perf_counter() - start)
    return latencies


def clients_at_once(way, rows, clients, seconds):
    """Run so many clients at once; return what they saw together."""
    batch = x_test[:rows]
    with ThreadPoolExecutor(clients) as pool:
        tasks = [pool.submit(one_client, way, batch, seconds) for _ in range(clients)]
        return np.concatenate([task.result() for task in tasks])


def measure(cells, rounds=5, seconds=0.3):
    """Measure all in turn, round after round: a busy moment hits one round of each."""
    seen = {cell: [] for cell in cells}
    for _ in range(rounds):
        for (name, rows, clients), found in seen.items():
            found.append(clients_at_once(WAYS[name], rows, clients, seconds))
    return {
        cell: summary(np.concatenate(found), cell[1], rounds * seconds)
        for cell, found in seen.items()
    }


def summary(latencies, rows, seconds):
    rate = len(latencies) / seconds
    return {
        "requests": rate,
        "rows": rate * rows,
        "median": 1000 * float(np.median(latencies)),
        "p99": 1000 * float(np.percentile(latencies, 99)),
        "fastest": 1000 * float(latencies.min()),
    }


# --8<-- [end:measure]

WAYS = {"in the process": in_process, "gRPC": over_grpc, "REST": over_rest}
ROWS, CLIENTS = [1, 8, 64], [1, 2, 4]
with tempfile.TemporaryDirectory() as folder:
    base = pathlib.Path(folder, "digits")
    model.export(base / "1", verbose=False)
    signature = tf.saved_model.load(str(base / "1")).signatures["serving_default"]
    with ModelServer("--model_name=digits", f"--model_base_path={base}") as server:
        # --8<-- [start:run]
        answers = {}
        for name, way in WAYS.items():
            with way() as call:
                answers[name] = call(x_test)
        equal = [np.allclose(a, answers["in the process"]) for a in answers.values()]
        print(server.name, "- all three ways give the same numbers:", all(equal))
        cells = [(name, rows, 1) for name in WAYS for rows in ROWS]
        cells += [(name, 8, many) for name in ("gRPC", "REST") for many in CLIENTS[1:]]
        seen = measure(cells)
        # --8<-- [end:run]

# --8<-- [start:ratios]
# The fastest calls are compared: what else the machine does only slows one down.
fastest = {(w, rows): seen[w, rows, 1]["fastest"] for w in WAYS for rows in ROWS}
latency = {w: fastest[w, 1] / fastest["in the process", 1] for w in WAYS}
gain = {w: 64 * fastest[w, 1] / fastest[w, 64] for w in WAYS}
for w in WAYS:
    print(f"{w}: latency {latency[w]:.1f} x, 64 rows at once {gain[w]:.1f} x the rows")
# --8<-- [end:ratios]

by_rows = {(w, rows): seen[w, rows, 1] for w in WAYS for rows in ROWS}
by_clients = {(w, n): seen[w, 8, n] for w in ("gRPC", "REST") for n in CLIENTS}
claims = {
    "all_ways_agree": all(equal),
    "rows_together_raise_grpc_throughput": gain["gRPC"] > 3,
    "rows_together_raise_rest_throughput": gain["REST"] > 2,
    "a_call_in_the_process_is_faster": fastest["in the process", 1]
    < min(fastest["gRPC", 1], fastest["REST", 1]),
    "large_batches_cost_more_as_json": fastest["REST", 64] > fastest["gRPC", 64],
}
short = {"in the process": "process", "gRPC": "grpc", "REST": "rest"}
measures = {"server": server.name, "clients": CLIENTS[-1]}
for w, key in short.items():
    one = by_rows[w, 1]
    measures[f"{key}_latency_x"] = latency[w]
    measures[f"{key}_batched_x"] = gain[w]
    measures[f"{key}_tail_x"] = one["p99"] / one["median"]
for w in ("gRPC", "REST"):
    few, lots = by_clients[w, 1], by_clients[w, CLIENTS[-1]]
    measures[f"{short[w]}_clients_x"] = lots["rows"] / few["rows"]
    measures[f"{short[w]}_wait_x"] = lots["median"] / few["median"]
HEAD = ["requests [1/s]", "rows [rows/s]", "median [ms]", "99th percentile [ms]"]


def shown(seen):
    return [
        round(seen["requests"]),
        round(seen["rows"]),
        round(seen["median"], 2),
        round(seen["p99"], 2),
    ]


tables = {
    "by_rows": {
        "columns": ["way", "rows in a request", *HEAD],
        "rows": [[w, rows, *shown(seen)] for (w, rows), seen in by_rows.items()],
    },
    "by_clients": {
        "columns": ["way", "clients at once", *HEAD],
        "rows": [[w, count, *shown(seen)] for (w, count), seen in by_clients.items()],
    },
}
figures = {
    "throughput": {
        "kind": "panels",
        "columns": 2,
        "panels": [
            {
                "kind": "lines",
                "timing": True,
                "title": "One client",
                "xlabel": "rows in a request",
                "ylabel": "rows answered per second",
                "xscale": "log2",
                "yscale": "log",
                "markers": True,
                "x": ROWS,
                "series": {w: [by_rows[w, n]["rows"] for n in ROWS] for w in WAYS},
            },
            {
                "kind": "lines",
                "timing": True,
                "title": "8 rows in a request",
                "xlabel": "clients at once",
                "ylabel": "rows answered per second",
                "xscale": "log2",
                "markers": True,
                "x": CLIENTS,
                "series": {
                    w: [by_clients[w, n]["rows"] for n in CLIENTS]
                    for w in ("gRPC", "REST")
                },
            },
        ],
    }
}
