# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 1
# seconds = 120
# ///
"""What goes wrong inside tf.recompute_grad: `training` and casts are forgotten, masks drawn anew, gradients missing."""

# --8<-- [start:training]
import keras
import numpy as np
import tensorflow as tf

WIDTH, BATCH = 16, 24
x = np.random.default_rng(0).normal(2, 3, size=(BATCH, WIDTH)).astype("float32")
y = x[:, :1]
told = []


class Spy(keras.layers.Layer):
    """Note whether `training` is on."""

    def call(self, rows, training=False):
        told.append("training" if training else "inference")
        return rows


class Normalised(keras.layers.Layer):
    """Batch normalisation, in a part that is computed again or not."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.norm = keras.layers.BatchNormalization(momentum=0.9)
        self.spy = Spy()

    def build(self, shape):
        self.norm.build(shape)

    def inner(self, rows, **options):
        return self.spy(self.norm(rows, **options), **options)

    def call(self, rows, training=None):
        ways = {
            "plain": self.inner,
            "recomputed": tf.recompute_grad(self.inner),
            "training passed": tf.recompute_grad(
                lambda rows: self.inner(rows, training=training)
            ),
        }
        return ways[self.way](rows)


weights, ran, moved = {}, {}, {}
for way in ("plain", "recomputed", "training passed"):
    keras.utils.set_random_seed(1)
    part = Normalised(way)
    model = keras.Sequential([keras.Input((WIDTH,)), part, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    told.clear()
    model.fit(x, y, batch_size=BATCH, verbose=0)
    ran[way] = tuple(told)
    weights[way] = np.concatenate(
        [v.numpy().ravel() for v in model.trainable_variables]
    )
    moved[way] = float(part.norm.moving_mean[0])
    same = np.allclose(weights[way], weights["plain"], atol=1e-5)
    print(f"{way:16} {ran[way]}", end=" ")
    print(f"weights right: {same}, moving mean {moved[way] / moved['plain']:.1f} times")
# --8<-- [end:training]


# --8<-- [start:dropout]
def right(block, graph):
    """Is the gradient right? For an input of ones, it and the output are the mask of dropout."""
    ones = tf.ones((BATCH, WIDTH))

    def step():
        with tf.GradientTape() as tape:
            tape.watch(ones)
            output = block(ones)
        return output, tape.gradient(output, ones)

    output, gradient = (tf.function(step) if graph else step)()
    return bool(np.array_equal(output, gradient))


layer = keras.layers.Dropout(0.5)
seeds = keras.random.SeedGenerator(1)
with_seed = tf.recompute_grad(
    lambda rows, seed: tf.nn.experimental.stateless_dropout(rows, 0.5, seed)
)
blocks = {
    "keras.layers.Dropout": tf.recompute_grad(lambda rows: layer(rows, training=True)),
    "tf.nn.dropout": tf.recompute_grad(lambda rows: tf.nn.dropout(rows, 0.5)),
    "stateless_dropout, seed passed in": lambda rows: with_seed(rows, seeds.next()),
}
is_right = {}
for name, block in blocks.items():
    is_right[name] = {right(block, graph) for graph in (False, True)}
    print(f"{name:34} gradient right: {all(is_right[name])}")
# --8<-- [end:dropout]

# --8<-- [start:arguments]
rows = tf.ones((2, 3))
weight = tf.Variable(3.0)
keep = rows > 0


def from_outside():
    factor = 2 * weight
    return tf.recompute_grad(lambda rows: rows * factor)(rows)


def by_position():
    return tf.recompute_grad(lambda rows, factor: rows * factor)(rows, 2 * weight)


def by_keyword():
    return tf.recompute_grad(lambda rows, factor: rows * factor)(
        rows, factor=2 * weight
    )


def bool_by_position():
    return tf.recompute_grad(lambda rows, keep: tf.where(keep, weight * rows, 0.0))(
        rows, keep
    )


def bool_from_outside():
    return tf.recompute_grad(lambda rows: tf.where(keep, weight * rows, 0.0))(rows)


def gradient_of(part, compiled):
    """Return the gradient of the weight, or the error."""

    def step():
        with tf.GradientTape() as tape:
            output = part()
        return tape.gradient(output, weight)

    try:
        gradient = (tf.function(step) if compiled else step)()
    except (TypeError, ValueError) as error:
        return error
    return None if gradient is None else float(gradient)


got = {}
parts = [from_outside, by_position, by_keyword, bool_by_position, bool_from_outside]
for part in parts:
    name = part.__name__
    got[name] = [gradient_of(part, compiled) for compiled in (False, True)]
    shown = [type(g).__name__ if isinstance(g, Exception) else g for g in got[name]]
    print("{:18} eager: {}, compiled: {}".format(name, *shown))
# --8<-- [end:arguments]


# --8<-- [start:added]
class Added(keras.layers.Layer):
    """A layer in a part, and a loss that is added inside it, outside it, or by an option of the layer."""

    def __init__(self, again, where, options):
        super().__init__()
        self.again, self.where = again, where
        self.dense = keras.layers.Dense(8, "tanh", **options)

    def build(self, shape):
        self.dense.build(shape)

    def inner(self, rows):
        hidden = self.dense(rows)
        size = tf.reduce_mean(hidden**2)
        if self.where == "inside":
            self.add_loss(size)
        return hidden, size

    def call(self, rows):
        inner = tf.recompute_grad(self.inner) if self.again else self.inner
        hidden, size = inner(rows)
        if self.where == "outside":
            self.add_loss(size)
        return hidden


L2 = keras.regularizers.L2(1.0)
ways = {
    "add_loss inside": ("inside", {}),
    "activity_regularizer": ("option", {"activity_regularizer": L2}),
    "add_loss outside": ("outside", {}),
    "kernel_regularizer": ("option", {"kernel_regularizer": L2}),
}
same = {}
for name, way in ways.items():
    ends = []
    for again in (False, True):
        keras.utils.set_random_seed(1)
        layers = [Added(again, *way), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((WIDTH,)), *layers])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        losses = model.fit(x, y, batch_size=BATCH, verbose=0).history["loss"]
        ends.append((losses[0], layers[0].dense.kernel.numpy()))
    same[name] = [
        bool(np.allclose(a, b, atol=1e-4)) for a, b in zip(*ends, strict=True)
    ]
    print("{:21} same loss: {}, same weights: {}".format(name, *same[name]))
# --8<-- [end:added]


# --8<-- [start:mixed]
class Own(keras.layers.Layer):
    """A part that reads a weight of its own."""

    def __init__(self, way, policy):
        super().__init__(dtype=policy)
        self.way = way
        self.dense = keras.layers.Dense(8, use_bias=False, dtype=policy)

    def build(self, shape):
        self.dense.build(shape)
        self.kernel = self.add_weight(shape=(shape[-1], 8))
        self.kernel.assign(self.dense.kernel)

    def inner(self, rows):
        if self.way == "Dense":
            return keras.ops.tanh(self.dense(rows))
        kernel = self.kernel
        if self.way == "cast":
            kernel = keras.ops.cast(kernel, self.compute_dtype)
        return keras.ops.tanh(keras.ops.matmul(rows, kernel))

    def call(self, rows):
        again = self.way != "plain"
        return (tf.recompute_grad(self.inner) if again else self.inner)(rows)


def own_gradient(way, policy):
    """Return the gradient of the weight, or the error."""
    keras.utils.set_random_seed(1)
    part = Own(way, policy)
    part.build(x.shape)
    read = (part.dense.kernel if way == "Dense" else part.kernel).value

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            output = part(x / WIDTH)
        return tape.gradient(output, read)

    try:
        return step().numpy()
    except TypeError as error:
        return error


mixed = {}
for policy in ("mixed_bfloat16", "mixed_float16"):
    plain = own_gradient("plain", policy)
    for way in ("not cast", "cast", "Dense"):
        found = own_gradient(way, policy)
        if not isinstance(found, TypeError):
            found = bool(np.allclose(found, plain, rtol=0.05, atol=0.05))
        mixed[policy, way] = found
        shown = f"gradient right: {found}" if isinstance(found, bool) else "TypeError"
        print(f"{policy:14}  {way:8}  {shown}")
# --8<-- [end:mixed]


draws = is_right["keras.layers.Dropout"] | is_right["tf.nn.dropout"]
claims = {
    "plain_runs_once_in_training": ran["plain"] == ("training",),
    "training_is_forgotten_on_the_way_back": ran["recomputed"]
    == ("training", "inference"),
    "forgotten_training_is_wrong": not np.allclose(
        weights["recomputed"], weights["plain"], atol=1e-2
    ),
    "forgotten_training_moves_averages_once": np.isclose(
        moved["recomputed"], moved["plain"]
    ),
    "training_passed_stays": ran["training passed"] == ("training", "training"),
    "training_passed_is_right": np.allclose(
        weights["training passed"], weights["plain"], atol=1e-5
    ),
    "moving_averages_move_twice": np.isclose(
        moved["training passed"] / moved["plain"], 1.9, atol=1e-3
    ),
    "dropout_inside_is_wrong": draws == {False},
    "a_seed_passed_in_is_right": is_right["stateless_dropout, seed passed in"]
    == {True},
    "from_outside_has_no_gradient": got["from_outside"] == [None, None],
    "by_position_has_the_right_one": got["by_position"] == [12.0, 12.0],
    "by_keyword_has_none": got["by_keyword"][0] is None
    and "only when eager execution is enabled" in str(got["by_keyword"][1]),
    "a_bool_fails_in_a_compiled_step": got["bool_by_position"][0] == 6.0
    and isinstance(got["bool_by_position"][1], TypeError),
    "a_bool_from_outside_is_right": got["bool_from_outside"] == [6.0, 6.0],
    "a_loss_added_inside_is_counted_and_not_trained": same["add_loss inside"]
    == same["activity_regularizer"]
    == [True, False],
    "a_loss_added_outside_is_trained": same["add_loss outside"] == [True, True],
    "regularised_weights_are_trained": same["kernel_regularizer"] == [True, True],
    "an_own_weight_fails_in_mixed_precision": all(
        isinstance(mixed[policy, "not cast"], TypeError)
        for policy in ("mixed_bfloat16", "mixed_float16")
    ),
    "cast_it_is_right": all(
        mixed[policy, way]
        for policy in ("mixed_bfloat16", "mixed_float16")
        for way in ("cast", "Dense")
    ),
}
claims = {name: bool(value) for name, value in claims.items()}
refusal = str(got["bool_by_position"][1])
refusal = refusal[refusal.index("Value passed") :].partition(" not in list")[0]
untyped = str(mixed["mixed_bfloat16", "not cast"])
untyped = untyped[untyped.index("Input 'dy'") :].strip()
errors = {"bool": f"TypeError: {refusal}", "mixed": f"TypeError: {untyped}"}
