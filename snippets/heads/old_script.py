# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Lines of a script for Keras 2, what each does today and in tf_keras, and the line that takes its place."""

import contextlib
import io
import logging
import tempfile
import warnings
from pathlib import Path

import numpy as np
import tensorflow as tf
import tf_keras

# --8<-- [start:setup]
keras, layers, optimizers = tf.keras, tf.keras.layers, tf.keras.optimizers
place, texts, logged = tempfile.TemporaryDirectory(), {}, []
folder = Path(place.name)
# tf_keras logs some of its warnings; None as an answer keeps them off the screen.
logging.getLogger("absl").addFilter(logged.append)


def attempt(line, names):
    """Run a line; return in a word what it did, and keep the text of its error or warning."""
    logged.clear()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                eval(line, names)
        except Exception as error:
            texts.setdefault(line, f"{type(error).__name__}: {error}")
            return type(error).__name__
    said = [str(one.message) for one in heard if one.category is UserWarning]
    return "a warning" if said or logged else "works"


def rows():
    while True:
        yield x, y


def script(keras):
    """Return the names that an old script would have, with Keras 3 or with tf_keras."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    return globals() | {
        "keras": keras,
        "layers": keras.layers,
        "optimizers": keras.optimizers,
        "model": model,
        "mean": keras.metrics.Mean(),
        "inputs": keras.Input((2,)),
        "schedule": keras.optimizers.schedules.InverseTimeDecay(0.1, 1, 0.01),
    }


x, y = np.ones((4, 2), "float32"), np.ones((4, 3), "float32")
columns = [tf.feature_column.numeric_column("a")]
exported = folder / "exported"
today, legacy = script(tf.keras), script(tf_keras)
legacy["model"].save(exported)
# --8<-- [end:setup]

# --8<-- [start:lines]
LINES = {
    "optimizers.Adam(lr=0.1)": "optimizers.Adam(learning_rate=0.1)",
    "optimizers.legacy.Adam(0.1)": "optimizers.Adam(0.1)",
    "model.optimizer.lr": "model.optimizer.learning_rate",
    "optimizers.SGD(0.1, decay=0.01)": "optimizers.SGD(schedule)",
    "tf.abs(inputs)": "keras.ops.abs(inputs)",
    "layers.experimental.preprocessing": "layers",
    "layers.DenseFeatures(columns)": "keras.utils.FeatureSpace({'a': 'float'})",
    "model.fit_generator(rows(), 1)": "model.fit(rows(), steps_per_epoch=1, shuffle=False)",
    "model.fit(x, y, workers=2)": "model.fit(x, y)",
    "model.predict_classes(x)": "model.predict(x).argmax(-1)",
    "mean.reset_states()": "mean.reset_state()",
    "model.save_weights(folder / 'ckpt')": "model.save_weights(folder / 'ckpt.weights.h5')",
    "model.save(folder / 'model')": "model.save(folder / 'model.keras')",
    "keras.models.load_model(exported)": (
        "layers.TFSMLayer(str(exported), call_endpoint='serving_default')"
    ),
    "tf.estimator": "",
}
found = [
    [old, attempt(old, today), attempt(old, legacy), new, attempt(new or "0", today)]
    for old, new in LINES.items()
]
# --8<-- [end:lines]

# --8<-- [start:one]
head = layers.Dense(1, "sigmoid", kernel_initializer="ones")
answers = keras.Sequential([head]).predict(x, verbose=0)
print("argmax:   ", answers.argmax(-1))
print("threshold:", (answers > 0.5).astype("int32").ravel())
# --8<-- [end:one]


# --8<-- [start:decay]
def rate(optimizer, updates=10):
    """Return the learning rate after so many updates."""
    weight = tf.Variable(1.0)
    for _ in range(updates):
        optimizer.apply([tf.constant(0.0)], [weight])
    return float(optimizer.learning_rate)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    old = rate(optimizers.SGD(0.1, decay=0.01))
new = rate(optimizers.SGD(today["schedule"]))
print(f"after 10 updates: decay {old:.4f}, schedule {new:.4f}")
# --8<-- [end:decay]
served = layers.TFSMLayer(str(exported), call_endpoint="serving_default")(x)
place.cleanup()

outcomes = {before: outcome for before, outcome, *_ in found}
kept = {before: outcome for before, _, outcome, *_ in found}
lr = float(tf_keras.optimizers.Adam(lr=0.1).learning_rate)
DECAY, LR = "optimizers.SGD(0.1, decay=0.01)", "optimizers.Adam(lr=0.1)"
CLASSES = "model.predict_classes(x)"
claims = {
    "decay_is_ignored": outcomes[DECAY] == "a warning" and abs(old - 0.1) < 1e-6,
    "a_schedule_decays": abs(new - 0.1 / (1 + 10 * 0.01)) < 1e-6,
    "all_other_old_lines_raise": all(
        "Error" in outcome for before, outcome in outcomes.items() if before != DECAY
    ),
    "all_new_lines_work": all(row[4] == "works" for row in found),
    "an_estimator_is_gone": outcomes["tf.estimator"] == "AttributeError",
    "tf_keras_ignores_lr": kept[LR] == "a warning" and abs(lr - 0.001) < 1e-6,
    "tf_keras_refuses_decay": kept[DECAY] == "ValueError",
    "tf_keras_has_no_predict_classes": kept[CLASSES] == "AttributeError",
    "all_other_lines_work_in_tf_keras": not any(
        "Error" in outcome
        for before, outcome in kept.items()
        if before not in (DECAY, CLASSES, "tf.estimator")
    ),
    "the_layer_returns_a_dictionary": isinstance(served, dict),
    "argmax_of_one_unit_is_zero": not answers.argmax(-1).any()
    and bool((answers > 0.5).all()),
}
errors = {
    "lr": texts["optimizers.Adam(lr=0.1)"],
    "symbolic": texts["tf.abs(inputs)"].partition(". A KerasTensor is")[0],
    "decay": texts[DECAY].partition(", please")[0],
    "legacy": texts["optimizers.legacy.Adam(0.1)"].partition(". When using")[0],
    "workers": texts["model.fit(x, y, workers=2)"],
    "reset": texts["mean.reset_states()"],
    "estimator": texts["tf.estimator"],
}
tables = {
    "lines": {
        "columns": ["in the old script", "today", "in tf_keras", "write"],
        "rows": [
            [f"`{before}`", outcome, in_old, f"`{after}`" if after else "a Keras model"]
            for before, outcome, in_old, after, _ in found
        ],
    }
}
