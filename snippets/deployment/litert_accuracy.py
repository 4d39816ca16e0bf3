# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#   "tensorflow==2.21.*",
#   "keras==3.15.*",
#   "scikit-learn>=1.6",
#   "ai-edge-litert>=2.1",
#   "litert-quantizer>=0.11",
# ]
#
# [tool.guide]
# devices = 0
# seconds = 150
# tolerance = 0.3
# ///
"""An int8 file that loses its accuracy, and the steps that get it back."""

import tempfile
from pathlib import Path

import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from litert_quantizer import quantizer, recipe
from litert_quantizer.qtyping import TFLOperationName
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

# --8<-- [start:model]
keras.utils.set_random_seed(0)
wines, kinds = load_wine(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(
    wines.astype("float32"), kinds, test_size=0.4, random_state=0, stratify=kinds
)
scaling = keras.layers.Normalization()
scaling.adapt(x_train)
model = keras.Sequential(
    [
        keras.Input((13,), name="row"),
        scaling,
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
model.fit(x_train, y_train, epochs=40, verbose=0)
# --8<-- [end:model]


# --8<-- [start:lost]
def export(model):
    """Return a model as a float32 file for any number of rows."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.tflite"
        model.export(file, format="litert", verbose=False)
        return file.read_bytes()


def quantise(content, chosen, examples, left=()):
    """Return a file as a recipe says; some kinds of operations may be left in float32."""
    maker = quantizer.Quantizer(content, chosen)
    for kind in left:
        maker.update_quantization_recipe(
            ".*", kind, algorithm_key=quantizer.AlgorithmName.NO_QUANTIZE
        )
    ranges = None
    if maker.need_calibration:  # in one batch, so that no range is averaged
        ranges = maker.calibrate({"serving_default": [{"row": examples}]})
    made = maker.quantize(ranges, enable_progress_report=False)
    return bytes(made.quantized_model)


whole = export(model)
files = {
    "float32": whole,
    "int8": quantise(whole, recipe.static_wi8_ai8(), x_train),
}
ask = Interpreter(model_content=files["int8"]).get_signature_runner()
step = ask.get_input_details()["row"]["quantization"][0]
within = int((np.ptp(x_train, axis=0) < step).sum())
print(
    f"one step of the input is {step:.1f}; {within} of 13 columns vary less than that"
)
# --8<-- [end:lost]

# --8<-- [start:back]
outside = keras.Sequential([keras.Input((13,), name="row"), *model.layers[1:]])
scaled = export(outside)  # takes rows that are already scaled
scaled_train = np.array(scaling(x_train))
ends = (TFLOperationName.INPUT, TFLOperationName.SUB, TFLOperationName.MUL)
files |= {
    "int8, scaling in float32": quantise(whole, recipe.static_wi8_ai8(), x_train, ends),
    "16 bits between the layers": quantise(whole, recipe.static_wi8_ai16(), x_train),
    "8-bit weights, float32 between": quantise(
        whole, recipe.dynamic_wi8_afp32(), x_train
    ),
    "int8, scaled before the file": quantise(
        scaled, recipe.static_wi8_ai8(), scaled_train
    ),
    "the same, examples not scaled": quantise(scaled, recipe.static_wi8_ai8(), x_train),
    "the same, examples of noise": quantise(
        scaled,
        recipe.static_wi8_ai8(),
        np.random.default_rng(0).random((100, 13), np.float32),
    ),
}
# --8<-- [end:back]


def run(content, rows):
    """Return the answers of a LiteRT file, which may have integers at its ends."""
    ask = Interpreter(model_content=content, num_threads=1).get_signature_runner()
    given = ask.get_input_details()["row"]
    returned = ask.get_output_details()["output_0"]
    if given["dtype"] != np.float32:
        scale, zero_point = given["quantization"]
        ends = np.iinfo(given["dtype"])
        numbers = np.round(rows / scale + zero_point)
        rows = np.clip(numbers, ends.min, ends.max).astype(given["dtype"])
    answers = np.concatenate([ask(row=row[None])["output_0"] for row in rows])
    if returned["dtype"] != np.float32:
        scale, zero_point = returned["quantization"]
        answers = (answers.astype("float32") - zero_point) * scale
    return answers


scaled_test = np.array(scaling(x_test))
accuracy = {}
for name, content in files.items():
    takes_scaled = name.startswith(("int8, scaled", "the same"))
    answers = run(content, scaled_test if takes_scaled else x_test)
    accuracy[name] = float((answers.argmax(1) == y_test).mean())
keras_accuracy = float((model.predict(x_test, verbose=0).argmax(1) == y_test).mean())
low = keras_accuracy - 0.15
held = keras_accuracy - 0.05
claims = {
    "float32_keeps_the_accuracy": accuracy["float32"] == keras_accuracy,
    "int8_loses_the_accuracy": accuracy["int8"] < low,
    "all_training_rows_do_not_help": accuracy["int8"] < low and len(x_train) > 100,
    "columns_vanish_in_one_step": within >= 3,
    "float_scaling_gets_it_back": accuracy["int8, scaling in float32"] > held,
    "sixteen_bits_get_it_back": accuracy["16 bits between the layers"] > held,
    "dynamic_range_keeps_it": accuracy["8-bit weights, float32 between"] > held,
    "scaling_before_gets_it_back": accuracy["int8, scaled before the file"] > held,
    "unscaled_examples_lose_it": accuracy["the same, examples not scaled"] < low,
    "noise_as_examples_loses_it": accuracy["the same, examples of noise"] < low,
}
measures = {
    "keras_accuracy": keras_accuracy,
    "int8_accuracy": accuracy["int8"],
    "back_accuracy": accuracy["int8, scaled before the file"],
    "test_rows": len(x_test),
    "one_row": 1 / len(x_test),
    "examples": len(x_train),
}
tables = {
    "ladder": {
        "columns": ["file", "bytes", "accuracy"],
        "rows": [
            [name, len(content), round(accuracy[name], 3)]
            for name, content in files.items()
        ],
    }
}
