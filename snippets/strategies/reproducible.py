# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 240
# ///
"""Which draws and which weights two fresh processes share, with no seed, with seeds and with enforced determinism."""

import hashlib
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# --8<-- [start:train]
import keras
import numpy as np
import tensorflow as tf

x = np.random.default_rng(0).normal(size=(512, 8, 8, 1)).astype("float32")
y = (x[:, :4].sum((1, 2, 3)) > x[:, 4:].sum((1, 2, 3))).astype("int32")  # where is more


def augment(image, label, seed):
    """Change the brightness by a seed that came with the row."""
    return tf.image.stateless_random_brightness(image, 0.2, seed), label


def train():
    """Train a small network for an epoch; return its weights as they are, bit for bit."""
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(2),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    seeds = tf.data.Dataset.random(rerandomize_each_iteration=True).batch(2)
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x))
    data = tf.data.Dataset.zip(data, seeds).map(lambda row, seed: augment(*row, seed))
    model.fit(data.batch(64), epochs=1, verbose=0)
    return b"".join(weight.tobytes() for weight in model.get_weights())


# --8<-- [end:train]

# --8<-- [start:draws]
CLASSES = ["cat", "dog", "cow", "pig", "hen", "fox", "owl", "elk", "bat", "ant"]
DRAWS = {
    "random.random": random.random,
    "np.random.rand": np.random.rand,
    "np.random.default_rng": lambda: np.random.default_rng().random(),
    "tf.random.uniform": lambda: float(tf.random.uniform([])),
    "Dataset.shuffle": lambda: [int(n) for n in tf.data.Dataset.range(50).shuffle(50)],
    "keras.random.uniform": lambda: float(keras.random.uniform(())),
    "kernel of a Dense layer": lambda: np.array(
        keras.layers.Dense(1)(np.ones((1, 9)))
    ).tolist(),
    "order of a set": lambda: list(set(CLASSES)),
    "stateless, seed (1, 2)": lambda: float(tf.random.stateless_uniform([], (1, 2))),
}


def draw():
    """Draw once from each source; an operation that refuses names its error."""
    drawn = {}
    for name, source in DRAWS.items():
        try:
            drawn[name] = source()
        except RuntimeError as error:
            drawn[name] = type(error).__name__
    return drawn


# --8<-- [end:draws]

# --8<-- [start:calls]
NOTHING, TENSORFLOW, KERAS = "no call", "set_seed", "set_random_seed"
STRICT, BOTH = "determinism", "both calls"


def keras_seed():
    keras.utils.set_random_seed(1)


def enforce():
    tf.config.experimental.enable_op_determinism()


CALLS = {
    NOTHING: lambda: None,
    TENSORFLOW: lambda: tf.random.set_seed(1),
    KERAS: keras_seed,
    STRICT: enforce,
    BOTH: lambda: (keras_seed(), enforce()),
}


def run(names):
    """Make each call and draw; for two of them, make it again and train."""
    found = {}
    for name in names:
        CALLS[name]()
        found[name] = draw()
        if name in (NOTHING, BOTH):
            CALLS[name]()
            found[name]["weights"] = hashlib.sha256(train()).hexdigest()
    return found


if "REPRODUCIBLE_CALLS" in os.environ:  # this process was started for one run
    print(json.dumps(run(json.loads(os.environ["REPRODUCIBLE_CALLS"]))))
    raise SystemExit
# --8<-- [end:calls]


# --8<-- [start:twice]
def fresh(names):
    """Run in a fresh process; return what it found."""
    environment = os.environ | {
        "REPRODUCIBLE_CALLS": json.dumps(names),
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",  # two processes, one GPU
    }
    environment.pop("PYTHONHASHSEED", None)
    done = subprocess.run(
        [sys.executable, __file__],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
        timeout=200,
    )
    return json.loads(done.stdout)


