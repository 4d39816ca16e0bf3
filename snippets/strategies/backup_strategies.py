# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# ///
"""Stop `fit` under three strategies, start it again with BackupAndRestore, and compare the weights with NumPy."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf
import tf_keras


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


# --8<-- [start:data]
BATCH, EPOCHS, STOP, RATE, MOMENTUM = 8, 4, 2, 0.1, 0.9
rng = np.random.default_rng(0)
x = rng.normal(size=(2 * BATCH, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")
# --8<-- [end:data]

# --8<-- [start:train]
STRATEGIES = {
    "Mirrored, Keras 3": (
        1,
        keras,
        lambda: tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]),
    ),
    "CentralStorage, Keras 3": (
        1,
        keras,
        lambda: tf.distribute.experimental.CentralStorageStrategy(["CPU:0", "CPU:1"]),
    ),
    "MultiWorkerMirrored, tf_keras": (
        2,
        tf_keras,
        tf.distribute.MultiWorkerMirroredStrategy,
    ),
}


def fit(say, name, folder, stop):
    """Train from the backup, if there is one, until epoch `stop` begins; return the epochs done, steps and weights."""
    tasks, library, make = STRATEGIES[name]
    if tasks == 1:  # one machine with two devices
        (cpu,) = tf.config.list_physical_devices("CPU")
        half = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [half, half])
    strategy = make()
    with strategy.scope():
        dense = library.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = library.Sequential([library.layers.Input((3,)), dense])
        model.compile(library.optimizers.SGD(RATE, momentum=MOMENTUM), "mse")
    begun = []

    class Stopping(library.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == stop:
                raise KeyboardInterrupt
            begun.append(epoch)

    backup = library.callbacks.BackupAndRestore(folder)  # one folder for all workers
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
    with contextlib.suppress(KeyboardInterrupt):
        model.fit(data, epochs=EPOCHS, callbacks=[backup, Stopping()], verbose=0)
    return begun, int(model.optimizer.iterations.numpy()), model.get_weights()[0]


# --8<-- [end:train]

# --8<-- [start:compare]
weights, speed = np.zeros((3, 1)), 0.0  # all epochs, undisturbed, in NumPy
for start in [*range(0, len(x), BATCH)] * EPOCHS:
    rows = slice(start, start + BATCH)
    gradient = 2 / BATCH * x[rows].T @ (x[rows] @ weights - y[rows])
    speed = MOMENTUM * speed - RATE * gradient
    weights = weights + speed

runs = {}
for name, (tasks, *_) in STRATEGIES.items():
    runs[name] = []
    with tempfile.TemporaryDirectory() as folder:
        for stop in (STOP, None):
            with Cluster(worker=tasks) as cluster:
                each = [
                    cluster.start("worker", index, fit, name, folder, stop)
                    for index in range(tasks)
                ]
                runs[name].append([cluster.result(task) for task in each])
    first, second = runs[name]
    equal = all(np.allclose(run[2], weights, atol=1e-5) for run in second)
    epochs = [[epoch + 1 for epoch in run[0][0]] for run in (first, second)]
    print(f"{name}: epochs {epochs[0]}, then {epochs[1]}; as in NumPy: {equal}")
# --8<-- [end:compare]

steps = EPOCHS * len(x) // BATCH


def resumes(name):
    """Return whether all tasks did each epoch once, and ended with the steps and the weights of an undisturbed run."""
    first, second = runs[name]
    return all(
        a[0] + b[0] == [*range(EPOCHS)]
        and b[1] == steps
        and np.allclose(b[2], weights, atol=1e-5)
        for a, b in zip(first, second, strict=True)
    )


claims = {
    "mirrored_resumes": resumes("Mirrored, Keras 3"),
    "central_storage_resumes": resumes("CentralStorage, Keras 3"),
    "workers_of_tf_keras_resume": resumes("MultiWorkerMirrored, tf_keras"),
    "one_folder_serves_all_workers": len(
        {tuple(run[0]) for run in runs["MultiWorkerMirrored, tf_keras"][1]}
    )
    == 1,
}
measures = {"epochs": EPOCHS, "stopped_after": STOP}
