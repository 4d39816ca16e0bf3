# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 2
# processes = 5
# seconds = 400
# ///
"""Train the same model under every strategy through every API, each in its own processes, and compare with NumPy."""

import contextlib
import glob
import json
import multiprocessing
import os
import re
import signal
import socket
import sys
import tempfile
from pathlib import Path

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


ROWS, BATCH, RATE = 96, 24, 0.1
random = np.random.default_rng(0)
x = random.normal(size=(ROWS, 3)).astype("float32")
y = (x @ random.normal(size=(3, 1)) + 0.5).astype("float32")
FIRST = [random.normal(size=(3, 1)).astype("float32"), np.zeros(1, "float32")]


def in_numpy():
    """Train with SGD in NumPy; return the weights and the mean of the losses of the steps."""
    w, b, losses = *(weights.astype("float64") for weights in FIRST), []
    for start in range(0, ROWS, BATCH):
        rows, error = (
            x[start : start + BATCH],
            x[start : start + BATCH] @ w + b - y[start : start + BATCH],
        )
        losses.append(np.mean(error**2))
        w, b = (
            w - RATE * 2 / BATCH * rows.T @ error,
            b - RATE * 2 / BATCH * error.sum(0),
        )
    return [w, b], float(np.mean(losses))


# --8<-- [start:strategies]
def make(name):
    """Return the strategy of this name, on every device that it can use."""
    if name == "MultiWorkerMirrored":
        return tf.distribute.MultiWorkerMirroredStrategy()
    if name == "ParameterServer":
        return tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.TFConfigClusterResolver()
        )
    if name == "TPU":
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    # `Cluster` hides the GPUs from its tasks.
    tf.config.set_visible_devices(tf.config.list_physical_devices("GPU"), "GPU")
    devices = tf.config.list_logical_devices("GPU")
    devices = devices or tf.config.list_logical_devices("CPU")
    names = [device.name for device in devices]
    return {
        "default": tf.distribute.get_strategy,
        "OneDevice": lambda: tf.distribute.OneDeviceStrategy(names[0]),
        "Mirrored": lambda: tf.distribute.MirroredStrategy(names),
        "CentralStorage": lambda: tf.distribute.experimental.CentralStorageStrategy(
            names, "/cpu:0"
        ),
    }[name]()


# --8<-- [end:strategies]


def data():
    """Return the rows in global batches, in order."""
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)


def model_of(library):
    """Return a linear model with the first weights, of Keras 3, of tf_keras, or as a plain `tf.Module`."""
    if library:
        model = library.Sequential(
            [library.layers.Input((3,)), library.layers.Dense(1)]
        )
        model.set_weights(FIRST)
        return model
    model = tf.Module()
    model.w, model.b = (tf.Variable(weights) for weights in FIRST)
    return model


def weights_of(model):
    """Return the weights and the bias as arrays."""
    return [
        np.asarray(weights)
        for weights in (getattr(model, "weights", None) or (model.w, model.b))
    ]


