# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 4
# seconds = 90
# ///
"""Save from two workers: all of them, the chief alone, and both to one path."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

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


# --8<-- [start:place]
def place(folder, job, index, jobs):
    """Where a task writes. The chief's files are kept; without a chief, worker 0's."""
    chief = job == "chief" or ("chief" not in jobs and index == 0)
    return f"{folder}/kept" if chief else f"{folder}/scratch-{job}-{index}"


def my_place(folder):
    here = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    jobs = here.cluster_spec().as_dict()
    return place(folder, here.task_type, here.task_id, jobs)


# --8<-- [end:place]


# --8<-- [start:checkpoint]
def checkpoint(say, index, folder, savers, metric):
    """Count 8 rows on each worker, save, then add a one from each, three times."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(1.0)
        # Like a metric: each replica counts for itself, reading adds the counts up.
        rows = tf.Variable(
            0.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
    strategy.run(lambda: rows.assign_add(8.0))
    if index in savers:
        values = {"weight": weight, "rows": rows} if metric else {"weight": weight}
        tf.train.Checkpoint(**values).write(my_place(folder) + "/checkpoint")
    ones = [
        strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None)
        for _ in range(3)
    ]
    return [float(one) for one in ones]


WAIT = 4  # seconds, in the case that is silent; an answer may take its time
cases = {
    "all save": {"savers": [0, 1], "metric": True},
    "chief saves weights": {"savers": [0], "metric": False},
    "chief saves weights and metric": {"savers": [0], "metric": True},
}
sums, counted = {}, {}
for case, options in cases.items():
    with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
        tasks = [
            cluster.start("worker", i, checkpoint, i, folder, *options.values())
            for i in range(2)
        ]
        seconds = WAIT if case == "chief saves weights and metric" else 120
        sums[case] = [cluster.hear(tasks[1])[1]]
        index_file = Path(folder, "kept", "checkpoint.index")
        while not index_file.exists():  # the chief's file comes in every case
            time.sleep(0.1)
        silence = f"nothing for {seconds} s"
        sums[case] += [cluster.hear(tasks[0], seconds)[1] or silence]
        if options["metric"]:
            reader = tf.train.load_checkpoint(f"{folder}/kept/checkpoint")
            counted[case] = float(reader.get_tensor("rows/.ATTRIBUTES/VARIABLE_VALUE"))
    print(f"{case}: worker 1 gets {sums[case][0]}, chief gets {sums[case][1]}")
    print(f"{case}: rows in the chief's checkpoint:", counted.get(case, "none"))
# --8<-- [end:checkpoint]


# --8<-- [start:path]
SIGN = "allow_missing_files was set to false"  # what most of these errors say


def save_often(say, path, times):
    """Save and read back, in step with the other worker, until one sees the sign."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        saved = tf.train.Checkpoint(weights=tf.Variable(tf.zeros(100_000)))
    wrong = []
    for _ in range(times):
        seen = float(any(SIGN in text for text in wrong))
        seen = strategy.run(tf.constant, args=(seen,))
        # Both arrive here together.
        if strategy.reduce("SUM", seen, axis=None) > 0:
            break
        try:
            saved.write(path)
            saved.read(path)
        except tf.errors.OpError as error:
            wrong.append(f"{type(error).__name__}: {error}")
    return wrong


wrong = {}
for case, times in {"one path for both": 100_000, "a path for each": 30}.items():
    with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
        paths = [f"{folder}/checkpoint"] * 2
        if case == "a path for each":
            paths = [
                place(folder, "worker", i, ["worker"]) + "/checkpoint" for i in range(2)
            ]
        tasks = [
            cluster.start("worker", index, save_often, paths[index], times)
            for index in range(2)
        ]
        wrong[case] = [error for task in tasks for error in cluster.result(task, 600)]
    print(f"{case}: a save or a read failed:", bool(wrong[case]))
# --8<-- [end:path]


# --8<-- [start:chief]
def save_at(say, folder):
    """Save in every task. Return its index, and the last part of its place."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        saved = tf.train.Checkpoint(weight=tf.Variable(1.0))
    path = my_place(folder)
    saved.write(f"{path}/checkpoint")
    return strategy.cluster_resolver.task_id, os.path.basename(path)


with tempfile.TemporaryDirectory() as folder, Cluster(chief=1, worker=2) as cluster:
    names = [("chief", 0), ("worker", 0), ("worker", 1)]
    tasks = [cluster.start(job, index, save_at, folder) for job, index in names]
    saved_at = [cluster.result(task) for task in tasks]
    written = os.listdir(folder)
for (job, _), (index, path) in zip(names, saved_at, strict=True):
    print(f"{job}, index {index}: saves to {path}")
# --8<-- [end:chief]

claims = {
    "all_save_sums_are_right": sums["all save"] == [[2.0] * 3] * 2,
    "all_save_checkpoint_is_right": counted["all save"] == 16.0,
    "chief_alone_is_fine_for_weights": sums["chief saves weights"] == [[2.0] * 3] * 2,
    "chief_alone_with_a_metric_gives_wrong_sums": sums[
        "chief saves weights and metric"
    ][0]
    == [9.0] * 3,
    "chief_alone_with_a_metric_hangs_the_chief": "nothing"
    in sums["chief saves weights and metric"][1],
    "chief_alone_with_a_metric_saves_a_wrong_count": counted[
        "chief saves weights and metric"
    ]
    == 9.0,
    "chief_alone_with_a_metric_raises": "Error"
    in str(sums["chief saves weights and metric"]),
    "one_path_breaks_files": bool(wrong["one path for both"]),
    "with_a_chief_job_one_task_writes_to_kept": [path for _, path in saved_at].count(
        "kept"
    )
    == 1
    and saved_at[0][1] == "kept"
    and len(written) == len(names),
    "with_a_chief_job_two_tasks_have_index_0": [i for i, _ in saved_at].count(0) == 2,
    "own_paths_break_nothing": not wrong["a path for each"],
}
told = next(text for text in wrong["one path for both"] if SIGN in text)
errors = {"one_path": f"{told.partition(':')[0]}: {SIGN}"}
