# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 150
# ///
"""Send SIGTERM to one worker that runs under a PreemptionCheckpointHandler: all save, all leave, all continue later."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time

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


def listen(cluster, task):
    """Return a task's newest backup at each step, and its last word."""
    steps = {}
    while (word := cluster.hear(task))[0] == "said":
        steps.update([word[1]])
    return steps, word[1]


# --8<-- [start:train]
STEPS, SAVE_EVERY, BATCH, RATE = 120, 5, 16, 0.05
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x.sum(1, keepdims=True)


def train(say, index, folder, given, sent):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.zeros((4, 1)))
    done = tf.Variable(0, dtype=tf.int64)
    backup = tf.train.Checkpoint(weights=weights, done=done)
    mine = f"{folder}/kept" if index == 0 else f"{folder}/scratch-worker-{index}"
    manager = tf.train.CheckpointManager(backup, mine, max_to_keep=2)
    ways = {
        "manager": manager if index == 0 else backup,  # the right way
        "same": backup,
        "another": tf.train.Checkpoint(weights=weights, done=done),
    }
    handler = tf.distribute.experimental.PreemptionCheckpointHandler(
        strategy.cluster_resolver, ways[given], f"{folder}/kept"
    )
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat()
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    pause = 0 if int(done) else 0.05  # at first, so that the signal comes in time
    for _ in range(int(done)):
        next(batches)

    @tf.function
    def step(batch):
        def replica_step(features, labels):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((features @ weights - labels) ** 2) / BATCH
            replica = tf.distribute.get_replica_context()
            gradient = replica.all_reduce("SUM", tape.gradient(loss, weights))
            weights.assign_sub(RATE * gradient)

        strategy.run(replica_step, args=batch)

    while int(done) < STEPS:
        handler.run(step, next(batches))  # after a signal it saves and leaves
        done.assign_add(1)
        if int(done) % SAVE_EVERY == 0:
            manager.save()
        say((int(done), manager.latest_checkpoint))
        time.sleep(pause)
        if int(done) == 20:
            sent.wait()  # for the signal, or the training could end before it
    return weights.numpy()


# --8<-- [end:train]


# --8<-- [start:preempt]
def start(cluster, *args):
    return [cluster.start("worker", index, train, index, *args) for index in range(2)]


def preempt(given):
    """Train, send SIGTERM to worker 1 after step 10, and start again."""
    sent = multiprocessing.get_context("fork").Event()
    with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
        tasks = start(cluster, folder, given, sent)
        while cluster.hear(tasks[1])[1][0] != 10:
            pass
        there = {*os.listdir(folder)}
        tasks[1].terminate()
        sent.set()
        begin = time.monotonic()
        first = [listen(cluster, task) for task in tasks]
        took = time.monotonic() - begin
        for task in tasks:
            task.join()
        gone = there - {*os.listdir(folder)}
        left = tf.train.latest_checkpoint(f"{folder}/kept")
        second = listen(cluster, start(cluster, folder, given, sent)[0])
        count = len(tf.io.gfile.glob(f"{folder}/kept/*.index"))
    return *first, second, left, count, took, gone


(before, end), (_, end_1), (after, weights), left, few, took, gone = preempt("manager")
once = sorted([*before, *after]) == [*range(1, STEPS + 1)]
print("SIGTERM goes to worker 1 only. Last words:", end, "and", end_1)
print(f"both were gone {took:.1f} s later")
print("folders that they deleted:", *gone)
print("every step was done once:", once)

expected = np.zeros((4, 1))
for rows in np.resize(x, (STEPS, BATCH, 4)):  # repeats x
    expected += 2 * RATE / BATCH * rows.T @ (rows @ (1 - expected))  # y = rows @ 1
away = float(np.abs(weights - expected).max())
print(f"the weights are {away:.5f} away from those of undisturbed NumPy")
# --8<-- [end:preempt]

# --8<-- [start:names]
(apart, _), _, _, over, *_ = preempt("another")
many = preempt("same")[4]
print("one Checkpoint: the last save has a backup's name:", left in before.values())
print("two:", over in apart.values())
print("checkpoints in the end, manager:", few, "- same Checkpoint:", many)
# --8<-- [end:names]

claims = {
    "signalled_worker_leaves_with_42": end_1 == "SystemExit: 42",
    "other_worker_leaves_with_42": end == "SystemExit: 42",
    "other_worker_trains_on": end != "SystemExit: 42",
    "no_step_is_lost": once,
    "continues_where_it_left": min(after) == max(before) + 1,
    "one_checkpoint_takes_a_new_name": left not in before.values(),
    "two_checkpoints_take_one_name": over in apart.values(),
    "manager_leaves_what_it_keeps": few == 2,
    "checkpoint_leaves_more": many > 2,
    "others_save_beside_the_folder": gone == {"workertemp_1"},
    "same_weights_as_undisturbed": away < 1e-5,
}
measures = {"took_s": took}
errors = {"leave": end}
