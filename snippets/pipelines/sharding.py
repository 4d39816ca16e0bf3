# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 180
# ///
"""Which elements each of two worker processes gets under each auto-shard policy, and what too few files do."""

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
from sklearn.datasets import load_digits


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
ROWS, BATCH = 24, 8
digits = load_digits()


def write(folder, count):
    """Write the first rows as `count` TFRecord files, as many in each; return their paths."""
    paths = [
        str(pathlib.Path(folder, f"{index}-of-{count}.tfrecord"))
        for index in range(count)
    ]
    for index, path in enumerate(paths):
        with tf.io.TFRecordWriter(path) as writer:
            for row in range(index * ROWS // count, (index + 1) * ROWS // count):
                pixels = tf.train.BytesList(
                    value=[digits.images[row].astype("uint8").tobytes()]
                )
                place = tf.train.Int64List(value=[row])
                features = {
                    "row": tf.train.Feature(int64_list=place),
                    "image": tf.train.Feature(bytes_list=pixels),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())
    return paths


# --8<-- [end:files]


# --8<-- [start:read]
Policy = tf.data.experimental.AutoShardPolicy
SHARD_HINT = tf.data.experimental.SHARD_HINT


def parse(record):
    """Return the number of the row and its pixels."""
    kinds = {
        "row": tf.io.FixedLenFeature([], tf.int64),
        "image": tf.io.FixedLenFeature([], tf.string),
    }
    example = tf.io.parse_single_example(record, kinds)
    pixels = tf.io.decode_raw(example["image"], tf.uint8)
    return example["row"], tf.reshape(pixels, (8, 8))


def distributed(strategy, data, policy):
    """Return this worker's part of a dataset with the global batch, cut by a policy."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return strategy.experimental_distribute_dataset(data.with_options(options))


def steps(strategy, data):
    """Return the rows of each of this worker's steps."""
    return [
        [int(row) for part in strategy.experimental_local_results(rows) for row in part]
        for rows, _ in data
    ]


def epoch(strategy, paths, policy):
    """Return the rows of this worker's steps, and how many records it parsed for them."""
    parsed = []

    def count(record):
        parsed.append(record)
        return record

    def counted(record):
        return parse(tf.ensure_shape(tf.numpy_function(count, [record], tf.string), []))

    records = tf.data.TFRecordDataset(paths)

    def own_part(worker):
        """Take every n-th record before parsing; the batch is that of one replica."""
        part = records.shard(worker.num_input_pipelines, worker.input_pipeline_id)
        return part.map(counted).batch(worker.get_per_replica_batch_size(BATCH))

    if policy == "own":
        # This one shards nothing itself.
        data = strategy.distribute_datasets_from_function(own_part)
    else:
        if policy == Policy.HINT:  # the strategy puts its own two numbers here
            records = records.shard(SHARD_HINT, SHARD_HINT)
        data = distributed(strategy, records.map(counted).batch(BATCH), policy)
    return steps(strategy, data), len(parsed)


# --8<-- [end:read]

# --8<-- [start:run]
CASES = {
    "FILE, 4 files": (4, Policy.FILE),
    "FILE, 3 files": (3, Policy.FILE),
    "DATA, 1 file": (1, Policy.DATA),
    "OFF, 1 file": (1, Policy.OFF),
    "your own shard, 1 file": (1, "own"),
    "HINT, 1 file": (1, Policy.HINT),
}


def work(say, cases):
    """Run in every worker: one epoch of each case, up to an error."""
    strategy, results = tf.distribute.MultiWorkerMirroredStrategy(), {}
    for name, (paths, policy) in cases.items():
        try:
            results[name] = epoch(strategy, paths, policy)
        except tf.errors.InvalidArgumentError as error:
            text = error.message[error.message.index("Could not apply") :].partition(
                " If you are"
            )[0]
            return f"{type(error).__name__}: {text}"
    return results


with tempfile.TemporaryDirectory() as folder:
    cases = {
        name: (write(folder, count), policy) for name, (count, policy) in CASES.items()
    }
    with Cluster(worker=2) as cluster:
        tasks = [cluster.start("worker", index, work, cases) for index in range(2)]
        first, second = (cluster.result(task) for task in tasks)
    raised, other, alone = {}, {}, {}
    for policy in (Policy.FILE, Policy.AUTO):  # one file for two workers
        with Cluster(worker=2) as cluster:
            tasks = [
                cluster.start("worker", index, work, {"": (write(folder, 1), policy)})
                for index in range(2)
            ]
            raised[policy.name] = cluster.result(tasks[0])
            other[policy.name] = cluster.hear(tasks[1], 3)[0]
            tasks[0].kill()  # as where the error ends the program
            alone[policy.name] = cluster.hear(tasks[1])

for name in ("FILE, 4 files", "DATA, 1 file", "OFF, 1 file"):
    print(f"{name}: worker 0 {first[name][0]}")
    print(f"{name}: worker 1 {second[name][0]}")
for policy, text in raised.items():
    print(f"{policy}, 1 file: worker 0 raised {text}")
    print(f"{policy}, 1 file: worker 1, in 3 seconds after that: {other[policy]}")
    print(f"{policy}, 1 file: worker 1, once worker 0 has ended: {alone[policy][0]}")
# --8<-- [end:run]


# --8<-- [start:shuffle]
def work_shuffled(say, paths):
    """Run in every worker: one epoch under DATA, shuffled without a seed and with one."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    found = {}
    for seed in (None, 5):
        data = tf.data.TFRecordDataset(paths).map(parse).shuffle(ROWS, seed=seed)
        data = distributed(strategy, data.batch(BATCH), Policy.DATA)
        found[seed] = {row for step in steps(strategy, data) for row in step}
    return found


with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
    paths = write(folder, 1)
    tasks = [cluster.start("worker", index, work_shuffled, paths) for index in range(2)]
    mixed = [cluster.result(task) for task in tasks]

both, none = {}, {}
for seed in (None, 5):
    both[seed] = mixed[0][seed] & mixed[1][seed]
    none[seed] = set(range(ROWS)) - (mixed[0][seed] | mixed[1][seed])
    print(f"shuffle({ROWS}, seed={seed}): rows in both workers: {bool(both[seed])}")
    print(f"shuffle({ROWS}, seed={seed}): rows in none: {bool(none[seed])}")
# --8<-- [end:shuffle]


# --8<-- [start:zip]
def work_joined(say, paths, fewer):
    """Run in every worker: two epochs of each pipeline; return the rows it got, and pairs that came apart."""
    strategy, found = tf.distribute.MultiWorkerMirroredStrategy(), {}
    records = tf.data.TFRecordDataset(paths)
    digits = records.map(parse)
    seeds = tf.data.Dataset.random(seed=1, rerandomize_each_iteration=True).batch(2)

    def with_seeds(records):
        """A random augmentation would use the seed. Here only the rows count."""
        pairs = tf.data.Dataset.zip(records.map(parse), seeds)
        return pairs.map(lambda digit, seed: digit).batch(BATCH)

    def good(path):
        """Read a file; drop the records that do not decode."""
        return tf.data.TFRecordDataset(path).map(parse).ignore_errors(log_warning=True)

    names = tf.data.Dataset.list_files(paths)  # in another order in each epoch
    listed = names.interleave(tf.data.TFRecordDataset, cycle_length=2)
    skipping = digits.ignore_errors(log_warning=True).batch(BATCH)
    cut = records.shard(SHARD_HINT, SHARD_HINT)
    parts = [digits.take(ROWS // 2), digits.skip(ROWS // 2)]
    cases = {
        "list_files, FILE": (listed.map(parse).batch(BATCH), Policy.FILE),
        "zip, AUTO": (with_seeds(records), Policy.AUTO),
        "zip, files second, AUTO": (
            tf.data.Dataset.zip(seeds, digits)
            .map(lambda seed, digit: digit)
            .batch(BATCH),
            Policy.AUTO,
        ),
        "zip, DATA": (with_seeds(records), Policy.DATA),
        "HINT, zip": (with_seeds(cut), Policy.HINT),
        "enumerate, AUTO": (
            digits.enumerate().map(lambda place, digit: digit).batch(BATCH),
            Policy.AUTO,
        ),
        "bucket_by_sequence_length, AUTO": (
            digits.bucket_by_sequence_length(lambda *_: 1, [2], [BATCH, BATCH]),
            Policy.AUTO,
        ),
        "sample_from_datasets, AUTO": (
            tf.data.Dataset.sample_from_datasets(parts, seed=1).batch(BATCH),
            Policy.AUTO,
        ),
        "ignore_errors, AUTO": (skipping, Policy.AUTO),
        "ignore_errors in interleave, AUTO": (
            tf.data.Dataset.from_tensor_slices(paths).interleave(good).batch(BATCH),
            Policy.AUTO,
        ),
    }
    for name, (data, policy) in cases.items():
        part = distributed(strategy, data.repeat(2), policy)
        found[name] = [row for step in steps(strategy, part) for row in step]

    apart = {}
    for name, others, policy in (
        ("4 files and 4, AUTO", paths, Policy.AUTO),
        ("4 files and 2, AUTO", fewer, Policy.AUTO),
        ("4 files and 2, FILE", fewer, Policy.FILE),
        ("4 files and 2, DATA", fewer, Policy.DATA),
    ):
        both = tf.data.Dataset.zip(digits, tf.data.TFRecordDataset(others).map(parse))
        gaps = both.map(lambda digit, other: (digit[0] - other[0], digit[0]))
        part = steps(strategy, distributed(strategy, gaps.batch(BATCH), policy))
        apart[name] = sum(gap != 0 for step in part for gap in step)
    try:
        steps(strategy, distributed(strategy, skipping, Policy.FILE))
        refused = None
    except tf.errors.NotFoundError as error:
        text = error.message[error.message.index("Did not") :].partition(": ")[0]
        refused = f"{type(error).__name__}: {text}"
    return found, apart, refused


with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
    paths, fewer = write(folder, 4), write(folder, 2)  # the same rows in both
    tasks = [
        cluster.start("worker", index, work_joined, paths, fewer) for index in range(2)
    ]
    results = [cluster.result(task) for task in tasks]
joined, apart, refused = zip(*results, strict=True)

read_once, by_files, never = {}, {}, {}
for name in joined[0]:
    rows = joined[0][name] + joined[1][name]
    read_once[name] = sorted(rows) == sorted([*range(ROWS)] * 2)  # once in each epoch
    by_files[name] = set(joined[0][name]) == {*range(6), *range(12, 18)}
    never[name] = ROWS - len(set(rows))
    print(f"{name}: rows that no worker reads in two epochs: {never[name]} of {ROWS}")
mismatched = {name: sum(worker[name] for worker in apart) for name in apart[0]}
for name, count in mismatched.items():
    print(f"zip of {name}: rows beside another row: {count} of {ROWS}")
print("ignore_errors, FILE: worker 0 raised", refused[0])
# --8<-- [end:zip]


# --8<-- [start:table]
def seen(result):
    """Return all rows of an epoch, in the order in which the worker got them."""
    return [row for step in result[0] for row in step]


def ranges(rows):
    """Write 0, 1, 2, 5 as `0-2, 5`."""
    parts = []
    for row in rows:
        if parts and parts[-1][1] == row - 1:
            parts[-1][1] = row
        else:
            parts.append([row, row])
    return ", ".join(f"{a}-{b}" if a < b else str(a) for a, b in parts)


table, grid = [], {}
for name in CASES:
    mine, theirs = seen(first[name]), seen(second[name])
    sizes = [f"{[len(step) for step in worker[name][0]]}" for worker in (first, second)]
    parsed = f"{first[name][1]} and {second[name][1]}"
    table.append([name, ranges(mine), ranges(theirs), " and ".join(sizes), parsed])
    grid[name] = [
        "both" if row in mine and row in theirs else "0" if row in mine else "1"
        for row in range(ROWS)
    ]
# --8<-- [end:table]

whole = {
    name: sorted(seen(first[name]) + seen(second[name])) == list(range(ROWS))
    for name in grid
}
lengths = {name: (len(seen(first[name])), len(seen(second[name]))) for name in grid}
claims = {
    "file_gives_whole_files": set(seen(first["FILE, 4 files"]))
    == {*range(6), *range(12, 18)},
    "file_gives_every_row_once": whole["FILE, 4 files"] and whole["FILE, 3 files"],
    "file_parses_only_its_share": first["FILE, 4 files"][1]
    == second["FILE, 4 files"][1]
    == ROWS // 2,
    "three_files_split_evenly": lengths["FILE, 3 files"][0]
    == lengths["FILE, 3 files"][1],
    "three_files_leave_a_worker_empty_steps": [] in second["FILE, 3 files"][0],
    "file_raises_with_one_file": isinstance(raised["FILE"], str),
    "auto_falls_back_with_one_file": not isinstance(raised["AUTO"], str),
    "other_worker_hears_of_it": any(kind != "silent" for kind in other.values()),
    "other_worker_fails_without_the_cause": all(
        kind == "failed" and "shard" not in text for kind, text in alone.values()
    ),
    "auto_loses_rows_of_zipped_files": never["zip, AUTO"] == ROWS // 2,
    "auto_keeps_rows_of_files_zipped_second": read_once["zip, files second, AUTO"],
    "auto_pairs_rows_of_zipped_files_wrongly": mismatched["4 files and 2, AUTO"] > 0,
    "file_pairs_rows_of_zipped_files_wrongly": mismatched["4 files and 2, FILE"] > 0,
    "data_pairs_rows_of_zipped_files_wrongly": mismatched["4 files and 2, DATA"] > 0,
    "as_many_files_keep_pairs": mismatched["4 files and 4, AUTO"] == 0,
    "data_gives_zipped_rows_once": read_once["zip, DATA"],
    "hint_gives_zipped_rows_once": read_once["HINT, zip"],
    "auto_cuts_by_rows_behind_other_steps": all(
        read_once[name] and not by_files[name]
        for name in joined[0]
        if "AUTO" in name and "zip" not in name and "interleave" not in name
    ),
    "steps_inside_interleave_keep_files_whole": all(
        found["ignore_errors in interleave, AUTO"] for found in (read_once, by_files)
    ),
    "unseeded_list_files_is_cut_before_it_is_shuffled": all(
        found["list_files, FILE"] for found in (read_once, by_files)
    ),
    "file_raises_behind_other_steps": None not in refused,
    "data_gives_every_row_once": whole["DATA, 1 file"],
    "data_parses_only_its_share": first["DATA, 1 file"][1] < ROWS,
    "off_gives_every_row_once": whole["OFF, 1 file"],
    "off_gives_all_rows_to_both": lengths["OFF, 1 file"] == (ROWS, ROWS),
    "unseeded_shuffle_under_data_repeats_rows": bool(both[None]),
    "unseeded_shuffle_under_data_misses_rows": bool(none[None]),
    "seeded_shuffle_under_data_gives_every_row_once": not both[5] and not none[5],
    "hint_gives_every_row_once": whole["HINT, 1 file"],
    "hint_parses_only_its_share": first["HINT, 1 file"][1] == ROWS // 2,
    "own_shard_gives_every_row_once": whole["your own shard, 1 file"],
    "own_shard_parses_only_its_share": first["your own shard, 1 file"][1] == ROWS // 2,
}
errors = {"too_few_files": str(raised["FILE"]), "no_file_reader": str(refused[0])}
measures = {"rows": ROWS, "batch": BATCH}
tables = {
    "who": {
        "columns": [
            "policy",
            "worker 0",
            "worker 1",
            "rows in each step",
            "records parsed",
        ],
        "rows": table,
    }
}
figures = {
    "who": {
        "kind": "grid",
        "xlabel": "row",
        "rows": list(grid),
        "columns": [str(row) for row in range(ROWS)],
        "text": list(grid.values()),
        "group": [
            [f"worker {who}" if who != "both" else "both" for who in line]
            for line in grid.values()
        ],
    }
}
