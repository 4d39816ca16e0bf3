# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Lines of a script for Keras 2, what each does today, and the line that takes its place."""

import contextlib
import io
import tempfile
import warnings
from pathlib import Path

import numpy as np
import tensorflow as tf

# --8<-- [start:setup]
keras, layers, optimizers = tf.keras, tf.keras.layers, tf.keras.optimizers
place, texts = tempfile.TemporaryDirectory(), {}
folder = Path(place.name)


def attempt(line):
    """Run a line; return in a word what it did, and keep the text of its error or warning."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                eval(line, globals())
        except Exception as error:
            texts[line] = f"{type(error).__name__}: {error}"
            return type(error).__name__
    said = [str(one.message) for one in heard if one.category is UserWarning]
    texts[line] = " ".join(said)
    return "a warning" if said else "works"


def network():
    model = keras.Sequential([keras.Input((2,)), layers.Dense(3)])
    model.compile("sgd", "mse")
    return model


def rows():
    while True:
        yield x, y


x, y = np.ones((4, 2), "float32"), np.ones((4, 3), "float32")
model, mean, inputs = network(), keras.metrics.Mean(), keras.Input((2,))
schedule = optimizers.schedules.InverseTimeDecay(0.1, 1, 0.01)
exported = folder / "exported"
model.export(exported, verbose=False)
# --8<-- [end:setup]

# --8<-- [start:lines]
LINES = {
    "optimizers.Adam(lr=0.1)": "optimizers.Adam(learning_rate=0.1)",
    "optimizers.legacy.Adam(0.1)": "optimizers.Adam(0.1)",
    "model.optimizer.lr": "model.optimizer.learning_rate",
    "optimizers.SGD(0.1, decay=0.01)": "optimizers.SGD(schedule)",
    "tf.abs(inputs)": "keras.ops.abs(inputs)",
    "layers.experimental.preprocessing.Rescaling(0.5)": "layers.Rescaling(0.5)",
    "layers.DenseFeatures([])": "keras.utils.FeatureSpace({'a': 'float'})",
    "model.fit_generator(rows(), 1)": "model.fit(rows(), steps_per_epoch=1, shuffle=False)",
    "model.fit(x, y, workers=2)": "model.fit(x, y)",
    "model.predict_classes(x)": "model.predict(x).argmax(-1)",
    "mean.reset_states()": "mean.reset_state()",
    "model.save_weights(folder / 'ckpt')": "model.save_weights(folder / 'ckpt.weights.h5')",
    "model.save(folder / 'model')": "model.save(folder / 'model.keras')",
    "keras.models.load_model(exported)": "layers.TFSMLayer(exported)",
}
found = [[old, attempt(old), new, attempt(new)] for old, new in LINES.items()]
found.append(["tf.estimator", attempt("tf.estimator"), "", ""])
# --8<-- [end:lines]


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
new = rate(optimizers.SGD(schedule))
print(f"after 10 updates: decay {old:.4f}, schedule {new:.4f}")
# --8<-- [end:decay]
place.cleanup()

outcomes = {before: outcome for before, outcome, *_ in found}
claims = {
    "decay_is_ignored": outcomes["optimizers.SGD(0.1, decay=0.01)"] == "a warning"
    and abs(old - 0.1) < 1e-6,
    "a_schedule_decays": abs(new - 0.1 / (1 + 10 * 0.01)) < 1e-6,
    "all_other_old_lines_raise": all(
        "Error" in outcome
        for before, outcome in outcomes.items()
        if "decay" not in before
    ),
    "all_new_lines_work": all(row[3] == "works" for row in found[:-1]),
    "an_estimator_is_gone": outcomes["tf.estimator"] == "AttributeError",
}
errors = {
    "lr": texts["optimizers.Adam(lr=0.1)"],
    "symbolic": texts["tf.abs(inputs)"].partition(". A KerasTensor is")[0],
    "legacy": texts["optimizers.legacy.Adam(0.1)"].partition(". When using")[0],
    "workers": texts["model.fit(x, y, workers=2)"],
    "reset": texts["mean.reset_states()"],
    "estimator": texts["tf.estimator"],
}
tables = {
    "lines": {
        "columns": ["in the old script", "today", "write"],
        "rows": [
            [f"`{before}`", outcome, f"`{after}`" if after else "a Keras model"]
            for before, outcome, after, _ in found
        ],
    }
}
