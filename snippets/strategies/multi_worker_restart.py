# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 90
# ///
"""Kill a worker during training, start all workers again, and end with the weights of a run without faults."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time

import keras
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

# --8<-- [start:train]
STEPS, SAVE_EVERY, BATCH = 24, 5, 16
x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
y = np.sin(x.sum(1, keepdims=True))


def train(say, index, folder, stands_after=None):
    """Train to the last step, from the newest backup where there is one."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((8,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)]
        )
        # The moments of Adam are state too: they belong in the backup.
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
        done = tf.Variable(0, dtype=tf.int64)
    backup = tf.train.Checkpoint(model=model, optimizer=optimizer, done=done)
    # All save, each to its own place. Without a chief job worker 0 is the chief.
    mine = f"{folder}/kept" if index == 0 else f"{folder}/scratch-worker-{index}"
    manager = tf.train.CheckpointManager(backup, mine, max_to_keep=2)
    backup.restore(tf.train.latest_checkpoint(f"{folder}/kept"))  # all read the chief's
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat()
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    # The backup does not hold the place in the data: go there. `skip` on the data set
    # would go too far when files are sharded.
    for _ in range(int(done.numpy())):
        next(batches)

    @tf.function
    def step(batch):
        def replica_step(features, labels):
            with tf.GradientTape() as tape:
                errors = tf.reduce_mean(
                    (model(features, training=True) - labels) ** 2, axis=-1
                )
                loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(
                zip(gradients, model.trainable_variables, strict=True)
            )
            return loss

        return strategy.reduce("SUM", strategy.run(replica_step, args=batch), axis=None)

    while int(done.numpy()) < STEPS:
        # Read at every step only to report it: `float` waits for the step.
        loss = float(step(next(batches)))
        done.assign_add(1)
        if int(done.numpy()) % SAVE_EVERY == 0:
            manager.save()
        say((int(done.numpy()), loss))
        time.sleep(0.05)
        if int(done.numpy()) == stands_after:
            signal.pause()  # until it is killed
    return model.get_weights()


def listen(cluster, task):
    """Return the losses that a task reports, by step, and its last word."""
    losses = {}
    while (word := cluster.hear(task))[0] == "said":
        losses.update([word[1]])
    return losses, word


# --8<-- [end:train]

# --8<-- [start:restart]
with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
    survivor = cluster.start("worker", 0, train, 0, folder)
    victim = cluster.start("worker", 1, train, 1, folder, 13)
    before = {}
    while 13 not in before:
        before.update([cluster.hear(survivor)[1]])
    victim.kill()  # as the kernel does when memory runs out
    died = time.monotonic()
    others, (kind, text) = listen(cluster, survivor)
    before |= others
    noticed = time.monotonic() - died
    survivor.join()  # the addresses are free again only when both processes are gone

    tasks = [cluster.start("worker", index, train, index, folder) for index in range(2)]
    (after, (_, weights)), (_, (_, weights_1)) = (
        listen(cluster, task) for task in tasks
    )

print("worker 1 is killed after step", max(before))
print(f"worker 0: {kind}, {text.split(':')[0]}, {1000 * noticed:.0f} ms later")
print(f"both start again: they do steps {min(after)} to {max(after)}")
# --8<-- [end:restart]

# --8<-- [start:compare]
with tempfile.TemporaryDirectory() as folder, Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, train, index, folder) for index in range(2)]
    whole, (_, expected) = listen(cluster, tasks[0])

away = max(float(np.abs(a - b).max()) for a, b in zip(weights, expected, strict=True))
apart = max(float(np.abs(a - b).max()) for a, b in zip(weights, weights_1, strict=True))
print(f"the weights are {away:.6f} away from those of a run that nobody disturbed")
# --8<-- [end:compare]

claims = {
    "survivor_raises_unavailable": kind == "failed"
    and text.startswith("UnavailableError"),
    "survivor_goes_on_alone": kind == "done",
    "resumes_after_the_last_backup": min(after) - 1
    == max(before) // SAVE_EVERY * SAVE_EVERY,
    "starts_from_zero": min(after) == 1,
    "only_steps_since_the_backup_are_repeated": len(before.keys() & after.keys())
    < SAVE_EVERY,
    "repeated_steps_give_the_same_losses": all(
        abs(before[s] - after[s]) < 1e-6 for s in before.keys() & after.keys()
    ),
    "same_weights_as_undisturbed": away < 1e-6,
    "workers_hold_equal_weights": apart == 0.0,
}
measures = {
    "killed_after": max(before),
    "backup_at": min(after) - 1,
    "repeated": len(before.keys() & after.keys()),
    "save_every": SAVE_EVERY,
    "noticed_s": noticed,
}
errors = {"survivor": text.splitlines()[0]}
figures = {
    "recovered": {
        "kind": "lines",
        "title": "The loss goes on from the backup",
        "xlabel": "step",
        "ylabel": "loss on the global batch",
        "x": [*whole],
        "series": {
            "never disturbed": [*whole.values()],
            "until the kill": [before.get(step) for step in whole],
            "after the restart": [after.get(step) for step in whole],
        },
        "markers": True,
    }
}
