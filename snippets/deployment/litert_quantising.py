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
# seconds = 120
# tolerance = 0.2
# ///
"""Quantise a LiteRT file with LiteRT Quantizer, and compare each file with the converter's."""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from litert_quantizer import quantizer, recipe
from litert_quantizer.calibrator import CalibrationInterpreter, CalibrationMode
from litert_quantizer.qtyping import TFLOperationName
from litert_quantizer.utils import qsv_utils
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)
model = keras.Sequential(
    [
        keras.Input((8, 8, 1), name="pixels"),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(32, activation="relu", name="wide"),
        keras.layers.Dense(10, activation="softmax", name="classes"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=15, verbose=0)

# --8<-- [start:files]
folder = tempfile.TemporaryDirectory()


def export(**options):
    """Write the model as a LiteRT file and return its bytes."""
    file = Path(folder.name) / "model.tflite"
    model.export(file, format="litert", verbose=False, **options)
    return file.read_bytes()


one_image = [tf.TensorSpec((1, 8, 8, 1), tf.float32, name="pixels")]
float32 = export(input_signature=one_image)  # what the phone gets
any_number = export()  # the same, for any number of images: to calibrate
# --8<-- [end:files]


# --8<-- [start:dynamic]
def quantise(chosen, ranges=None):
    """Return the float32 file with its numbers stored as a recipe says."""
    maker = quantizer.Quantizer(float32, chosen)
    made = maker.quantize(ranges, enable_progress_report=False)
    return bytes(made.quantized_model)


files = {"8-bit weights": quantise(recipe.dynamic_wi8_afp32())}
print(f"{len(float32):,} bytes became {len(files['8-bit weights']):,}")
# --8<-- [end:dynamic]

# --8<-- [start:static]
static = quantizer.Quantizer(any_number, recipe.static_wi8_ai8())
one_by_one = {"serving_default": [{"pixels": image[None]} for image in x_train[:200]]}
in_one_batch = {"serving_default": [{"pixels": x_train[:200]}]}
averaged = static.calibrate(one_by_one)
widest = static.calibrate(in_one_batch)
profile = CalibrationMode.CALIBRATION_PROFILER_BASED
profiled = static.calibrate(one_by_one, mode=profile)
files["int8, averaged ranges"] = quantise(recipe.static_wi8_ai8(), averaged)
files["int8, widest ranges"] = quantise(recipe.static_wi8_ai8(), widest)

(logits,) = [name for name in widest if "classes" in name]
calibrated = {"one by one": averaged, "profiled": profiled, "in one batch": widest}
spread = {}
for how, ranges in calibrated.items():
    low, high = (float(ranges[logits][end].item()) for end in ("min", "max"))
    spread[how] = high - low
    print(f"calibrated {how:12}: the logits lie between {low:.1f} and {high:.1f}")
# --8<-- [end:static]

# --8<-- [start:parts]
measuring = CalibrationInterpreter(
    float32,  # or the path of a file
    mode=CalibrationMode.CALIBRATION_PRESERVE_ALL_TENSORS,
    qsv_update_func=qsv_utils.min_max_update,
)
measure = measuring.get_signature_runner("serving_default")
for image in x_train[:200]:
    measure(pixels=image[None])
kept = measuring.get_calibration_results()
one_at_a_time = quantise(recipe.static_wi8_ai8(), kept)
same_file = one_at_a_time == files["int8, widest ranges"]
print("the same file as from one batch:", same_file)
# --8<-- [end:parts]

# --8<-- [start:fewer]
files["8-bit weights, 16 bits between"] = quantise(recipe.static_wi8_ai16(), widest)
files["4-bit weights"] = quantise(recipe.dynamic_wi4_afp32())
files["8-bit weights, small layers not"] = quantise(recipe.dynamic_legacy_wi8_afp32())

mixed = quantizer.Quantizer(float32, recipe.dynamic_wi8_afp32())
mixed.add_dynamic_config("wide", TFLOperationName.FULLY_CONNECTED, num_bits=4)
files["8-bit weights, 4 in one layer"] = bytes(
    mixed.quantize(enable_progress_report=False).quantized_model
)

half = quantizer.Quantizer(float32)
half.add_weight_only_config(
    ".*",
    TFLOperationName.ALL_SUPPORTED,
    num_bits=16,
    algorithm_key=quantizer.AlgorithmName.FLOAT_CASTING,
)
files["float16 weights"] = bytes(
    half.quantize(enable_progress_report=False).quantized_model
)
# --8<-- [end:fewer]


# --8<-- [start:ask]
def run(content):
    """Return the answers of a LiteRT file, which may have integers at its ends."""
    ask = Interpreter(model_content=content, num_threads=1).get_signature_runner()
    given = ask.get_input_details()["pixels"]
    returned = ask.get_output_details()["output_0"]
    rows = x_test
    if given["dtype"] != np.float32:
        scale, zero_point = given["quantization"]
        ends = np.iinfo(given["dtype"])
        numbers = np.round(x_test / scale + zero_point)
        rows = np.clip(numbers, ends.min, ends.max).astype(given["dtype"])
    answers = np.concatenate([ask(pixels=row[None])["output_0"] for row in rows])
    if returned["dtype"] != np.float32:
        scale, zero_point = returned["quantization"]
        answers = (answers.astype("float32") - zero_point) * scale
    return answers, given["dtype"].__name__


# --8<-- [end:ask]
smaller = {"optimizations": [tf.lite.Optimize.DEFAULT], "input_signature": one_image}
int8_only = {"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]}
by_converter = {
    "float16 weights": export(**smaller, target_spec={"supported_types": [tf.float16]}),
    "8-bit weights": export(**smaller),
    "int8": export(
        **smaller,
        representative_dataset=lambda: ([image[None]] for image in x_train[:200]),
        target_spec=int8_only,
        inference_input_type=tf.int8,
        inference_output_type=tf.int8,
    ),
}


# --8<-- [start:errors]
def refusal(action):
    """Return the error that an action raises."""
    try:
        action()
    except (KeyError, RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {str(error).strip()}"
    return "none"


mistakes = {
    "not_calibrated": lambda: quantise(recipe.static_wi8_ai8()),
    "no_recipe": lambda: quantise(None),
    "wrong_recipe": lambda: quantise("dynamic_wi8"),
    "wrong_signature": lambda: static.calibrate({"main": [{"pixels": x_test}]}),
    "wrong_input": lambda: static.calibrate({"serving_default": [{"x": x_test}]}),
}
refused = {name: refusal(action) for name, action in mistakes.items()}
# --8<-- [end:errors]
listed = [{"pixels": image[None]} for image in x_train[:20]]
ranges_of = {
    name: static.calibrate({"serving_default": examples}, mode=mode)
    for name, examples, mode in (
        ("list", listed, CalibrationMode.CALIBRATION_PRESERVE_ALL_TENSORS),
        ("generator", iter(listed), CalibrationMode.CALIBRATION_PRESERVE_ALL_TENSORS),
        ("profiled generator", iter(listed), profile),
    )
}
without_ranges = refusal(lambda: quantise(recipe.static_wi8_ai8(), {}))
folder.cleanup()

expected = model.predict(x_test, verbose=0)
rows, errs, right, types = [], {}, {}, {}
for by, made in (
    ("converter", by_converter),
    ("Quantizer", files),
):
    for name, content in made.items():
        answers, types[by, name] = run(content)
        errs[by, name] = float(f"{np.abs(answers - expected).max():.1e}")
        right[by, name] = float((answers.argmax(1) == y_test).mean())
        same = float((answers.argmax(1) == expected.argmax(1)).mean())
        rows.append(
            [
                by,
                name,
                len(content),
                errs[by, name],
                round(right[by, name], 3),
                round(same, 3),
            ]
        )
size = {(row[0], row[1]): row[2] for row in rows}
ours = {name: errs["Quantizer", name] for name in files}
keras_accuracy = float((expected.argmax(1) == y_test).mean())
claims = {
    "eight_bit_weights_are_under_half": len(files["8-bit weights"])
    < 0.5 * len(float32),
    "dynamic_is_smaller_than_the_converters": size["Quantizer", "8-bit weights"]
    < size["converter", "8-bit weights"],
    "legacy_recipe_errs_like_the_converter": 0.8
    < ours["8-bit weights, small layers not"] / errs["converter", "8-bit weights"]
    < 1.25,
    "dynamic_needs_no_examples": not quantizer.Quantizer(
        float32, recipe.dynamic_wi8_afp32()
    ).need_calibration,
    "static_needs_examples": "calibration" in refused["not_calibrated"],
    "a_generator_leaves_no_ranges": ranges_of["generator"] == {}
    and ranges_of["profiled generator"] == {}
    and len(ranges_of["list"]) > 0,
    "no_ranges_are_refused_like_no_calibration": without_ranges
    == refused["not_calibrated"]
    != "none",
    "one_at_a_time_may_keep_the_widest": same_file,
    "one_by_one_averages_the_ranges": spread["one by one"]
    < 0.8 * spread["in one batch"],
    "profiled_averages_too": abs(spread["profiled"] / spread["one by one"] - 1) < 1e-3,
    "float16_is_of_the_converters_size": 0.9
    < size["Quantizer", "float16 weights"] / size["converter", "float16 weights"]
    < 1.1,
    "float16_errs_least": ours["float16 weights"] < 0.1 * ours["8-bit weights"],
    "averaged_ranges_err_more": ours["int8, averaged ranges"]
    > 3 * ours["int8, widest ranges"],
    "widest_ranges_err_like_the_converter": ours["int8, widest ranges"]
    < 2 * errs["converter", "int8"],
    "static_has_integers_at_both_ends": types["Quantizer", "int8, widest ranges"]
    == "int8",
    "four_bits_err_more_than_eight": ours["4-bit weights"] > 3 * ours["8-bit weights"],
    "four_bits_make_the_smallest_file": size["Quantizer", "4-bit weights"]
    == min(size.values()),
    "one_layer_in_four_bits_lies_between": size["Quantizer", "4-bit weights"]
    < size["Quantizer", "8-bit weights, 4 in one layer"]
    < size["Quantizer", "8-bit weights"],
    "accuracy_holds": min(right.values()) > keras_accuracy - 0.02,
}
measures = {
    "examples": 200,
    "float32_bytes": len(float32),
    "wide_share": 32 * 144 / model.count_params(),
    "averaged_error": ours["int8, averaged ranges"],
    "widest_error": ours["int8, widest ranges"],
}
errors = refused
tables = {
    "files": {
        "columns": [
            "made by",
            "file",
            "bytes",
            "largest error",
            "accuracy",
            "same digit as Keras",
        ],
        "rows": rows,
    }
}
