# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# ///
"""Which rows two workers get from a generator, and from files that a map reads: both are cut after reading."""

import contextlib
import json
import multiprocessing
import os
import pathlib
import signal
import socket
import sys
import tempfile

import numpy as np
import tensorflow as tf


# --8<-- [start:cluster]
class Cluster(contextlib.ExitStack):
    """Processes on this machine that find each other through TF_CONFIG.

    None of them outlives the `with` block.
    """

    def __init__(self, **jobs):
        super().__init__()
        self.spec = {
            job: [f"127.0.0.1:{self.port()}" for _ in range(count)]
            for job, count in jobs.items()
        }

    def port(self):
        """Return a free port that no other program gets until the `with` ends."""
        holder = self.enter_context(socket.socket())
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        if sys.platform != "linux":  # elsewhere no task could bind it
            holder.close()
        return port

    def start(self, job, index, work, *args, config=None):
        """Fork a process that runs `work(say, *args)` as this task.

        The parent must not have run any operation.
        """
        task = {"type": job, "index": index}
        config = config or json.dumps({"cluster": self.spec, "task": task})
        fork = multiprocessing.get_context("fork")
        ear, mouth = fork.Pipe(duplex=False)
        args = (config, mouth.send, work, args)
        task = fork.Process(target=self.run, args=args, daemon=True)
        task.start()
        mouth.close()
        self.callback(task.join)  # the last callback runs first: kill, then join
        self.callback(task.kill)
        task.name, task.ear = f"{job} {index}", ear
        return task

    def run(self, config, send, work, args):
        # The kernel ends this process in time, even if the parent is gone.
        signal.alarm(600)
        os.environ["TF_CONFIG"] = config
        # Tasks on one machine cannot share its GPU.
        tf.config.set_visible_devices([], "GPU")
        try:
            send(("done", work(lambda value: send(("said", value)), *args)))
            # Others may still read from this task: it stays until the `with` ends.
            signal.pause()
        except BaseException as error:
            send(("failed", f"{type(error).__name__}: {error}"))
        os._exit(1)

    def hear(self, task, seconds=120):
        """Return what the task says next, and what kind of word that is.

        The kinds are "said", "done", "failed", "died" and "silent".
        """
        try:
            return task.ear.recv() if task.ear.poll(seconds) else ("silent", None)
        except EOFError:
            return "died", None

    def result(self, task, seconds=120):
        """Return what `work` returned; raise what went wrong instead."""
        kind, value = self.hear(task, seconds)
        if kind != "done":
            raise RuntimeError(f"{task.name} {kind}: {value}")
        return value


# --8<-- [end:cluster]

# --8<-- [start:generator]
ROWS, BATCH, EPOCHS = 24, 8, 2
made = []  # what the generator of this process has made


def rows(order, first=0, step=1):
    """Yield every `step`-th row, in an order drawn anew in each epoch."""
    for row in order.permutation(np.arange(first, ROWS, step)):
        made.append(int(row))
        yield row


def dataset(order, *part):
    """Return the rows of the generator, as a dataset."""
    return tf.data.Dataset.from_generator(
        lambda: rows(order, *part),
        output_signature=tf.TensorSpec([], tf.int64),
    )


def sharded(order):
    """Return a function that makes a generator of this worker's rows only."""

    def own_part(worker):
        part = dataset(order, worker.input_pipeline_id, worker.num_input_pipelines)
        return part.batch(worker.get_per_replica_batch_size(BATCH))

    return own_part


# --8<-- [end:generator]


# --8<-- [start:work]
def epochs(strategy, data):
    """Return the rows that this worker got in each epoch."""
    return [
        [
            int(row)
            for batch in data
            for part in strategy.experimental_local_results(batch)
            for row in part
        ]
        for _ in range(EPOCHS)
    ]


def work(say, paths):
    """Run in every worker: two epochs of each case; return rows, and how many it made."""
    strategy, found = tf.distribute.MultiWorkerMirroredStrategy(), {}
    whole = strategy.experimental_distribute_dataset
    share = strategy.distribute_datasets_from_function
    no_seed, seed = np.random.default_rng, lambda: np.random.default_rng(5)
    cases = {
        "its own order in each worker, AUTO": lambda: whole(
            dataset(no_seed()).batch(BATCH)
        ),
        "the same seed in all workers, AUTO": lambda: whole(
            dataset(seed()).batch(BATCH)
        ),
        "sharded inside the generator": lambda: share(sharded(no_seed())),
    }
    for name, case in cases.items():
        made.clear()
        found[name] = epochs(strategy, case()), len(made)

    def read(path):
        """Read a small file, and note it."""
        made.append(path)
        return np.int64(pathlib.Path(path.decode()).read_text())

    def read_in_map(path):
        return tf.ensure_shape(tf.numpy_function(read, [path], tf.int64), [])

    made.clear()
    files = tf.data.Dataset.from_tensor_slices(paths).map(read_in_map)
    found["a file for each row, AUTO"] = (
        epochs(strategy, whole(files.batch(BATCH))),
        len(made),
    )
    return found


# --8<-- [end:work]

# --8<-- [start:run]
with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
    paths = [str(pathlib.Path(folder, f"{row:02}")) for row in range(ROWS)]
    for row, path in enumerate(paths):
        pathlib.Path(path).write_text(str(row))
    tasks = [cluster.start("worker", index, work, paths) for index in range(2)]
    first, second = (cluster.result(task) for task in tasks)

once, twice, never, share = {}, {}, {}, {}
for name in first:
    (mine, my_work), (theirs, their_work) = first[name], second[name]
    pairs = list(zip(mine, theirs, strict=True))
    once[name] = all(sorted(a + b) == list(range(ROWS)) for a, b in pairs)
    twice[name] = any(set(a) & set(b) for a, b in pairs)
    never[name] = any(set(range(ROWS)) - {*a, *b} for a, b in pairs)
    share[name] = [done / EPOCHS for done in (my_work, their_work)]
    print(f"{name}: each row once in each epoch: {once[name]}")
    print(f"{name}: made or read in an epoch: {share[name][0]:.0f} of {ROWS} rows")
# --8<-- [end:run]

OWN, SEEDED, INSIDE, FILES = first
claims = {
    "own_order_gives_rows_twice": twice[OWN],
    "own_order_misses_rows": never[OWN],
    "same_seed_gives_every_row_once": once[SEEDED],
    "same_seed_mixes_anew_in_each_epoch": first[SEEDED][0][0] != first[SEEDED][0][1],
    "every_worker_runs_the_whole_generator": share[OWN]
    == share[SEEDED]
    == [ROWS, ROWS],
    "sharded_inside_gives_every_row_once": once[INSIDE],
    "sharded_inside_makes_its_share_only": share[INSIDE] == [ROWS / 2, ROWS / 2],
    "files_read_in_a_map_come_once": once[FILES],
    "every_worker_reads_all_small_files": share[FILES] == [ROWS, ROWS],
}
measures = {"rows": ROWS}
