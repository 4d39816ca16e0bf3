# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6", "ai-edge-litert>=2.1"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# alone = true
# tolerance = 0.2
# ///
"""Write one digits model as a LiteRT file in four precisions: size, error, accuracy and latency of each."""

import tempfile
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
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

# --8<-- [start:export]
folder = tempfile.TemporaryDirectory()
one_image = [tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")]


def export(model, signature=one_image, **options):
    """Write a model as a LiteRT file and return its bytes."""
    file = Path(folder.name) / "model.tflite"
    model.export(
        file, format="litert", input_signature=signature, verbose=False, **options
    )
    return file.read_bytes()


float32 = export(model)
print(f"{model.count_params():,} weights, {len(float32):,} bytes")
# --8<-- [end:export]

# --8<-- [start:ask]
interpreter = Interpreter(model_content=float32, num_threads=1)
ask = interpreter.get_signature_runner()
answer = ask(image=x_test[:1])["output_0"]
print("this is a", answer.argmax(), "- and it is a", y_test[0])
# --8<-- [end:ask]


# --8<-- [start:variants]
def examples():
    """Yield training images, one at a time: they show the range of every layer."""
    for image in x_train[:200]:
        yield [image[None]]


smaller = {"optimizations": [tf.lite.Optimize.DEFAULT]}
half = {"supported_types": [tf.float16]}
int8_only = {
    "supported_types": [tf.int8],
    "supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8],
}
files = {
    "float32": float32,
    "float16": export(model, **smaller, target_spec=half),
    "dynamic range": export(model, **smaller),
    "int8": export(
        model,
        **smaller,
        representative_dataset=examples,
        target_spec=int8_only,
        inference_input_type=tf.int8,
        inference_output_type=tf.int8,
    ),
}
# --8<-- [end:variants]


# --8<-- [start:int8]
def quantise(values, scale, zero_point):
    """Return the int8 that stands for each value."""
    return np.clip(np.round(values / scale + zero_point), -128, 127).astype(np.int8)


def restore(numbers, scale, zero_point):
    """Return the value that each int8 stands for."""
    return (numbers.astype(np.float32) - np.float32(zero_point)) * np.float32(scale)


ask = Interpreter(model_content=files["int8"], num_threads=1).get_signature_runner()
given = ask.get_input_details()["image"]
returned = ask.get_output_details()["output_0"]
for details in (given, returned):
    scale, zero_point = details["quantization"]
    print(f"{details['dtype'].__name__}: (q - ({zero_point})) * {scale:.6f}")

numbers = quantise(x_test[:1], *given["quantization"])
by_hand = restore(ask(image=numbers)["output_0"], *returned["quantization"])
print("digit", by_hand.argmax(), "with probability", by_hand.max())
# --8<-- [end:int8]

# --8<-- [start:measure]
TIMED = 2000  # calls of one image


def run(content):
    """Return the probabilities for the test images, and a call of one image."""
    ask = Interpreter(model_content=content, num_threads=1).get_signature_runner()
    given = ask.get_input_details()["image"]
    returned = ask.get_output_details()["output_0"]
    rows = x_test
    if given["dtype"] == np.int8:
        rows = quantise(x_test, *given["quantization"])
    answers = np.concatenate([ask(image=row[None])["output_0"] for row in rows])
    if returned["dtype"] == np.int8:
        answers = restore(answers, *returned["quantization"])
    return answers, lambda: ask(image=rows[:1])


def turns_us(calls, times):
    """Return, for each call, the fastest run of each turn in microseconds.

    Other work only makes a run slower. The calls take turns of ten runs, and a turn warms
    the caches for its own.
    """
    turns = {name: [] for name in calls}
    for _ in range(times // 10):
        for name, call in calls.items():
            seconds = []
            for _ in range(10):
                start = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - start)
            turns[name].append(1e6 * min(seconds))
    return turns


def gains(turns):
    """Return how many times as long float32 takes as each call, in the median turn.

    Turns are compared with those beside them: a processor changes its clock meanwhile.
    """
    return {
        name: float(np.median(np.divide(turns["float32"], took)))
        for name, took in turns.items()
    }


expected = model.predict(x_test, verbose=0)
results = {name: run(content) for name, content in files.items()}
turns = turns_us({name: call for name, (_, call) in results.items()}, TIMED)
rows = []
for name, (answers, _) in results.items():
    rows.append(
        [
            name,
            len(files[name]),
            float(f"{np.abs(answers - expected).max():.1e}"),
            round(float((answers.argmax(1) == y_test).mean()), 3),
            round(float((answers.argmax(1) == expected.argmax(1)).mean()), 3),
            round(min(turns[name]), 1),
        ]
    )
# --8<-- [end:measure]

# --8<-- [start:wide]
layers = keras.layers
wider = {  # the shape of one example, and a block of layers
    "dense": ((1024,), [lambda: layers.Dense(1024, activation="relu")]),
    "convolutions": (
        (32, 32, 32),
        [lambda: layers.Conv2D(64, 3, padding="same", activation="relu")],
    ),
    "depthwise": (
        (32, 32, 32),
        [
            lambda: layers.DepthwiseConv2D(3, padding="same", activation="relu"),
            lambda: layers.Conv2D(32, 1, activation="relu"),
        ],
    ),
}
wide_rows = []
for kind, (shape, block) in wider.items():
    wide = keras.Sequential([keras.Input(shape, name="row")])
    for make in 3 * block:
        wide.add(make())
    one_row = [tf.TensorSpec((1, *shape), tf.float32, name="row")]
    noise = np.random.default_rng(0).random((20, 1, *shape), np.float32)
    options = {
        "float32": {},
        "float16": {**smaller, "target_spec": half},
        "dynamic range": smaller,
        "int8": {
            **smaller,
            "representative_dataset": lambda noise=noise: ([row] for row in noise),
            "target_spec": int8_only,
            "inference_input_type": tf.int8,
            "inference_output_type": tf.int8,
        },
    }
    sizes, calls = {}, {}
    for name, chosen in options.items():
        content = export(wide, one_row, **chosen)
        alone = Interpreter(model_content=content, num_threads=1)
        ask_wide = alone.get_signature_runner()
        wanted = ask_wide.get_input_details()["row"]
        row = noise[0]
        if wanted["dtype"] == np.int8:
            row = quantise(row, *wanted["quantization"])
        sizes[name] = len(content)
        calls[name] = lambda ask=ask_wide, row=row: ask(row=row)
    gained = gains(turns_us(calls, 100))
    for name in options:
        share = sizes[name] / sizes["float32"]
        wide_rows.append([kind, name, share, gained[name]])
# --8<-- [end:wide]
model.export(Path(folder.name) / "digits", verbose=False)
loaded = tf.saved_model.load(Path(folder.name) / "digits")
compiled = loaded.signatures["serving_default"]
first = tf.constant(x_test[:1])
model(first), compiled(image=first)
ways = {
    "eager": lambda: model(first),
    "compiled": lambda: compiled(image=first),
    "litert": results["float32"][1],
}
one_call = {name: min(took) for name, took in turns_us(ways, 200).items()}

# The same int8 weights, but LiteRT itself scales the input and the output.
float_ends = export(
    model, **smaller, representative_dataset=examples, target_spec=int8_only
)
scaled_by_litert = run(float_ends)[0]
scaled_by_hand = results["int8"][0]
folder.cleanup()

size = {row[0]: row[1] for row in rows}
error = {row[0]: row[2] for row in rows}
accuracy = {row[0]: row[3] for row in rows}
keras_accuracy = float((expected.argmax(1) == y_test).mean())
dense_8_bits = [
    row
    for row in wide_rows
    if row[0] == "dense" and row[1] in ("dynamic range", "int8")
]
input_scale, input_zero = given["quantization"]
claims = {
    "float32_is_the_same_model": error["float32"] < 1e-5,
    "float32_holds_four_bytes_a_weight": size["float32"] > 4 * model.count_params(),
    "float16_is_about_half": 0.4 < size["float16"] / size["float32"] < 0.7,
    "int8_weights_are_under_half": max(size["dynamic range"], size["int8"])
    < 0.5 * size["float32"],
    "int8_is_not_a_quarter_here": size["int8"] > 0.3 * size["float32"],
    "float16_errs_less_than_int8": error["float16"] < 0.2 * error["int8"],
    "int8_keeps_the_accuracy": abs(accuracy["int8"] - keras_accuracy) < 0.02,
    "int8_errs": error["int8"] > 0.01,
    "same_digit_nearly_always": min(row[4] for row in rows) > 0.98,
    "by_hand_equals_litert": np.array_equal(scaled_by_hand, scaled_by_litert),
    "int8_input_spans_the_data": np.allclose(
        restore(np.array([-128, 127], np.int8), input_scale, input_zero),
        [0, 1],
        atol=1e-3,
    ),
    "without_scaling_it_is_wrong": float(
        np.mean(
            [
                ask(image=row[None].astype(np.int8))["output_0"].argmax() == label
                for row, label in zip(x_test, y_test, strict=True)
            ]
        )
    )
    < 0.5,
    "wide_int8_weights_are_a_quarter": all(row[2] < 0.27 for row in dense_8_bits),
    "dense_layers_gain_from_8_bits": all(row[3] > 1.5 for row in dense_8_bits),
    "fewer_bits_save_hardly_any_time": max(gains(turns).values()) < 1.5,
    "faster_than_a_keras_call": one_call["eager"] > 10 * one_call["litert"],
    "faster_than_a_compiled_call": one_call["compiled"] > 2 * one_call["litert"],
    "an_eager_call_is_slower_than_a_compiled_one": one_call["eager"]
    > 2 * one_call["compiled"],
}
measures = {
    "weights": model.count_params(),
    "images": len(x_test),
    "may_differ": 3 / len(x_test),
    "examples": 200,
    "float32_bytes": size["float32"],
    "float16_share": size["float16"] / size["float32"],
    "dynamic_share": size["dynamic range"] / size["float32"],
    "int8_share": size["int8"] / size["float32"],
    "float32_error": error["float32"],
    "int8_error": error["int8"],
    "keras_accuracy": keras_accuracy,
    "int8_accuracy": accuracy["int8"],
    "scale": float(input_scale),
    "zero_point": int(input_zero),
    "steps": 256,
    "keras_call_x": one_call["eager"] / one_call["litert"],
    "signature_call_x": one_call["compiled"] / one_call["litert"],
}
tables = {
    "precisions": {
        "columns": [
            "precision",
            "bytes",
            "largest error",
            "accuracy",
            "same digit as Keras",
            "fastest [us]",
        ],
        "rows": rows,
    },
    "wide": {
        "columns": [
            "three blocks of",
            "precision",
            "share of the bytes",
            "speed-up [x]",
        ],
        "rows": [
            [kind, name, round(share, 2), round(faster, 1)]
            for kind, name, share, faster in wide_rows
        ],
    },
}
figures = {
    "size_and_error": {
        "kind": "scatter",
        "xlabel": "kilobytes of the file",
        "ylabel": "largest error against Keras",
        "yscale": "log",
        "series": {
            name: {"x": [size[name] / 1000], "y": [error[name]]} for name in files
        },
    }
}
