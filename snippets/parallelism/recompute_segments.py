# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 1
# seconds = 120
# ///
"""How long a recomputed part should be: count the activations that are alive at once."""

# --8<-- [start:chain]
import weakref

import numpy as np
import tensorflow as tf

LAYERS, WIDTH, BATCH = 16, 32, 8
rng = np.random.default_rng(0)
scale = WIDTH**-0.5
weights = [
    tf.Variable(rng.normal(0, scale, (WIDTH, WIDTH)).astype("float32"))
    for _ in range(LAYERS)
]
rows = tf.constant(rng.normal(size=(BATCH, WIDTH)).astype("float32"))
calls, seen, alive = [], [], []


def in_memory():
    """Return how many results of layers are in memory now."""
    return len({number for number, ref in seen if ref() is not None})


def see(values):
    """Note the result of the last call, without keeping it, and how many are there."""
    seen.append((len(calls), weakref.ref(values)))
    alive.append(in_memory())
    return values


def layer(values, weight):
    calls.append(weight)
    return see(tf.tanh(values @ weight))


def part(first, last):
    """Return layers `first` to `last`, without `last`, as one function."""

    def run(values):
        for weight in weights[first:last]:
            values = layer(values, weight)
        return values

    return run


# --8<-- [end:chain]


# --8<-- [start:count]
def step(length):
    """Compute gradients; parts of `length` layers are computed again (0: no part)."""
    for notes in (calls, seen, alive):
        notes.clear()
    with tf.GradientTape() as tape:
        values = rows
        for first in range(0, LAYERS, length or LAYERS):
            run = part(first, first + (length or LAYERS))
            values = see((tf.recompute_grad(run) if length else run)(values))
        loss = tf.reduce_sum(values**2)
        del values
    kept = in_memory()
    return tape.gradient(loss, weights), kept, max(alive), len(calls)


gradients, kept, peak, computed = {}, {}, {}, {}
for length in (0, 1, 2, 4, 8, 16):
    gradients[length], kept[length], peak[length], computed[length] = step(length)
    name = f"parts of {length}" if length else "nothing again"
    print(
        f"{name:14} kept {kept[length]:2}, at most {peak[length]:2} alive, "
        f"{computed[length]} layers computed"
    )
# --8<-- [end:count]

lengths = [length for length in peak if length]
best = min(lengths, key=peak.__getitem__)
same = [
    np.allclose(a, b, atol=1e-5)
    for length in lengths
    for a, b in zip(gradients[0], gradients[length], strict=True)
]
claims = {
    "gradients_are_the_same": all(same),
    "without_all_are_kept": kept[0] == peak[0] == LAYERS,
    "the_end_of_each_part_is_kept": all(kept[k] == LAYERS // k for k in lengths),
    "peak_is_parts_plus_length": all(
        abs(peak[k] - (LAYERS // k + k)) <= 1 for k in lengths
    ),
    "the_square_root_is_best": best == LAYERS**0.5,
    "each_layer_alone_saves_something": peak[1] < peak[0],
    "the_whole_as_one_part_saves_something": peak[LAYERS] < peak[0],
    "every_layer_is_computed_twice": all(computed[k] == 2 * LAYERS for k in lengths),
    "longer_parts_are_computed_more_often": computed[LAYERS] > computed[1],
}
measures = {"layers": LAYERS, "best": best, "best_peak": peak[best]}
figures = {
    "peak": {
        "kind": "lines",
        "title": f"Activations of {LAYERS} layers in memory",
        "xlabel": "layers in a part",
        "ylabel": "at most alive at once",
        "xscale": "log2",
        "markers": True,
        "x": lengths,
        "series": {
            "nothing is computed again": [peak[0]] * len(lengths),
            "each part is computed again": [peak[k] for k in lengths],
        },
    }
}
