# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# alone = true
# ///
"""Seeds and order: what makes a pipeline give the same elements in the same order again, and what does not."""

import tempfile
import time

import tensorflow as tf

# --8<-- [start:seeds]
numbers = tf.data.Dataset.range(8)


def epochs(data, count=2):
    """Return the elements of several epochs of one dataset, a list for each."""
    return [[int(n) for n in data] for _ in range(count)]


seeded = epochs(numbers.shuffle(8, seed=7))
seeded_again = epochs(numbers.shuffle(8, seed=7))
fixed = epochs(numbers.shuffle(8, seed=7, reshuffle_each_iteration=False))
print("seed 7, epoch 1:", seeded[0])
print("seed 7, epoch 2:", seeded[1])
print("made anew, epoch 1:", seeded_again[0])
print("made anew, epoch 2:", seeded_again[1])
print("reshuffle_each_iteration=False:", *fixed)
hundred = tf.data.Dataset.range(100)
unseeded, unseeded_again = (
    epochs(hundred.shuffle(100, reshuffle_each_iteration=False)) for _ in range(2)
)
print("the same without a seed, one order:", unseeded[0] == unseeded[1])
print("made anew, that order again:", unseeded == unseeded_again)
# --8<-- [end:seeds]


# --8<-- [start:global]
def shuffled_twice():
    """Two shuffles without a seed of their own."""
    long = tf.data.Dataset.range(100)
    return epochs(long.shuffle(100), 1), epochs(long.shuffle(100), 1)


free, free_again = shuffled_twice(), shuffled_twice()
tf.random.set_seed(1)
under_seed = shuffled_twice()
first, second = under_seed
tf.random.set_seed(1)
under_seed_again = shuffled_twice()
ABOVE = {
    "tf.zeros([2])": lambda: tf.zeros([2]),
    "tf.random.normal([2], seed=3)": lambda: tf.random.normal([2], seed=3),
    "tf.random.normal([2])": lambda: tf.random.normal([2]),
}
changed = {}
for name, operation in ABOVE.items():
    tf.random.set_seed(1)
    operation()
    changed[name] = shuffled_twice() != under_seed
print("no seed, same order again:", free == free_again)
print("tf.random.set_seed, same order again:", under_seed == under_seed_again)
print("two shuffles under one global seed, same order:", first == second)
for name, changes in changed.items():
    print(f"{name} before them, other orders: {changes}")
# --8<-- [end:global]

# --8<-- [start:split]
data = tf.data.Dataset.range(100)
leaks = {}
for reshuffle in (True, False):
    mixed = data.shuffle(100, seed=3, reshuffle_each_iteration=reshuffle)
    train, test = mixed.skip(20), mixed.take(20)
    leaks[reshuffle] = len({int(n) for n in train} & {int(n) for n in test})
    print(
        f"reshuffle_each_iteration={reshuffle}: rows in both train and test: {leaks[reshuffle]}"
    )
# --8<-- [end:split]

# --8<-- [start:parallel]
SLOW, FAST, CALLS = 0.06, 0.004, 4


def read(n):
    """Stand for a disk or a network: every eighth element takes long. A sleep frees Python's lock."""
    time.sleep(SLOW if n % 8 == 0 else FAST)
    return n


def run(deterministic):
    """Read 64 elements, four at a time; return their order and the seconds it took."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 16
    options.autotune.enabled = False
    data = tf.data.Dataset.range(64).map(
        lambda n: tf.numpy_function(read, [n], tf.int64, stateful=False),
        num_parallel_calls=CALLS,
        deterministic=deterministic,
    )
    start = time.perf_counter()
    return epochs(data.with_options(options), 1)[0], time.perf_counter() - start


def quickest(deterministic):
    """Return the best of three runs: what else the machine does only slows a run down."""
    return min((run(deterministic) for _ in range(3)), key=lambda one: one[1])


in_order, waiting = quickest(deterministic=True)
as_ready, not_waiting = quickest(deterministic=False)
print("deterministic=True, in source order:", in_order == sorted(in_order))
print("deterministic=False, in source order:", as_ready == sorted(as_ready))
print("deterministic=False, same elements:", sorted(as_ready) == in_order)
print(f"seconds, True against False: {waiting / not_waiting:.1f}x")
# --8<-- [end:parallel]


# --8<-- [start:strict]
def calls_at_once():
    """Return how many calls of a numpy_function run at once; it is stateful unless you say otherwise."""
    under_way, counts = [], []

    def count(n):
        under_way.append(n)
        counts.append(len(under_way))
        time.sleep(0.01)
        under_way.remove(n)
        return n

    options = tf.data.Options()
    options.threading.private_threadpool_size = 16
    data = tf.data.Dataset.range(64).map(
        lambda n: tf.numpy_function(count, [n], tf.int64), num_parallel_calls=CALLS
    )
    epochs(data.with_options(options), 1)
    return max(counts)


RANDOM = {
    "shuffle": lambda: list(numbers.shuffle(8)),
    "list_files": lambda: tf.data.Dataset.list_files(tempfile.gettempdir()),
    "uniform in map": lambda: numbers.map(lambda n: tf.random.uniform([])),
}
free_calls = calls_at_once()
tf.random.set_seed(None)
tf.config.experimental.enable_op_determinism()  # for the process: nothing undoes it
strict_calls, refused = calls_at_once(), {}
for name, action in RANDOM.items():
    try:
        action()
    except RuntimeError as error:
        text = str(error)
        refused[name] = f"RuntimeError: {text[text.index('Random ops') :].strip()}"
print("more than one call at once, before:", free_calls > 1)
print("more than one call at once, after:", strict_calls > 1)
print("refused without a seed:", ", ".join(refused))
# --8<-- [end:strict]

claims = {
    "same_seed_same_orders": seeded == seeded_again,
    "seeded_epochs_differ": seeded[0] != seeded[1],
    "reshuffle_off_repeats_the_order": fixed[0] == fixed[1],
    "reshuffle_off_without_a_seed_repeats_the_order": unseeded[0] == unseeded[1],
    "reshuffle_off_without_a_seed_outlives_the_dataset": unseeded == unseeded_again,
    "no_seed_same_order": free == free_again,
    "global_seed_same_order": under_seed == under_seed_again,
    "global_seed_makes_shuffles_equal": first == second,
    "unseeded_random_operation_above_changes_orders": changed["tf.random.normal([2])"],
    "other_operation_above_changes_orders": changed["tf.zeros([2])"]
    or changed["tf.random.normal([2], seed=3)"],
    "op_determinism_refuses_without_a_seed": set(refused) == set(RANDOM)
    and len(set(refused.values())) == 1,
    "op_determinism_keeps_stateful_maps_serial": free_calls > strict_calls == 1,
    "reshuffled_split_leaks": leaks[True] > 0,
    "fixed_split_leaks": leaks[False] > 0,
    "deterministic_keeps_source_order": in_order == list(range(64)),
    "not_deterministic_keeps_source_order": as_ready == list(range(64)),
    "not_deterministic_loses_elements": sorted(as_ready) != list(range(64)),
    "not_waiting_is_faster": waiting > 1.1 * not_waiting,
}
errors = {"no_seed": refused["shuffle"]}
measures = {
    "order_cost_x": waiting / not_waiting,
    "leaked": leaks[True],
    "calls": CALLS,
}
