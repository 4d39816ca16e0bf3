# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6", "ai-edge-litert>=2.1"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Ask a LiteRT file through CompiledModel: the same answers, and what it does not check."""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.compiled_model import CompiledModel
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
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
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(images[200:], digits.target[200:], batch_size=32, epochs=15, verbose=0)
x_test, expected = images[:200], model.predict(images[:200], verbose=0)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "model.tflite"
one_image = [tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")]
model.export(file, format="litert", input_signature=one_image, verbose=False)

# --8<-- [start:index]
compiled = CompiledModel.from_file(str(file))
inputs, outputs = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
answers = []
for image in x_test:
    inputs[0].write(image[None])
    compiled.run_by_index(0, inputs, outputs)
    answers.append(outputs[0].read(10, np.float32))
off = np.abs(np.array(answers) - expected).max()
print("signatures:", compiled.get_signature_list())
print(f"{len(answers)} answers, off by {off:.0e}")
# --8<-- [end:index]

# --8<-- [start:name]
first = compiled.create_input_buffer_by_name("serving_default", "image")
second = compiled.create_input_buffer_by_name("serving_default", "image")
answer = compiled.create_output_buffer_by_name("serving_default", "output_0")
first.write(x_test[:1])
second.write(x_test[1:2])


def ask(name, buffer):
    """Return the probabilities for what a buffer holds, given under a name."""
    compiled.run_by_name("serving_default", {name: buffer}, {"output_0": answer})
    return answer.read(10, np.float32)


for name, buffer in (("image", first), ("picture", second), ("image", second)):
    print(f"{name:7}", ask(name, buffer).argmax())
# --8<-- [end:name]


def refusal(action):
    """Return the error that an action raises."""
    try:
        action()
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {str(error).strip()}"
    return "none"


whole_numbers = digits.images[:1, ..., None]  # 0 to 16, as they are stored
free_file = Path(folder.name) / "free.tflite"
model.export(free_file, format="litert", verbose=False)
free = CompiledModel.from_file(str(free_file))
five_into_free = refusal(lambda: free.create_input_buffers(0)[0].write(x_test[:5]))
right_name = ask("image", first)
wrong_name = ask("picture", second)
float64 = refusal(lambda: first.write(x_test[:1].astype("float64")))
five = refusal(lambda: first.write(x_test[:5]))
half = refusal(lambda: first.write(x_test[:1, :4]))
int64 = refusal(lambda: first.write(whole_numbers.astype("int64")))
held, written = {}, {}
for kind in ("int32", "float16", "uint8", "bool"):
    first.write(x_test[:1])
    written[kind] = whole_numbers.astype(kind)
    first.write(written[kind])  # none of them is what the file wants
    held[kind] = first.read(64, np.float32)
first.write(written["int32"])
as_int32 = ask("image", first)
first.write(np.zeros_like(x_test[:1]))
as_empty = ask("image", first)
as_int8 = refusal(lambda: answer.read(10, np.int8))
by_wrong_name = refusal(
    lambda: compiled.create_input_buffer_by_name("serving_default", "picture")
)
folder.cleanup()

claims = {
    "compiled_model_equals_keras": bool(off < 1e-5),
    "by_name_equals_keras": np.allclose(right_name, expected[0], atol=1e-5),
    "wrong_name_raises_nothing": wrong_name.shape == (10,),
    "wrong_name_answers_for_the_buffer_before": np.array_equal(right_name, wrong_name)
    and not np.allclose(wrong_name, expected[1], atol=0.05),
    "wrong_name_is_refused_when_the_buffer_is_made": "Input tensor not found"
    in by_wrong_name,
    "too_many_numbers_are_refused": "larger than the tensor buffer" in five,
    "too_few_numbers_are_accepted": half == "none",
    "bytes_of_another_type_are_copied_as_they_are": all(
        held[kind].tobytes().startswith(array.tobytes())
        for kind, array in written.items()
    ),
    "a_shorter_type_leaves_the_rest": all(
        np.array_equal(rest, x_test[0].ravel()[-len(rest) :])
        for rest in (held["float16"][32:], held["uint8"][16:], held["bool"][16:])
    ),
    "whole_numbers_as_int32_look_like_an_empty_image": np.allclose(
        as_int32, as_empty, atol=1e-5
    )
    and not np.allclose(as_int32, expected[0], atol=0.05),
    "int64_is_refused": int64 == "ValueError: Unsupported dtype: int64",
    "another_type_is_read_without_an_error": as_int8 == "none",
    "a_free_batch_takes_one_row": five_into_free == five != "none",
}
errors = {"float64": float64, "too_large": five}
