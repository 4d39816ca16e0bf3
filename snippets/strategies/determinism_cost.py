# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# ///
"""What a seed leaves to chance in a parallel map, what enforced determinism does about it, and what that takes."""

import time

import keras
import tensorflow as tf

# --8<-- [start:race]
ROWS, CALLS = 32, 4
options = tf.data.Options()
options.threading.private_threadpool_size = 16


def draws(late, deterministic=None):
    """Let each row draw a number, four at a time; those in `late` are read late."""

    def read(n):
        time.sleep(0.2 if n in late else 0)
        return n

    def row(n):
        n = tf.numpy_function(read, [n], tf.int64)
        with tf.control_dependencies([n]):
            return n, tf.random.uniform([])

    keras.utils.set_random_seed(1)
    data = tf.data.Dataset.range(ROWS)
    data = data.map(row, num_parallel_calls=CALLS, deterministic=deterministic)
    return [(int(n), float(value)) for n, value in data.with_options(options)]


def values(drawn):
    """Return the numbers that were drawn, whichever row got them."""
    return sorted(value for _, value in drawn)


one_run, another_run = draws(late={0, 8, 16}), draws(late={4, 12, 20})
same_numbers = values(one_run) == values(another_run)
print("seed alone: the same numbers in both runs:", same_numbers)
print("seed alone: each row gets its own again:", one_run == another_run)
# --8<-- [end:race]


# --8<-- [start:beside]
class Counted:
    """A stateless step of 10 ms that counts how many of its calls run at once."""

    def __init__(self):
        self.under_way, self.most, self.begun = [], 0, 0

    def call(self, n):
        self.begun += 1
        self.under_way.append(n)
        self.most = max(self.most, len(self.under_way))
        time.sleep(0.01)
        self.under_way.remove(n)
        return n

    def __call__(self, n):
        n = tf.numpy_function(self.call, [n], tf.int64, stateful=False)
        return tf.ensure_shape(n, [])


def python_step(n):
    """Return what came in. TensorFlow cannot know that this keeps no state."""
    return tf.numpy_function(lambda n: n, [n], tf.int64)


table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.range(2, dtype=tf.int64), ["even", "odd"]),
    "",
)
words = keras.layers.StringLookup(vocabulary=["0", "1"])
offset = tf.Variable(1, dtype=tf.int64)
BESIDE = {
    "nothing": lambda n: n,
    "a stateless operation": lambda n: tf.random.stateless_uniform([], [n, 0]),
    "tf.random.uniform": lambda n: tf.random.uniform([]),
    "a numpy_function": python_step,
    "a lookup table": lambda n: table.lookup(n % 2),
    "a keras.layers.StringLookup": lambda n: words(tf.as_string(n)),
    "a tf.Variable": lambda n: n + offset,
}


def at_once(step, beside):
    """Map in parallel, then with another map; return how many calls ran at once."""
    data = tf.data.Dataset.range(ROWS).map(step, num_parallel_calls=CALLS)
    for _ in data.map(beside).with_options(options):
        pass
    return step.most


free = {name: at_once(Counted(), beside) for name, beside in BESIDE.items()}
# --8<-- [end:beside]

# --8<-- [start:inside]
INSIDE = {
    "beside the step": lambda step, n: (step(n), tf.random.uniform([])),
    "on the step's result": lambda step, n: (
        step(n) + tf.random.uniform([], maxval=2, dtype=tf.int64)
    ),
    "as large as the step's result": lambda step, n: tf.random.uniform([step(n)]),
}


def inside(draw):
    """Draw in the map of the step itself; return how many calls ran at once."""
    step = Counted()
    data = tf.data.Dataset.range(ROWS)
    data = data.map(lambda n: draw(step, n), num_parallel_calls=CALLS)
    for _ in data.with_options(options):
        pass
    return step.most


free_inside = {name: inside(draw) for name, draw in INSIDE.items()}


def read_ahead(beside, wait):
    """Ask for one element, wait; return whether `prefetch` has begun another."""
    step = Counted()
    data = tf.data.Dataset.range(ROWS).map(step).prefetch(8).map(beside)
    settled = tf.data.Options()
    settled.autotune.enabled = False  # nothing else reads ahead
    elements = iter(data.with_options(settled))
    next(elements)
    until = time.monotonic() + wait
    while step.begun < 2 and time.monotonic() < until:
        time.sleep(0.01)
    return step.begun > 1


def seconds(beside):
    """Time the pipeline. The best of three: what else runs only slows it down."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        at_once(Counted(), beside)
        times.append(time.perf_counter() - start)
    return min(times)


ahead, quick = read_ahead(python_step, wait=20), seconds(python_step)
# --8<-- [end:inside]

# --8<-- [start:strict]
keras.utils.set_random_seed(1)
tf.config.experimental.enable_op_determinism()
one_strict, another_strict = draws(late={0, 8, 16}), draws(late={4, 12, 20})
overridden = draws(late={0, 8, 16}, deterministic=False)
print("both calls: each row gets its own again:", one_strict == another_strict)
print("deterministic=False changes that:", overridden != one_strict)
strict = {name: at_once(Counted(), beside) for name, beside in BESIDE.items()}
strict_inside = {name: inside(draw) for name, draw in INSIDE.items()}
strict_ahead, slow = read_ahead(python_step, wait=0.5), seconds(python_step)
print("prefetch reads ahead, before:", ahead)
print("prefetch reads ahead, beside a numpy_function, after:", strict_ahead)
# --8<-- [end:strict]


def several(most):
    """Say how many calls ran at once."""
    return "several" if most > 1 else "one"


rows = [
    ["another map", name, several(free[name]), several(strict[name])] for name in BESIDE
] + [
    [
        "the same map",
        f"tf.random.uniform, {name}",
        several(free_inside[name]),
        several(strict_inside[name]),
    ]
    for name in INSIDE
]
serial = {name for name, most in strict.items() if most == 1}
claims = {
    "seed_alone_draws_the_same_numbers": same_numbers and len(set(one_run)) == ROWS,
    "seed_alone_gives_rows_the_same_numbers": one_run == another_run,
    "both_calls_give_rows_the_same_numbers": one_strict == another_strict
    and len(set(values(one_strict))) == ROWS,
    "deterministic_false_is_obeyed": overridden != one_strict,
    "all_parallel_before": min([*free.values(), *free_inside.values()]) > 1,
    "python_table_and_variable_make_others_serial": serial
    == {
        "a numpy_function",
        "a lookup table",
        "a keras.layers.StringLookup",
        "a tf.Variable",
    },
    "random_operation_makes_others_serial": "tf.random.uniform" in serial,
    "random_operation_makes_its_map_serial": strict_inside["beside the step"] == 1,
    "random_operation_makes_what_it_needs_serial": strict_inside[
        "as large as the step's result"
    ]
    == 1,
    "prefetch_reads_ahead_before": ahead,
    "prefetch_reads_ahead_after": strict_ahead,
}
measures = {"slower_x": slow / quick, "calls": CALLS}
tables = {
    "at_once": {
        "columns": ["where", "what", "calls at once, before", "calls at once, after"],
        "rows": rows,
    }
}