def fit(strategy, library, eager):
    """Train with `fit`; return the model and the loss that it reports."""
    with strategy.scope():
        model = model_of(library)
        model.compile(
            optimizer=library.optimizers.SGD(RATE), loss="mse", run_eagerly=eager
        )
    rows, options = data(), {}
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        # There an epoch ends by count.
        rows, options = rows.repeat(), {"steps_per_epoch": ROWS // BATCH}
    return model, model.fit(rows, verbose=0, **options).history["loss"][0]


def loop(strategy, library, eager):
    """Train in a custom loop: a Keras model with its optimizer, or the variables of a module by hand."""
    with strategy.scope():
        model = model_of(library)
        optimizer = keras.optimizers.SGD(RATE) if library else None
        if optimizer:
            optimizer.build(model.trainable_variables)

    def on_replica(rows, targets):
        with tf.GradientTape() as tape:
            outputs = (
                model(rows, training=True) if library else rows @ model.w + model.b
            )
            loss = tf.nn.compute_average_loss(
                tf.square(outputs - targets)[:, 0], global_batch_size=BATCH
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        if optimizer:
            optimizer.apply(gradients, model.trainable_variables)
            return
        gradients = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
        for variable, gradient in zip(
            model.trainable_variables, gradients, strict=True
        ):
            variable.assign_sub(RATE * gradient)

    def step(iterator):
        strategy.run(on_replica, args=next(iterator))

    step = step if eager else tf.function(step)
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        iterator = iter(coordinator.create_per_worker_dataset(lambda: data().repeat()))
        for _ in range(ROWS // BATCH):
            coordinator.schedule(step, args=(iterator,))
        coordinator.join()
    else:
        iterator = iter(strategy.experimental_distribute_dataset(data()))
        for _ in range(ROWS // BATCH):
            step(iterator)
    return model, None


def close(these, those):
    """Return whether two lists of weights are equal to 1e-4."""
    return all(np.allclose(a, b, atol=1e-4) for a, b in zip(these, those, strict=True))


def verdict(strategy, model, reported):
    """Compare with NumPy. Asynchronous workers have no one right answer: there the loss must fall."""
    weights, loss = in_numpy()
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        before, after = (
            np.mean((x @ w + b - y) ** 2) for w, b in (FIRST, weights_of(model))
        )
        return bool(after < 0.9 * before), "the loss did not fall"
    if not close(weights_of(model), weights):
        return False, "other weights than NumPy, and no error"
    if reported is not None and abs(reported - loss) > 1e-3:
        return (
            "weights yes, loss no",
            f"fit reports a loss of {reported:.3f} where {loss:.3f} is true",
        )
    return True, ""


def save_and_restore(strategy, model):
    """Save the model in three ways, each into a folder of this process, and restore it under the strategy."""
    outcomes = {}
    for way in ("save and load .keras", "checkpoint, restore", "export, load"):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            try:
                if way == "export, load":
                    model.export(f"{folder}/exported", verbose=False)
                    exported = tf.saved_model.load(f"{folder}/exported")
                    right = np.allclose(exported.serve(x), model(x), atol=1e-5)
                elif way == "checkpoint, restore":
                    path = tf.train.Checkpoint(model=model).save(f"{folder}/checkpoint")
                    stack.enter_context(strategy.scope())
                    other = model_of(keras)
                    tf.train.Checkpoint(model=other).restore(
                        path
                    ).assert_existing_objects_matched()
                    right = close(weights_of(other), weights_of(model))
                else:
                    model.save(f"{folder}/model.keras")
                    stack.enter_context(strategy.scope())
                    right = close(
                        weights_of(keras.models.load_model(f"{folder}/model.keras")),
                        weights_of(model),
                    )
                outcomes[way] = bool(right), "what came back is not what was saved"
            except Exception as error:  # whatever it is, it belongs into the table
                outcomes[way] = False, f"{type(error).__name__}: {error}"
    return outcomes


def evaluate_and_predict(strategy, model):
    """Evaluate the model and predict under the strategy; compare with NumPy."""
    w, b = weights_of(model)
    outputs, outcomes = x @ w + b, {}
    loss = float(np.mean((outputs - y) ** 2))
    with strategy.scope():
        model.compile(loss="mse")
    try:
        found = model.evaluate(data(), verbose=0)
        right = abs(found - loss) < 1e-3 or "no, another loss"
        note = f"evaluate reports a loss of {found:.3f} where {loss:.3f} is true"
        outcomes["evaluate"] = right, note
    except ValueError as error:
        outcomes["evaluate"] = False, f"ValueError: {error}"
    try:
        found = model.predict(data().map(lambda rows, _: rows), verbose=0)
        right = found.shape == outputs.shape and np.allclose(found, outputs, atol=1e-5)
        outcomes["predict"] = bool(right), "other outputs than NumPy"
    except ValueError as error:
        outcomes["predict"] = False, f"ValueError: {error}"
    return outcomes


def cell(say, name, api, library, eager):
    """Run in a child: make the strategy, train, compare, save; return (worked, note) for each row of the table."""
    strategy = make(name)
    model, reported = api(strategy, library, eager)
    outcomes = {"train": verdict(strategy, model, reported)}
    if api is loop and library and not eager:
        outcomes |= save_and_restore(strategy, model)
        outcomes |= evaluate_and_predict(strategy, model)
    return outcomes


def serve(say):
    """Run in a worker or a parameter server: answer the coordinator until the end."""
    here = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        here.cluster_spec(),
        job_name=here.task_type,
        task_index=here.task_id,
        protocol="grpc",
    ).join()


JOBS = {
    "MultiWorkerMirrored": {"worker": 2},
    "ParameterServer": {"chief": 1, "worker": 2, "ps": 1},
}
GROUPS = [
    ("default", "OneDevice"),
    ("Mirrored", "CentralStorage"),
    ("MultiWorkerMirrored",),
    ("ParameterServer",),
]
# A TPU has such a file, and so has other hardware, but not Google's number.
MAKERS = {Path(file).read_text() for file in glob.glob("/sys/bus/pci/devices/*/vendor")}
if glob.glob("/dev/accel[0-9]*") or glob.glob("/dev/vfio/[0-9]*"):
    GROUPS += [("TPU",)] if "0x1ae0\n" in MAKERS else []
APIS = {
    "Keras 3 fit": (fit, keras, False),
    "Keras 3 fit, eager": (fit, keras, True),
    "Keras 3, custom loop": (loop, keras, False),
    "Keras 3, custom loop, eager": (loop, keras, True),
    "tf_keras fit": (fit, tf_keras, False),
    "tf_keras fit, eager": (fit, tf_keras, True),
    "tf.Module": (loop, None, False),
    "tf.Module, eager": (loop, None, True),
}


def run(names, what):
    """Run one API under the strategies of a group, each in its own processes; yield each one's outcomes."""
    with Cluster(**JOBS.get(names[0], {})) as cluster:
        if names == ("MultiWorkerMirrored",):
            tasks = [
                cluster.start("worker", index, cell, *names, *what)
                for index in range(2)
            ]
        elif names == ("ParameterServer",):
            for job, index in (("ps", 0), ("worker", 0), ("worker", 1)):
                cluster.start(job, index, serve)
            tasks = [cluster.start("chief", 0, cell, *names, *what)]
        else:
            tasks = [
                cluster.start(name, 0, cell, name, *what, config="{}") for name in names
            ]
        heard = [cluster.hear(task) for task in tasks]
    # Of two equal workers, the one with more to complain about counts.
    if len(heard) > len(names):
        heard = [
            min(
                heard,
                key=lambda h: (
                    h[0] == "done"
                    and sum(worked is True for worked, _ in h[1].values())
                ),
            )
        ]
    for name, (kind, value) in zip(names, heard, strict=True):
        yield (
            name,
            value
            if kind == "done"
            else {"train": (False, value or f"{kind}: no answer in time")},
        )


def first_sentence(text):
    """Return the part of an error that does not vary, without the trace that AutoGraph puts before it."""
    lines = [line.strip() for line in text.splitlines()] or [""]
    own = (
        [line for line in lines[1:] if "Error: " in line]
        if "in user code" in lines[0]
        else lines[:1]
    )
    return own[-1].partition(". ")[0].removesuffix(".")


support, notes = {}, {}
for names in GROUPS:
    for api, what in APIS.items():
        for name, outcomes in run(names, what):
            for step, (worked, note) in outcomes.items():
                row = api if step == "train" else f"Keras 3, {step}"
                support[row, name], notes[row, name] = (
                    worked,
                    "" if worked is True else first_sentence(note),
                )

rows, strategies = (list(dict.fromkeys(keys)) for keys in zip(*support, strict=True))
for name in strategies:
    print(
        f"{name}: {sum(support[row, name] is True for row in rows)} of {len(rows)} work"
    )

no_tpu = {
    "text": "not yet run",
    "note": "No TPU here, and the TensorFlow that this guide locks supports none. Where TensorFlow sees one: "
    "make record DEVICE=tpu ARGS=strategies/support_table.py",
    "device": "tpu",
}
said = {
    at: {True: "yes", False: "no"}.get(worked, worked) for at, worked in support.items()
}
cells = {
    at: {"text": text, "note": notes[at]} if notes[at] else text
    for at, text in said.items()
}
columns = [*strategies, *({"TPU"} - {*strategies})]
lines = [[row, *(cells.get((row, name), no_tpu) for name in columns)] for row in rows]
tables = {
    "support": {
        "columns": [
            "API",
            *(re.sub("(?<=[a-z])(?=[A-Z])", " ", name) for name in columns),
        ],
        "rows": lines,
    }
}
by_hand = [support[row, "CentralStorage"] for row in ("tf.Module", "tf.Module, eager")]
claims = {
    "keras3_loop_works_everywhere": all(
        support["Keras 3, custom loop", name] is True for name in strategies
    ),
    "tf_keras_fit_works_everywhere": all(
        support["tf_keras fit", name] is True for name in strategies
    ),
    "keras3_fit_works_with_mirrored": support["Keras 3 fit", "Mirrored"] is True,
    "keras3_eager_fit_works_with_multi_worker": support[
        "Keras 3 fit, eager", "MultiWorkerMirrored"
    ]
    is True,
    "keras3_fit_works_with_multi_worker": support["Keras 3 fit", "MultiWorkerMirrored"]
    is True,
    "keras3_fit_works_with_parameter_server": support["Keras 3 fit", "ParameterServer"]
    is True,
    "central_storage_reports_a_wrong_loss": isinstance(
        support["Keras 3 fit", "CentralStorage"], str
    ),
    "central_storage_refuses_plain_variables": by_hand == [False, False],
    "parameter_server_runs_eagerly": any(
        support[row, "ParameterServer"] for row in rows if row.endswith("eager")
    ),
    "one_machine_runs_eagerly": all(
        support["Keras 3, custom loop, eager", name] for name in strategies[:4]
    ),
    "keras3_predicts_with_multi_worker": support[
        "Keras 3, predict", "MultiWorkerMirrored"
    ]
    is True,
    "keras3_evaluates_with_multi_worker": support[
        "Keras 3, evaluate", "MultiWorkerMirrored"
    ]
    is True,
    "what_was_saved_came_back": all(
        support[f"Keras 3, {way}", name]
        for way in ("save and load .keras", "checkpoint, restore", "export, load")
        for name in strategies
    ),
}
errors = {
    "keras3_fit_multi_worker": notes["Keras 3 fit", "MultiWorkerMirrored"],
    "keras3_fit_parameter_server": notes["Keras 3 fit", "ParameterServer"],
    "eager_parameter_server": notes["Keras 3, custom loop, eager", "ParameterServer"],
    "tf_keras_eager_parameter_server": notes["tf_keras fit, eager", "ParameterServer"],
}
measures = {
    "cells": len(support),
    "work": sum(worked is True for worked in support.values()),
    "fail": sum(worked is False for worked in support.values()),
    "half": sum(isinstance(worked, str) for worked in support.values()),
}
