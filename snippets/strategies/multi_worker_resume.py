# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 60
# ///
"""Resume two workers after two steps, by `skip` and by taking two batches, with rows in memory and in files."""

import contextlib
import json
import multiprocessing
import os
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

# --8<-- [start:resume]
ROWS, BATCH, DONE = 256, 16, 2


def memory(folder):
    return tf.data.Dataset.range(ROWS)


def files(folder):
    names = tf.data.Dataset.list_files(f"{folder}/*.tfrecord", shuffle=False)
    return tf.data.TFRecordDataset(names).map(
        lambda record: tf.strings.to_number(record, tf.int64)
    )


def mixed(folder):
    return memory(folder).shuffle(ROWS)


def mixed_with_seed(folder):
    return memory(folder).shuffle(ROWS, seed=1)


def resume(say, folder):
    """Return this worker's rows: of all steps, and of those after each way to go on."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def steps(dataset, done=0):
        batches = iter(strategy.experimental_distribute_dataset(dataset))
        for _ in range(done):
            next(batches)
        return [
            [
                int(row)
                for part in strategy.experimental_local_results(batch)
                for row in part
            ]
            for batch in batches
        ]

    return {
        make.__name__: (
            steps(make(folder).batch(BATCH)),
            steps(make(folder).batch(BATCH).skip(DONE)),
            steps(make(folder).batch(BATCH), done=DONE),
        )
        for make in (memory, files, mixed, mixed_with_seed)
    }


# --8<-- [end:resume]

# --8<-- [start:compare]
with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
    for first in range(0, ROWS, 64):
        with tf.io.TFRecordWriter(f"{folder}/{first:03}.tfrecord") as file:
            for row in range(first, first + 64):
                file.write(str(row))
    tasks = [cluster.start("worker", index, resume, folder) for index in range(2)]
    results = [cluster.result(task) for task in tasks]


def goes_on(data, way):
    """Say whether both workers get the rows that they would have got undisturbed."""
    return all(result[data][way] == result[data][0][DONE:] for result in results)


for data in "memory", "files":
    whole, skipped, taken = results[0][data]
    print(f"rows in {data}, worker 0, step {DONE + 1}: {whole[DONE]}")
    print(
        f"  after skip({DONE}): {skipped[0]}, which is step {whole.index(skipped[0]) + 1}"
    )
    print(
        f"  after taking {DONE} batches: {taken[0]}, which is step {whole.index(taken[0]) + 1}"
    )
print("shuffled, taken, the rows to come:", "same" if goes_on("mixed", 2) else "others")
print("with a seed:", "same" if goes_on("mixed_with_seed", 2) else "others")
# --8<-- [end:compare]

claims = {
    "skip_is_right_in_memory": goes_on("memory", 1),
    "skip_is_right_with_files": goes_on("files", 1),
    "skip_goes_twice_as_far_with_files": all(
        result["files"][1] == result["files"][0][2 * DONE :] for result in results
    ),
    "taking_is_right_in_memory": goes_on("memory", 2),
    "taking_is_right_with_files": goes_on("files", 2),
    "shuffle_without_seed_goes_on": goes_on("mixed", 2),
    "shuffle_with_seed_goes_on": goes_on("mixed_with_seed", 2),
}
measures = {
    "done": DONE,
    "files_go_on_at": results[0]["files"][0].index(results[0]["files"][1][0]) + 1,
}
