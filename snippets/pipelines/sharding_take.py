# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# ///
"""How many rows two workers get after `take` and `skip`, in a step without rows, and from CSV files."""

import contextlib
import json
import multiprocessing
import os
import pathlib
import signal
import socket
import sys
import tempfile

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

# --8<-- [start:files]
ROWS, FILES, BATCH, N = 24, 4, 8, 4
Policy = tf.data.experimental.AutoShardPolicy


def write(folder):
    """Write the numbers of the rows as text, six in each file."""
    for index in range(FILES):
        rows = range(index * ROWS // FILES, (index + 1) * ROWS // FILES)
        text = "row\n" + "".join(f"{row}\n" for row in rows)
        pathlib.Path(folder, f"{index}.csv").write_text(text)


def lines(folder):
    """Read the rows of all files with `TextLineDataset`, file by file."""
    paths = [str(path) for path in sorted(pathlib.Path(folder).glob("*.csv"))]
    files = tf.data.Dataset.from_tensor_slices(paths)
    rows = files.flat_map(lambda path: tf.data.TextLineDataset(path).skip(1))
    return rows.map(lambda line: tf.strings.to_number(line, tf.int64))


def parts(strategy, data, policy):
    """Return this worker's part of each step."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    data = strategy.experimental_distribute_dataset(data.with_options(options))
    local = strategy.experimental_local_results
    return [part for step in data for part in local(step)]


def epoch(strategy, data, policy):
    """Return the rows that this worker gets."""
    return [int(row) for part in parts(strategy, data, policy) for row in part]


def run(work):
    """Return what two workers get from the files."""
    with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
        write(folder)
        tasks = [cluster.start("worker", index, work, folder) for index in range(2)]
        return [cluster.result(task) for task in tasks]


# --8<-- [end:files]


# --8<-- [start:take]
def work(say, folder):
    """Run in every worker: one epoch of each case."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rows = lines(folder)
    return {
        f"{name}, {policy.name}": epoch(strategy, data.batch(BATCH), policy)
        for name, data in {
            f"take({N})": rows.take(N),
            f"skip({N})": rows.skip(N),
        }.items()
        for policy in (Policy.FILE, Policy.AUTO, Policy.DATA)
    }


first, second = run(work)
for name, mine in first.items():
    print(f"{name}: {len(mine)} and {len(second[name])} of {ROWS} rows:", end=" ")
    print(*mine, "|", *second[name])
# --8<-- [end:take]


# --8<-- [start:empty]
def work_empty(say, folder):
    """Run in every worker: its part of each step, from all files but the last."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    known = lines(folder).filter(lambda row: row < ROWS * 3 // 4)
    unknown = known.map(lambda row: tf.numpy_function(abs, [row], tf.int64))
    return {
        name: [
            part.numpy().tolist()
            for part in parts(strategy, data.batch(BATCH), Policy.FILE)
        ]
        for name, data in {"known": known, "unknown": unknown}.items()
    }


_, short = run(work_empty)
for name, steps in short.items():
    print(f"{name} shape: worker 1 gets", *steps)
# --8<-- [end:empty]


# --8<-- [start:csv]
def work_csv(say, folder):
    """Run in every worker: one epoch of `make_csv_dataset` under AUTO."""
    strategy, found = tf.distribute.MultiWorkerMirroredStrategy(), {}
    for name, options in {
        "in order": {"shuffle": False},
        "shuffled, no seed": {},
        "shuffled, a seed": {"shuffle_seed": 1},
    }.items():
        data = tf.data.experimental.make_csv_dataset(
            f"{folder}/*.csv", BATCH, num_epochs=1, **options
        )
        data = data.map(lambda columns: columns["row"])
        found[name] = epoch(strategy, data, Policy.AUTO)
    return found


mine, theirs = run(work_csv)
never = {}
for name in mine:
    never[name] = set(range(ROWS)) - {*mine[name], *theirs[name]}
    print(f"CSV {name}: rows that no worker gets: {bool(never[name])}")
files = {row * FILES // ROWS for row in mine["in order"]}
print(f"CSV in order: worker 0 gets rows of {len(files)} of {FILES} files")
# --8<-- [end:csv]


def total(case):
    """Return how many rows both workers get together."""
    return len(first[case]) + len(second[case])


def together(case):
    """Return the rows of both workers, sorted."""
    return sorted(first[case] + second[case])


claims = {
    "file_takes_n_per_worker": len(first["take(4), FILE"])
    == len(second["take(4), FILE"])
    == N,
    "auto_takes_n_per_worker": len(set(together("take(4), AUTO"))) == 2 * N,
    "data_takes_n_in_all": together("take(4), DATA") == list(range(N)),
    "file_skips_n_per_worker": total("skip(4), FILE") == ROWS - 2 * N,
    "auto_skips_n_per_worker": total("skip(4), AUTO") == ROWS - 2 * N,
    "data_skips_n_in_all": together("skip(4), DATA") == list(range(N, ROWS)),
    "a_step_without_rows_is_empty": short["known"][-1] == [],
    "without_a_shape_it_is_a_zero": short["unknown"][-1] == 0,
    "csv_is_cut_after_reading": len(files) == FILES,
    "csv_in_order_comes_once": sorted(mine["in order"] + theirs["in order"])
    == list(range(ROWS)),
    "csv_without_a_seed_misses_rows": bool(never["shuffled, no seed"]),
    "csv_with_a_seed_comes_once": sorted(
        mine["shuffled, a seed"] + theirs["shuffled, a seed"]
    )
    == list(range(ROWS)),
}
measures = {"rows": ROWS, "n": N, "file_rows": total("take(4), FILE")}
