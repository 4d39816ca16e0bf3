# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Feed `fit` from a `PyDataset` or a generator: which batches come, and how many are made at once."""

# --8<-- [start:first]
import ctypes
import threading
import time
import warnings

import keras
import numpy as np
import tensorflow as tf

x = np.arange(32, dtype="float32")[:, None]
y = 2 * x


class Rows(keras.utils.PyDataset):
    """Four batches of eight rows; it notes which were asked for."""

    def __init__(self, **options):
        super().__init__(**options)  # workers, use_multiprocessing, max_queue_size
        self.asked = []

    def __len__(self):
        return 4

    def __getitem__(self, n):
        self.asked.append(n)
        return x[8 * n : 8 * n + 8], y[8 * n : 8 * n + 8]


def compiled():
    """Return a small model that knows its input."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e-4), "mse")
    return model


class Steps(keras.callbacks.Callback):
    """Count the steps of each epoch."""

    def __init__(self):
        super().__init__()
        self.taken = []

    def on_epoch_begin(self, epoch, logs=None):
        self.taken.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.taken[-1] += 1


rows, steps = Rows(), Steps()
compiled().fit(rows, epochs=2, shuffle=False, verbose=0, callbacks=[steps])
print("steps of each epoch:", steps.taken)
print("batches asked for:", rows.asked)
# --8<-- [end:first]


# --8<-- [start:at_once]
class Slow(Rows):
    """Twelve batches that take their time; it notes how many are made at once."""

    def __init__(self, make, **options):
        super().__init__(**options)
        self.make, self.lock, self.running, self.most = make, threading.Lock(), 0, 0

    def __len__(self):
        return 12

    def __getitem__(self, n):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.make()
        with self.lock:
            self.running -= 1
        return x[:8], y[:8]


def wait():
    """Wait as for a disk or another machine, with Python's lock free."""
    time.sleep(0.1)


at_once = {}
for workers in (1, 4):
    slow = Slow(wait, workers=workers)
    compiled().fit(slow, verbose=0)
    at_once[workers] = slow.most
    print(f"workers={workers}: several made at once: {slow.most > 1}")
# --8<-- [end:at_once]


# --8<-- [start:lock]
usleep = ctypes.PyDLL(None).usleep  # PyDLL keeps Python's lock during the call
HELD = 0.05  # seconds


def hold():
    """Take as long as a Python loop would, in which nothing else in Python can run."""
    spans.append([time.perf_counter()])
    usleep(int(1_000_000 * HELD))
    spans[-1].append(time.perf_counter())


spans = []
compiled().fit(Slow(hold, workers=4), verbose=0)
moments = [moment for span in spans for moment in span]
seconds = max(moments) - min(moments)
in_turn = seconds >= 0.99 * HELD * len(spans)
print("4 workers, calls that hold the lock take turns:", in_turn)
# --8<-- [end:lock]

# --8<-- [start:short]
short = Steps()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    compiled().fit(Rows(), epochs=4, steps_per_epoch=3, verbose=0, callbacks=[short])
ran_out = [str(one.message) for one in said if "ran out of data" in str(one.message)]
print("4 batches, steps_per_epoch=3:", short.taken)


def generate():
    for n in range(4):
        yield x[8 * n : 8 * n + 8], y[8 * n : 8 * n + 8]


once = Steps()
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    compiled().fit(generate(), epochs=3, verbose=0, callbacks=[once])
print("a generator of 4 batches, 3 epochs:", once.taken)
# --8<-- [end:short]


# --8<-- [start:strategy]
EPOCHS = 12


class Numbered(keras.utils.PyDataset):
    """Twelve batches: batch `n` uses weight `n`, and one for the epoch it was made in."""

    made_in = 0

    def __len__(self):
        return 12

    def on_epoch_end(self):  # Keras calls it once before the first epoch too
        self.made_in += 1

    def __getitem__(self, n):
        row = np.zeros((1, 12 + EPOCHS + 1), "float32")
        row[:, [n, 12 + self.made_in]] = 1
        return row, np.zeros((1, 1), "float32")


def trained(place, workers):
    """Return for each epoch how often it trains on each batch, and how many of its batches are older than it is."""
    with place.scope():
        dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = keras.Sequential([keras.Input((12 + EPOCHS + 1,)), dense])
        # Each batch lowers its weights by 1.
        model.compile(keras.optimizers.SGD(1.0), lambda y, output: output)
    found = [np.zeros(12 + EPOCHS + 1)]
    note = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: found.append(-model.get_weights()[0][:, 0])
    )
    model.fit(Numbered(workers=workers), epochs=EPOCHS, verbose=0, callbacks=[note])
    times = np.diff(found, axis=0)
    older = [int(t[12 : 13 + epoch].sum()) for epoch, t in enumerate(times)]
    return times[:, :12], older


devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
one_device = tf.distribute.OneDeviceStrategy(devices[0].name)
times, older = {}, {}
for name, place in (("none", tf.distribute.get_strategy()), ("one device", one_device)):
    for workers in (1, 4):
        key = name, workers
        times[key], older[key] = trained(place, workers)
        print(f"strategy: {name}, {workers=}: each batch once in every epoch:", end=" ")
        print(bool((times[key] == 1).all()))
# --8<-- [end:strategy]


class NoInit(Rows):
    def __init__(self):
        self.asked = []


class NoTuple(Rows):
    def __getitem__(self, n):
        return {1, 2}


errors = {}
for name, make, options in (
    ("workers_of_fit", Rows, {"workers": 4, "use_multiprocessing": True}),
    ("no_tuple", NoTuple, {}),
):
    try:
        compiled().fit(make(), verbose=0, **options)
    except (TypeError, ValueError) as error:
        text = str(error).split(" Received:")[0].split(". Did you mean")[0]
        errors[name] = f"{type(error).__name__}: {text}"
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    compiled().fit(NoInit(), verbose=0)
for one in said:
    if "super().__init__" in str(one.message):
        text = str(one.message).split(" `**kwargs` can")[0]
        errors["no_super"] = f"{type(one.message).__name__}: {text}"
claims = {
    "a_py_dataset_starts_again_each_epoch": steps.taken == [4, 4],
    "the_first_two_batches_are_made_once_more": rows.asked
    == [0, 1, 0, 1, 2, 3, 0, 1, 2, 3],
    "one_worker_makes_one_at_a_time": at_once[1] == 1,
    "threads_wait_together": 1 < at_once[4] <= 4,
    "holding_calls_take_turns": in_turn,
    "fit_takes_workers": "workers_of_fit" not in errors,
    "steps_per_epoch_goes_on": short.taken == [3, 1, 3, 1],
    "running_out_warns": bool(ran_out),
    "a_generator_ends_with_the_first_epoch": once.taken[1:] == [0, 0],
    "later_epochs_get_its_first_two_batches": once.taken == [4, 2, 2],
    "without_a_strategy_threads_are_right": bool((times["none", 4] == 1).all()),
    "one_worker_is_right_under_a_strategy": bool((times["one device", 1] == 1).all()),
    "threads_lose_batches_under_a_strategy": bool((times["one device", 4] == 0).any()),
    "threads_repeat_batches_under_a_strategy": bool((times["one device", 4] > 1).any()),
    "epochs_get_batches_of_the_one_before": any(older["one device", 4]),
    "without_a_strategy_all_batches_are_new": not any(older["none", 4]),
}
