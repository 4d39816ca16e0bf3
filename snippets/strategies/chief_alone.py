# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 180
# ///
"""What one worker of two may do alone: write for TensorBoard, but not take a batch of data that end."""

import contextlib
import glob
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile

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


# --8<-- [start:train]
def work(say, index, folder):
    """Take a batch and read a metric, as all do; then go on alone as the chief."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    chief = index == 0
    with strategy.scope():
        metric = keras.metrics.Mean()
    rows = tf.data.Dataset.range(64).batch(8)
    ends = iter(strategy.experimental_distribute_dataset(rows))
    repeated = iter(strategy.experimental_distribute_dataset(rows.repeat()))

    strategy.run(metric.update_state, args=(next(ends),))
    say("took a batch, as all did")
    mean = float(metric.result())  # all read, then one writes
    if chief:
        with tf.summary.create_file_writer(folder).as_default():
            # `tf.summary.scalar` calls this, but needs the package tensorboard.
            tf.summary.write("mean", mean, step=1)
        say("wrote for TensorBoard")
        next(repeated)
        say("took a batch of data that repeat")
        next(ends)
        say("took a batch of data that end")


# --8<-- [end:train]

# --8<-- [start:run]
with Cluster(worker=2) as cluster, tempfile.TemporaryDirectory() as folder:
    tasks = [cluster.start("worker", index, work, index, folder) for index in range(2)]
    other = [cluster.hear(tasks[1]) for _ in range(2)]
    chief = [cluster.hear(tasks[0]) for _ in range(3)]
    chief += [cluster.hear(tasks[0], 5)]  # seconds
    [path] = glob.glob(f"{folder}/events*")
    events = list(tf.compat.v1.train.summary_iterator(path))
values = [value for event in events for value in event.summary.value]
written = [float(tf.make_ndarray(value.tensor)) for value in values]
print("worker 1:", ", then ".join(value or kind for kind, value in other))
for kind, value in chief:
    print("chief:", value or kind)
print("written for TensorBoard:", *written)
# --8<-- [end:run]

# --8<-- [start:scalar]
errors = {}
try:
    tf.summary.scalar("mean", 3.5, step=1)
    print("tf.summary.scalar works")
except Exception as error:
    errors["tensorboard"] = f"{type(error).__name__}: {error}"
    print(errors["tensorboard"])
# --8<-- [end:scalar]

claims = {
    "all_may_take_a_batch": chief[0] == other[0] and chief[0][0] == "said",
    "the_chief_alone_may_write": chief[1][0] == "said",
    "what_it_writes_is_of_all_workers": written == [3.5],  # the mean of 0 to 7
    "the_chief_alone_may_take_a_batch_of_data_that_repeat": chief[2][0] == "said",
    "the_chief_alone_waits_for_a_batch_of_data_that_end": other[1][0] == "done"
    and chief[3][0] == "silent",
}
