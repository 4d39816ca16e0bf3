# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""Compute activations again on the way back: fewer are kept, the weights are the same."""

# --8<-- [start:block]
import functools
import re
import weakref

import keras
import numpy as np
import tensorflow as tf

WIDTH, HIDDEN, BLOCKS, BATCH = 16, 64, 4, 24
made = []


def tanh(values):
    """Note each result, without keeping it."""
    result = tf.tanh(values)
    made.append(weakref.ref(result))
    return result


class Block(keras.layers.Layer):
    """Two dense layers; with `recompute` only their input is kept for the backward pass."""

    def __init__(self, recompute):
        super().__init__()
        self.recompute = recompute
        self.wide = keras.layers.Dense(HIDDEN, tanh)
        self.narrow = keras.layers.Dense(WIDTH)

    def build(self, shape):
        self.wide.build(shape)
        self.narrow.build((*shape[:-1], HIDDEN))

    def inner(self, rows):
        return rows + self.narrow(self.wide(rows))

    def call(self, rows):
        inner = tf.recompute_grad(self.inner) if self.recompute else self.inner
        return inner(rows)


def build(recompute):
    keras.utils.set_random_seed(1)
    blocks = [Block(recompute) for _ in range(BLOCKS)]
    return keras.Sequential([keras.Input((WIDTH,)), *blocks, keras.layers.Dense(1)])


# --8<-- [end:block]

# --8<-- [start:keep]
rng = np.random.default_rng(0)
x = rng.normal(size=(4 * BATCH, WIDTH)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))


def passes(model):
    """Return the bytes of hidden activations that are kept, how many were computed in each pass, and the gradients."""
    made.clear()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(tf.constant(x[:BATCH])) ** 2)
    forward, alive = len(made), [ref() for ref in made]
    kept = sum(tensor.numpy().nbytes for tensor in alive if tensor is not None)
    variables = [variable.value for variable in model.trainable_variables]
    gradients = tape.gradient(loss, variables)
    return kept, (forward, len(made) - forward), gradients


kept, computed, gradients = {}, {}, {}
for mode, recompute in {"plain": False, "recomputed": True}.items():
    kept[mode], computed[mode], gradients[mode] = passes(build(recompute))
    print(f"{mode:11} {kept[mode]:6,} bytes of hidden activations kept;", end=" ")
    print("computed forward: {}, on the way back: {}".format(*computed[mode]))
# --8<-- [end:keep]

# --8<-- [start:fit]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
places = {
    "one device": tf.distribute.get_strategy(),
    "MirroredStrategy": tf.distribute.MirroredStrategy([d.name for d in devices]),
}


def fit(place, recompute):
    with place.scope():
        model = build(recompute)
        # A norm of all gradients: no weight changes before all are there.
        model.compile(keras.optimizers.SGD(0.01, global_clipnorm=2.0**20), "mse")
    model.fit(x, y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    return np.concatenate([weight.ravel() for weight in model.get_weights()])


plain = fit(places["one device"], recompute=False)
apart = {}
for name, place in places.items():
    apart[name] = float(np.abs(fit(place, recompute=True) - plain).max())
    print(f"{name:16} {apart[name]:.4f} from the weights without")
# --8<-- [end:fit]


# --8<-- [start:scope]
def dense():
    layers = [keras.layers.Dense(HIDDEN, tanh, name=f"dense_{i}") for i in range(2)]
    return keras.Sequential([keras.Input((WIDTH,)), *layers, keras.layers.Dense(1)])


refused = {}
for mode in ("full", "list_of_layers", "larger_than", "activations"):
    options = {"layer_names": ["dense_0"], "output_size_threshold": 8}
    with keras.RematScope(mode, **options):
        model = dense()
    try:
        model.compile(keras.optimizers.SGD(0.01), "mse")
        model.fit(x, y, batch_size=BATCH, verbose=0)
        print(f"{mode:15} trains")
    except ValueError as error:
        text = str(error)[str(error).index("The custom") :].partition("\x1b")[0]
        refused[mode] = f"ValueError: {text}"
        print(f"{mode:15} ValueError")
with keras.RematScope("list_of_layers", layer_names=["conv"]):
    pixels = [keras.Input((8, 8, 1)), keras.layers.Conv2D(2, 3, name="conv")]
    conv = keras.Sequential([*pixels, keras.layers.Flatten(), keras.layers.Dense(1)])
conv.compile(keras.optimizers.SGD(0.01), "mse")
conv.fit(np.zeros((8, 8, 8, 1)), np.zeros((8, 1)), verbose=0)
print("a convolution in list_of_layers trains")
kept["dense"], computed["dense"], _ = passes(dense())
kept["activations"], computed["activations"], _ = passes(model)
print(f"kept without: {kept['dense']:,} bytes, computed {sum(computed['dense'])} times")
print(
    f"'activations': {kept['activations']:,} bytes, {sum(computed['activations'])} times"
)
# --8<-- [end:scope]


def step(model):
    """Return the gradients, as a training step does."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(tf.constant(x[:BATCH])) ** 2)
    return tape.gradient(loss, [v.value for v in model.trainable_variables])


# Counted in the traced graph, and in the program that XLA makes of it, after it has merged what is computed twice.
in_graph, in_xla = [], []
for recompute in (False, True):
    model = build(recompute)
    compiled = tf.function(functools.partial(step, model), jit_compile=True)
    nodes = compiled.get_concrete_function().graph.get_operations()
    in_graph.append(sum(node.type == "Tanh" for node in nodes))
    hlo = compiled.experimental_get_compiler_ir()(stage="optimized_hlo")
    in_xla.append(len(re.findall(r" tanh\(", hlo)))

pairs = zip(gradients["plain"], gradients["recomputed"], strict=True)
claims = {
    "gradients_are_the_same": all(np.allclose(a, b, atol=1e-6) for a, b in pairs),
    "same_weights_under_fit": max(apart.values()) < 1e-5,
    "hidden_activations_are_kept": kept["plain"] == 4 * BATCH * HIDDEN * BLOCKS,
    "recomputed_ones_are_not": kept["recomputed"] == 0,
    "without_it_nothing_is_computed_again": computed["plain"] == (BLOCKS, 0),
    "every_block_is_computed_again": computed["recomputed"] == (BLOCKS, BLOCKS),
    "a_compiled_step_computes_them_again_too": in_graph == [BLOCKS, 2 * BLOCKS],
    "xla_computes_them_again_too": in_xla == [BLOCKS, 2 * BLOCKS],
    "remat_scope_raises": set(refused) == {"full", "list_of_layers", "larger_than"},
    "activations_mode_keeps_as_much": kept["activations"] == kept["dense"] > 0
    and computed["activations"] == (2, 2),
}
errors = {"remat_scope": refused["full"]}
measures = {"blocks": BLOCKS, "kept": kept["plain"], "devices": len(devices)}
