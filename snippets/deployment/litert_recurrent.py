# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "ai-edge-litert>=2.1"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.2
# ///
"""Recurrent layers in LiteRT: what a batch of any size breaks, and two files that run."""

import re
import tempfile
import warnings
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

# A recurrent layer that was traced for a GPU can be converted for nothing else.
tf.config.set_visible_devices([], "GPU")

# --8<-- [start:model]
STEPS = 24  # readings in one window
wave = np.sin(np.arange(0, 60, 0.2)).astype("float32")
windows = np.lib.stride_tricks.sliding_window_view(wave, STEPS)[:-1, :, None]
following = wave[STEPS:, None]


def build(cell, **options):
    """Return a model that forecasts the next reading from a window of them."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((STEPS, 1), name="window"),
            cell(16, **options),
            layers.Dense(1),
        ]
    )


models = {}
for cell in (keras.layers.LSTM, keras.layers.GRU):
    keras.utils.set_random_seed(0)
    model = models[cell] = build(cell)
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.fit(windows, following, epochs=10, verbose=0)
# --8<-- [end:model]


# --8<-- [start:one_line]
folder = tempfile.TemporaryDirectory()


def export(model, **options):
    """Write a model as a LiteRT file and return its bytes."""
    file = Path(folder.name) / "model.tflite"
    model.export(file, format="litert", verbose=False, **options)
    return file.read_bytes()


any_batch = export(models[keras.layers.LSTM])
print(f"written without a complaint: {len(any_batch):,} bytes")
try:
    Interpreter(model_content=any_batch).get_signature_runner()(window=windows[:1])
except RuntimeError as error:
    not_there = error
    print("asked:", str(error).partition(". ")[0])
# --8<-- [end:one_line]
with warnings.catch_warnings():  # that it has moved
    warnings.simplefilter("ignore")
    old = tf.lite.Interpreter(model_content=any_batch)
try:
    old.get_signature_runner()(window=windows[:1])
    old_runs_it = True
except RuntimeError:
    old_runs_it = False


# --8<-- [start:own]
def refusal(model):
    """Convert to the operations of LiteRT alone; return what went wrong."""
    own = {"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS]}
    try:
        export(model, target_spec=own)
    except Exception as error:  # a ConverterError: TensorFlow does not export its class
        return error


refused = {cell.__name__: refusal(model) for cell, model in models.items()}
for name, error in refused.items():
    cause = re.search(r"'tf\.TensorListReserve' op .*", str(error)).group()
    print(name, type(error).__name__, cause, sep=": ")
# --8<-- [end:own]


# --8<-- [start:fixed]
def for_batches_of(number, model):
    """Write a model as a LiteRT file that takes so many windows in one call."""
    some = [tf.TensorSpec((number, STEPS, 1), tf.float32, name="window")]
    return export(model, input_signature=some)


batch_one = {cell: for_batches_of(1, model) for cell, model in models.items()}
batch_twenty = {cell: for_batches_of(20, model) for cell, model in models.items()}
# --8<-- [end:fixed]

# --8<-- [start:unroll]
unrolled = {}
for cell, model in models.items():
    flat = build(cell, unroll=True)
    flat.set_weights(model.get_weights())
    unrolled[cell] = export(flat)
# --8<-- [end:unroll]


# --8<-- [start:check]
def forecasts(content, rows):
    """Return the answers of a LiteRT file; `rows` windows go into one call."""
    ask = Interpreter(model_content=content, num_threads=1).get_signature_runner()
    parts = np.split(windows[:60], 60 // rows)
    return np.concatenate([ask(window=part)["output_0"] for part in parts])


table = []
for cell, model in models.items():
    expected = model(windows[:60]).numpy()
    for how, content, rows in (
        ("batch of one", batch_one[cell], 1),
        ("batch of 20", batch_twenty[cell], 20),
        ("unrolled", unrolled[cell], 20),
    ):
        away = float(np.abs(forecasts(content, rows) - expected).max())
        table.append([cell.__name__, how, rows, len(content), away])
        print(f"{cell.__name__:4} {how:12} {len(content):7,} bytes, off by {away:.1e}")
# --8<-- [end:check]
try:
    forecasts(batch_one[keras.layers.LSTM], 20)
    one_takes_more = True
except RuntimeError:
    one_takes_more = False
folder.cleanup()

sizes = {(row[0], row[1]): row[3] for row in table}
claims = {
    "any_batch_does_not_convert": all(
        "'tf.TensorListReserve' op requires element_shape to be static" in str(error)
        for error in refused.values()
    ),
    "message_recommends_select_ops": all(
        "Please consider using Select TF ops" in str(error)
        for error in refused.values()
    ),
    "one_line_writes_what_litert_cannot_run": "Flex delegate" in str(not_there),
    "nor_does_the_old_interpreter_run_it": not old_runs_it,
    "both_fixes_are_right": max(row[4] for row in table) < 1e-5,
    "a_batch_of_twenty_will_do": all(
        row[2] == 20 and row[4] < 1e-5 for row in table if row[1] == "batch of 20"
    ),
    "batch_one_takes_more": one_takes_more,
    "unrolled_takes_many": all(row[2] > 1 for row in table if row[1] == "unrolled"),
    "unrolled_is_larger": all(
        sizes[name, "unrolled"] > 2 * sizes[name, "batch of one"]
        for name in ("LSTM", "GRU")
    ),
}
measures = {
    "any_batch_bytes": len(any_batch),
    "steps": STEPS,
    "larger": sizes["LSTM", "unrolled"] / sizes["LSTM", "batch of one"],
}
errors = {
    "dynamic_batch": f"{type(error).__name__}: {cause}",
    "flex": f"RuntimeError: {str(not_there).partition('Node number')[0]}",
}
tables = {
    "fixes": {
        "columns": ["layer", "file", "windows in one call", "bytes", "largest error"],
        "rows": [[*row[:4], float(f"{row[4]:.1e}")] for row in table],
    }
}
