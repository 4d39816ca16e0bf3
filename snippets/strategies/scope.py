# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 180
# ///
"""What belongs inside `strategy.scope()`: build, compile and fit inside and outside, and compare with plain NumPy."""

import contextlib
import itertools

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
batch, steps = 3 * replicas, 4
rng = np.random.default_rng(0)
x = rng.normal(size=(steps * batch, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")
print(f"{replicas} replicas, {steps} steps, a global batch of {batch}")


def in_numpy(update):
    """Train the same linear model without TensorFlow: `update(t, gradient)` returns what step t subtracts."""
    w = np.zeros((3, 1))
    for t in range(steps):
        rows = slice(t * batch, (t + 1) * batch)
        w -= update(t, 2 / batch * x[rows].T @ (x[rows] @ w - y[rows]))
    return w


mean, square = np.zeros((3, 1)), np.zeros((3, 1))


def adam(t, gradient):
    """One step of Adam as in Kingma and Ba, 2014, with Keras' default constants."""
    mean[:] = 0.9 * mean + 0.1 * gradient
    square[:] = 0.999 * square + 0.001 * gradient**2
    return (
        0.1
        * np.sqrt(1 - 0.999 ** (t + 1))
        / (1 - 0.9 ** (t + 1))
        * mean
        / (np.sqrt(square) + 1e-7)
    )


decay = keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=1, decay_rate=0.5)
optimizers = {
    "SGD, decaying rate": (
        lambda: keras.optimizers.SGD(decay),
        in_numpy(lambda t, gradient: 0.1 * 0.5**t * gradient),
    ),
    "Adam": (lambda: keras.optimizers.Adam(0.1), in_numpy(adam)),
}


# --8<-- [start:cell]
def train(make_optimizer, build, compile_, fit):
    """Build, compile and fit, each inside the scope where its argument says "inside"."""

    def place(where):
        return strategy.scope() if where == "inside" else contextlib.nullcontext()

    with place(build):
        model = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
            ]
        )
    with place(compile_):
        # For a model built outside, "auto" asks for XLA on GPUs, which fails on several.
        model.compile(make_optimizer(), "mse", jit_compile=False)
    with place(fit):
        model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(batch), verbose=0)
    return model


# --8<-- [end:cell]


def outcome(make_optimizer, reference, *places):
    """Train once; return what happened as text, with the details that a table cell shows as its note."""
    try:
        model = train(make_optimizer, *places)
    except (AssertionError, RuntimeError, ValueError) as error:
        text = str(error)
        # The rest of each text names objects by their address in memory.
        for address in (", not: <", ": <", " for <"):
            text = text.partition(address)[0]
        note = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return {"text": f"raises {type(error).__name__}", "note": note}
    right = np.allclose(model.get_weights()[0], reference, atol=1e-4)
    copies = len(strategy.experimental_local_results(model.layers[0].kernel.value))
    counted = model.optimizer.iterations.numpy()
    text = (
        "wrong weights, no error"
        if not right
        else "right"
        if copies == replicas
        else "right, on one device"
    )
    return {
        "text": text,
        "note": f"variables on {copies} of {replicas} devices; the optimizer counted {counted} steps",
    }


cells = {}
for places in itertools.product(("inside", "outside"), repeat=3):
    for name, (make_optimizer, reference) in optimizers.items():
        cells[name, *places] = outcome(make_optimizer, reference, *places)
        print(f"{' '.join(places):23} | {name:18} | {cells[name, *places]['text']}")


def adam_in_scope():
    """Return an Adam that was made inside the scope, wherever this is called."""
    with strategy.scope():
        return keras.optimizers.Adam(0.1)


constant = outcome(
    lambda: keras.optimizers.SGD(0.1),
    in_numpy(lambda t, gradient: 0.1 * gradient),
    "inside",
    "outside",
    "outside",
)
optimizer_inside = outcome(
    adam_in_scope, optimizers["Adam"][1], "inside", "outside", "outside"
)
by_name = outcome(lambda: "adam", None, "inside", "outside", "outside")
print(
    f"compiled outside, SGD with a constant rate: {constant['text']}; {constant['note']}"
)
print(f"compiled outside, Adam made inside: {optimizer_inside['text']}")
print(f'compiled outside with "adam": {by_name["text"]}')

columns = ["build", "compile", "fit", *optimizers]
rows = [
    [*places, *(cells[name, *places] for name in optimizers)]
    for places in itertools.product(("inside", "outside"), repeat=3)
]
tables = {"scope_matrix": {"columns": columns, "rows": rows}}
errors = {
    "built_outside": cells["SGD, decaying rate", "outside", "inside", "outside"][
        "note"
    ],
    "compiled_outside": cells["Adam", "inside", "outside", "outside"]["note"],
    "built_outside_adam": cells["Adam", "outside", "inside", "outside"]["note"],
    "built_outside_fit_inside_adam": cells["Adam", "outside", "inside", "inside"][
        "note"
    ],
}


def says(name, places, text):
    """Return whether the cell of this optimizer and these three places starts with `text`."""
    return cells[name, *places.split()]["text"].startswith(text)


counted_per_replica = constant["note"].endswith(f"counted {replicas * steps} steps")
claims = {
    "fit_may_be_outside": all(
        says(n, f"inside inside {f}", "right")
        for n in optimizers
        for f in ("inside", "outside")
    ),
    "compiled_outside_adam_raises": says(
        "Adam", "inside outside outside", "raises RuntimeError"
    ),
    "built_outside_raises": all(
        says(n, "outside inside outside", "raises") for n in optimizers
    ),
    "built_outside_has_no_message": errors["built_outside"] == "AssertionError",
    "compiled_outside_decay_is_wrong_in_silence": replicas == 1
    or says("SGD, decaying rate", "inside outside outside", "wrong"),
    "compiled_outside_counts_a_step_per_replica": counted_per_replica,
    "constant_rate_hides_it": constant["text"] == "right" and counted_per_replica,
    "optimizer_inside_is_enough": optimizer_inside["text"] == "right",
    "naming_the_optimizer_outside_raises": by_name["text"] == "raises RuntimeError",
    "all_outside_uses_one_device": replicas == 1
    or all(
        says(n, "outside outside outside", "right, on one device") for n in optimizers
    ),
    "fit_inside_cures_outside": any(
        says(n, "outside outside inside", "right") for n in optimizers
    ),
}
measures = {
    "replicas": replicas,
    "steps": steps,
    "counted_inside": steps,
    "counted_outside": int(constant["note"].split()[-2]),
}