# Nothing undoes determinism, so what is drawn without it has processes of its own.
jobs = [[NOTHING, TENSORFLOW, KERAS], [STRICT, BOTH]] * 2
with ThreadPoolExecutor(2) as two_at_once:
    free, strict, free_again, strict_again = two_at_once.map(fresh, jobs)
first, second = free | strict, free_again | strict_again
same_weights = {
    call: first[call]["weights"] == second[call]["weights"] for call in (NOTHING, BOTH)
}
for call, same in same_weights.items():
    print(f"{call}: two processes train to the same bits: {same}")
# --8<-- [end:twice]


# --8<-- [start:order]
def kernels(order, between=lambda: None):
    """Make two layers in an order, after the same seed; return their kernels by name."""
    keras.utils.set_random_seed(1)
    layers = {}
    for name in order:
        layers[name] = keras.layers.Dense(3, name=name)
        between()
    for layer in layers.values():
        layer.build((None, 4))
    return {name: layer.get_weights()[0] for name, layer in layers.items()}


def same(one, other):
    """Compare two pairs of kernels, bit for bit."""
    return all(np.array_equal(one[name], other[name]) for name in one)


reference = kernels("ab")
orders = {
    "a, then b, again": same(reference, kernels("ab")),
    "b, then a": same(reference, kernels("ba")),
    "random.random() between them": same(reference, kernels("ab", random.random)),
    "np.random.rand() between them": same(reference, kernels("ab", np.random.rand)),
}
for name, equal in orders.items():
    print(f"{name}: the kernels of the first run: {equal}")
# --8<-- [end:order]


def verdict(call, source):
    """Say what two runs have of this draw after this call."""
    one, other = first[call][source], second[call][source]
    if one == "RuntimeError":
        return "raises"
    return "repeats" if one == other else "differs"


rows = [[source, *(verdict(call, source) for call in CALLS)] for source in DRAWS]
cells = {row[0]: dict(zip(CALLS, row[1:], strict=True)) for row in rows}
after = {call: {source: cells[source][call] for source in DRAWS} for call in CALLS}
OWN = {"np.random.default_rng", "order of a set"}
STATELESS = "stateless, seed (1, 2)"
claims = {
    "both_calls_same_bits": same_weights[BOTH],
    "no_call_same_bits": same_weights[NOTHING],
    "only_stateless_repeats_without_a_call": {
        source for source, word in after[NOTHING].items() if word == "repeats"
    }
    == {STATELESS},
    "tensorflow_seed_repeats_tensorflow": after[TENSORFLOW]["tf.random.uniform"]
    == after[TENSORFLOW]["Dataset.shuffle"]
    == "repeats",
    "tensorflow_seed_repeats_python_or_numpy": "repeats"
    in (after[TENSORFLOW]["random.random"], after[TENSORFLOW]["np.random.rand"]),
    "tensorflow_seed_repeats_keras_weights": after[TENSORFLOW][
        "kernel of a Dense layer"
    ]
    == "repeats",
    "keras_seed_repeats_all_but_own": all(
        (word == "differs") == (source in OWN) for source, word in after[KERAS].items()
    ),
    "determinism_alone_seeds_nothing": all(
        word != "repeats" or source == STATELESS
        for source, word in after[STRICT].items()
    ),
    "determinism_alone_refuses_tensorflow": after[STRICT]["tf.random.uniform"]
    == "raises",
    "determinism_alone_refuses_keras_weights": after[STRICT]["kernel of a Dense layer"]
    == "raises",
    "both_calls_repeat_all_but_own": after[BOTH] == after[KERAS],
    "same_order_same_kernels": orders["a, then b, again"],
    "other_order_same_kernels": orders["b, then a"],
    "python_draw_between_same_kernels": orders["random.random() between them"],
    "numpy_draw_between_same_kernels": orders["np.random.rand() between them"],
}
tables = {"draws": {"columns": ["draw", *CALLS], "rows": rows}}
