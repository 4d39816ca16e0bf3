# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Look at the graph that runs: is each weight read again before it is updated?"""

# --8<-- [start:step]
import keras
import numpy as np
import tensorflow as tf

# The public way, tf.summary.trace_export, writes these graphs to a file.
from tensorflow.python.eager import context

BLOCKS, WIDTH = 4, 16


class Block(keras.layers.Layer):
    """Two dense layers; with `recompute` only their input is kept for the way back."""

    def __init__(self, recompute):
        super().__init__()
        self.recompute = recompute
        self.wide = keras.layers.Dense(4 * WIDTH, "tanh")
        self.narrow = keras.layers.Dense(WIDTH)

    def build(self, shape):
        self.wide.build(shape)
        self.narrow.build((*shape[:-1], 4 * WIDTH))

    def inner(self, rows):
        return rows + self.narrow(self.wide(rows))

    def call(self, rows):
        return (tf.recompute_grad(self.inner) if self.recompute else self.inner)(rows)


def build(recompute):
    keras.utils.set_random_seed(1)
    blocks = [Block(recompute) for _ in range(BLOCKS)]
    return keras.Sequential([keras.Input((WIDTH,)), *blocks, keras.layers.Dense(1)])


def step_of(model, optimizer, wait):
    """Return a compiled step; with `wait` no weight changes before all gradients are there."""
    weights = model.trainable_variables
    optimizer.build(weights)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, [weight.value for weight in weights])
        if wait:
            with tf.control_dependencies(gradients):
                gradients = [tf.identity(gradient) for gradient in gradients]
        optimizer.apply(gradients, weights)
        return loss

    return step


# --8<-- [end:step]

# --8<-- [start:look]
x = np.random.default_rng(0).normal(size=(24, WIDTH)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))


def before(nodes, name):
    """Return all that must have run before this node does."""
    seen, open_ends = set(), [name]
    while open_ends:
        inputs = nodes[open_ends.pop()].input
        new = {text.lstrip("^").split(":")[0] for text in inputs} & {*nodes} - seen
        seen |= new
        open_ends += new
    return seen


def unordered(graph):
    """Count the reads of a weight that may run before its update or after it."""
    nodes = {node.name: node for node in graph.node}
    reads = [node for node in graph.node if node.op == "ReadVariableOp"]
    updates = [node for node in graph.node if node.op.startswith("Assign")]
    return sum(
        read.input[0] == update.input[0]
        and read.name not in before(nodes, update.name)
        and update.name not in before(nodes, read.name)
        for update in updates
        for read in reads
    )


def look(train):
    """Return what is unordered in the graphs that training runs: as traced, and as run."""
    context.enable_graph_collection()
    train()
    graphs = context.export_run_metadata().function_graphs
    context.disable_graph_collection()
    return [
        sum(unordered(getattr(graph, which)) for graph in graphs)
        for which in ("pre_optimization_graph", "post_optimization_graph")
    ]


def case(recompute, wait=False, **options):
    model = build(recompute)
    step = step_of(model, keras.optimizers.SGD(0.01, **options), wait)
    return look(lambda: step(x, y))


def by_fit():
    model = build(recompute=True)
    model.compile(keras.optimizers.SGD(0.01), "mse")
    return look(lambda: model.fit(x, y, batch_size=len(x), verbose=0))


found = {
    "nothing is recomputed": case(recompute=False),
    "recomputed": case(recompute=True),
    "recomputed, in fit": by_fit(),
    "recomputed, all gradients first": case(recompute=True, wait=True),
    "recomputed, global_clipnorm": case(recompute=True, global_clipnorm=2.0**20),
}
for name, (traced, run) in found.items():
    print(f"{name:32} unordered as traced: {traced}, as run: {run}")
# --8<-- [end:look]

claims = {
    "traced_in_order": all(traced == 0 for traced, _ in found.values()),
    "without_recomputing_in_order": found["nothing is recomputed"][1] == 0,
    "recomputed_reads_lose_their_order": found["recomputed"][1] > 0,
    "fit_loses_it_too": found["recomputed, in fit"][1] > 0,
    "waiting_for_all_gradients_cures": found["recomputed, all gradients first"][1] == 0,
    "global_clipnorm_cures": found["recomputed, global_clipnorm"][1] == 0,
}
measures = {"unordered": found["recomputed"][1]}
