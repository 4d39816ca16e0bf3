# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# ///
"""Make a metric inside and outside the scope, on one machine and with two workers, and count the rows it has seen."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys

import keras
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


# --8<-- [start:count]
ROWS, BATCH = 8, 4


def count(say, where, tasks):
    """Feed all rows to a metric made inside or outside the scope. Return its mean and how many rows it has counted."""
    if tasks == 1:  # one machine with two devices
        (cpu,) = tf.config.list_physical_devices("CPU")
        half = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [half, half])
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    else:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope() if where == "inside" else contextlib.nullcontext():
        metric = keras.metrics.Mean()
    rows = tf.data.Dataset.range(ROWS, output_type=tf.float32).batch(BATCH)

    @tf.function
    def step(rows):
        strategy.run(metric.update_state, args=(rows,))

    for batch in strategy.experimental_distribute_dataset(rows):
        step(batch)
    return float(metric.result()), int(metric.count.numpy())


# --8<-- [end:count]

# --8<-- [start:compare]
found = {}
for tasks in (1, 2):
    for where in ("inside", "outside"):
        with Cluster(worker=tasks) as cluster:
            each = [
                cluster.start("worker", i, count, where, tasks) for i in range(tasks)
            ]
            found[tasks, where] = [cluster.result(task) for task in each]
        for index, (mean, rows) in enumerate(found[tasks, where]):
            print(f"{where:7}, worker {index} of {tasks}: {rows} rows, mean {mean}")
# --8<-- [end:compare]

all_rows = ((ROWS - 1) / 2, ROWS)  # the mean of 0 to ROWS - 1
claims = {
    "inside_counts_all_rows": all(
        {*found[tasks, "inside"]} == {all_rows} for tasks in (1, 2)
    ),
    "outside_counts_all_rows_on_one_machine": found[1, "outside"] == [all_rows],
    "outside_counts_all_rows_on_two_workers": found[2, "outside"] == [all_rows] * 2,
    "outside_each_worker_counts_its_own": [rows for _, rows in found[2, "outside"]]
    == [ROWS // 2] * 2,
    "outside_workers_disagree": len({*found[2, "outside"]}) == 2,
}
measures = {"rows": ROWS}
