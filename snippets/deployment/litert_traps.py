# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6", "ai-edge-litert>=2.1"]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 180
# ///
"""LiteRT files that lie or refuse: no weights, the wrong shape, threads that share one, an old interpreter."""

import subprocess
import sys
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

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


# --8<-- [start:empty]
@tf.function(input_signature=[tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")])
def serve(image):
    """Return the probabilities for one image."""
    return {"probabilities": model(image, training=False)}


function = serve.get_concrete_function()
convert = tf.lite.TFLiteConverter.from_concrete_functions
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    empty = convert([function], model).convert()
print(f"{model.count_params():,} weights, {len(empty):,} bytes")
# --8<-- [end:empty]

# --8<-- [start:ask_empty]
ask = Interpreter(model_content=empty).get_signature_runner()
answers = [ask(image=image[None])["probabilities"][0] for image in x_test[:20]]
expected = model.predict(x_test[:20], verbose=0)
right = np.allclose(answers, expected, atol=0.05)
print(f"{len(answers)} answers; as Keras answers: {right}")
# --8<-- [end:ask_empty]

# --8<-- [start:right]
holder = tf.Module()
holder.weights = [weight.value for weight in model.variables]
files = {
    "function and Keras model": empty,
    "function alone": convert([function]).convert(),
    "function and variables": convert([function], holder).convert(),
}
# --8<-- [end:right]


# --8<-- [start:guard]
def check(content, rows=20):
    """Raise an error where a LiteRT file does not answer as the Keras model does."""
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    entry = interpreter.get_input_details()[0]["index"]
    exit_ = interpreter.get_output_details()[0]["index"]
    for image in x_test[:rows, None]:
        interpreter.set_tensor(entry, image)
        interpreter.invoke()
        np.testing.assert_allclose(
            interpreter.get_tensor(exit_), model(image), atol=0.05
        )


rows = []
for name, content in files.items():
    try:
        check(content)
        verdict = "agrees with Keras"
    except AssertionError:
        verdict = "refused by the check"
    rows.append([name, len(content), verdict])
    print(f"{name:25} {len(content):6,} bytes, {verdict}")
# --8<-- [end:guard]

# --8<-- [start:ops]
interpreter = Interpreter(model_content=empty)
used = {step["op_name"] for step in interpreter._get_ops_details()}
print(sorted(used & {"VAR_HANDLE", "READ_VARIABLE"}))
# --8<-- [end:ops]

# --8<-- [start:batch]
folder = tempfile.TemporaryDirectory()


def export(network=model, **options):
    """Write a network as a LiteRT file and return its bytes."""
    file = Path(folder.name) / "digits.tflite"
    network.export(file, format="litert", verbose=False, **options)
    return file.read_bytes()


def refusal(call):
    """Return the error of a call as text."""
    try:
        call()
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {str(error).strip()}"
    return "none"


one_image = [tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")]
one, any_number = export(input_signature=one_image), export()
ask_one = Interpreter(model_content=one).get_signature_runner()
ask_any = Interpreter(model_content=any_number).get_signature_runner()

five = x_test[:5]
print("file for one image: ", refusal(lambda: ask_one(image=five)))
print("file for any number:", ask_any(image=five)["output_0"].argmax(1))

pooled = keras.Sequential(
    [
        keras.Input((8, 8, 1), name="image"),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),  # in place of Flatten
        keras.layers.Dense(10, activation="softmax"),
    ]
)
unflattened = export(pooled, input_signature=one_image)
ask_pooled = Interpreter(model_content=unflattened).get_signature_runner()
by_pooled = ask_pooled(image=five)["output_0"]
alike = by_pooled.shape == (5, 10) and np.allclose(by_pooled, pooled(five), atol=1e-5)
print("file for one image, without Flatten: five answers, as Keras:", alike)
# --8<-- [end:batch]


# --8<-- [start:threads]
alone = [ask_one(image=image)["output_0"] for image in x_test[:4, None]]


def mixes_up(runners, calls):
    """Let one thread for each runner ask about an image of its own; return whether one gets a wrong answer."""
    wrong = threading.Event()

    def ask_again(runner, number):
        image = x_test[number : number + 1]
        for _ in range(calls):
            if wrong.is_set():
                return
            if not np.array_equal(runner(image=image)["output_0"], alone[number]):
                wrong.set()

    with ThreadPoolExecutor(len(runners)) as pool:
        list(pool.map(ask_again, runners, range(len(runners))))
    return wrong.is_set()


own = [Interpreter(model_content=one).get_signature_runner() for _ in alone]
shared_is_wrong = mixes_up([ask_one] * len(alone), calls=100_000)
own_is_wrong = mixes_up(own, calls=2_000)
print("wrong answers where threads share a runner:", shared_is_wrong)
print("wrong answers where each has its own:", own_is_wrong)
# --8<-- [end:threads]


# --8<-- [start:classic]
def classic(interpreter, image):
    """Ask as code for TensorFlow Lite does: tensors by their numbers."""
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


new = Interpreter(model_content=one)
before = refusal(lambda: classic(new, x_test[:1]))
new.allocate_tensors()
several = refusal(lambda: classic(new, x_test[:5]))
print(before, several, sep="\n")
# --8<-- [end:classic]

# --8<-- [start:moved]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old = tf.lite.Interpreter(model_content=one)
old.allocate_tensors()
print(
    "same answer:", np.array_equal(classic(old, x_test[:1]), classic(new, x_test[:1]))
)
# --8<-- [end:moved]

# --8<-- [start:name]
last_lines = {}
for name in ("litert.py", "keras.py", "digits.py"):
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / name
        script.write_text("import keras\nkeras.utils.set_random_seed(0)\n")
        ended = subprocess.run(
            [sys.executable, script],
            check=False,
            capture_output=True,
            text=True,
        )
    said = ended.stderr.strip().splitlines() if ended.returncode else ["it runs"]
    last_lines[name] = said[-1]
    print(f"{name:9}", last_lines[name].partition(" (most")[0])
# --8<-- [end:name]


# --8<-- [start:inputs]
rooms, place = keras.Input((3,), name="rooms"), keras.Input((3,), name="place")
minus = keras.layers.Dense(1)
net = keras.Model([rooms, place], minus(keras.layers.Concatenate()([rooms, place])))
minus.set_weights([np.repeat([[1.0], [-1.0]], 3, axis=0), np.zeros(1)])
random = np.random.default_rng(0)
ones = random.random((50, 1, 3), "float32")  # up to 1
hundreds = 100 * random.random((50, 1, 3), "float32")  # up to 100
pairs = list(zip(ones, hundreds, strict=True))
examples = {
    "dictionaries": lambda: ({"rooms": r, "place": p} for r, p in pairs),
    "lists": lambda: ([r, p] for r, p in pairs),
}
differences = (ones - hundreds).sum(axis=2)
subtracts = {}
for kind, yielded in examples.items():
    content = export(
        net,
        optimizations=[tf.lite.Optimize.DEFAULT],
        representative_dataset=yielded,
        target_spec={"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]},
    )
    ask_net = Interpreter(model_content=content).get_signature_runner()
    by_net = [ask_net(rooms=r, place=p)["output_0"][0] for r, p in pairs]
    subtracts[kind] = np.allclose(by_net, differences, atol=3)
    print(f"examples as {kind}: the file subtracts rightly: {subtracts[kind]}")
# --8<-- [end:inputs]


# --8<-- [start:versions]
def version(**options):
    """Return the version of the dense layers' operation in a file."""
    content = export(input_signature=one_image, **options)
    codes = schema.ModelT.InitFromPackedBuf(content, 0).operatorCodes
    dense = schema.BuiltinOperator.FULLY_CONNECTED
    return max(code.version for code in codes if code.builtinCode == dense)


dynamic = {"optimizations": [tf.lite.Optimize.DEFAULT]}
one_scale = {"_experimental_disable_per_channel_quantization_for_dense_layers": True}
versions = {
    "float32": version(),
    "dynamic range": version(**dynamic),
    "dynamic range, one scale per layer": version(**dynamic, **one_scale),
}
for name, number in versions.items():
    print(f"{name}: FULLY_CONNECTED version {number}")
# --8<-- [end:versions]

small = {
    "optimizations": [tf.lite.Optimize.DEFAULT],
    "representative_dataset": lambda: ([image[None]] for image in x_train[:50]),
    "target_spec": {"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]},
    "inference_input_type": tf.int8,
    "inference_output_type": tf.int8,
}
ask_int8 = Interpreter(
    model_content=export(**small, input_signature=one_image)
).get_signature_runner()
floats_into_int8 = refusal(lambda: ask_int8(image=x_test[:1]))
wrong_name = refusal(lambda: ask_one(picture=x_test[:1]))
del small["representative_dataset"]
no_examples = refusal(lambda: export(**small, input_signature=one_image))
folder.cleanup()

expected = model(x_test[:5]).numpy().argmax(1)
verdicts = {name: verdict for name, _, verdict in rows}
lengths = {name: length for name, length, _ in rows}
claims = {
    "empty_file_converts_without_a_warning": not heard,
    "empty_file_is_too_small": len(empty) < 4 * model.count_params(),
    "empty_file_loads_and_answers_wrongly": len(answers) == 20 and not right,
    "check_refuses_the_empty_file": verdicts["function and Keras model"]
    == "refused by the check",
    "function_alone_is_right": verdicts["function alone"] == "agrees with Keras",
    "variables_are_right": verdicts["function and variables"] == "agrees with Keras",
    "right_files_hold_the_weights": min(
        lengths["function alone"], lengths["function and variables"]
    )
    > 4 * model.count_params(),
    "empty_file_reads_variables": used >= {"VAR_HANDLE", "READ_VARIABLE"},
    "one_image_file_refuses_five": refusal(lambda: ask_one(image=five)) != "none",
    "without_flatten_one_image_file_takes_five": alike,
    "any_number_file_takes_five": np.array_equal(
        ask_any(image=five)["output_0"].argmax(1), expected
    ),
    "threads_that_share_a_runner_get_wrong_answers": shared_is_wrong,
    "a_runner_for_each_thread_is_right": not own_is_wrong,
    "classic_never_resizes": "Dimension mismatch" in several,
    "old_interpreter_warns": len(caught) == 1,
    "old_interpreter_still_works": np.array_equal(
        classic(old, x_test[:1]), classic(new, x_test[:1])
    ),
    "int8_file_refuses_floats": "expected type INT8" in floats_into_int8,
    "own_name_breaks_the_import": "'keras'" in last_lines["litert.py"],
    "a_program_called_keras_fails_alike": last_lines["keras.py"]
    == last_lines["litert.py"],
    "another_name_runs": last_lines["digits.py"] == "it runs",
    "examples_by_name_are_right": subtracts["dictionaries"],
    "a_list_in_the_models_order_is_wrong": not subtracts["lists"],
    "one_scale_lowers_the_version": versions["dynamic range"] == 12
    and versions["dynamic range, one scale per layer"] < 12,
    "int8_needs_examples": "representative_dataset" in no_examples,
}
measures = {
    "weights": model.count_params(),
    "empty_bytes": len(empty),
    "least_bytes": 4 * model.count_params(),
}
errors = {
    "batch_of_one": refusal(lambda: ask_one(image=five)).partition("Node ")[0],
    "set_tensor_shape": several,
    "not_allocated": before,
    "floats_into_int8": floats_into_int8,
    "wrong_name": wrong_name,
    "no_examples": no_examples,
    "named_litert": last_lines["litert.py"],
    "old_interpreter": "UserWarning: " + " ".join(str(caught[0].message).split()),
}
tables = {
    "conversions": {"columns": ["what is converted", "bytes", "verdict"], "rows": rows}
}
