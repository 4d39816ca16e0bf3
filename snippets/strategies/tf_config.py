# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# ///
"""Start workers wrongly: some mistakes raise at once, and some train alone without a word."""

import contextlib
import json
import multiprocessing
import os
import re
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


# --8<-- [start:work]
def work(say, first):
    """One collective, after `first`: the smallest thing that needs every worker."""
    try:
        first()
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        ones = strategy.run(lambda: tf.constant(1.0))
        total = float(strategy.reduce("SUM", ones, axis=None))
    except Exception as error:
        # It stays: the end of this task would be another error for the others.
        return f"{type(error).__name__}: {error}"
    return f"{strategy.num_replicas_in_sync} replica(s), the sum of ones is {total:.0f}"


def tf_config(addresses, index, kind="worker"):
    return json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": kind, "index": index}}
    )


def nothing():
    """Come before the strategy, and do no harm."""


def outcome(*configs, first=nothing):
    """Start a worker for each TF_CONFIG; return what each said, less what varies."""
    with Cluster() as cluster:
        tasks = [
            cluster.start("worker", index, work, first, config=config)
            for index, config in enumerate(configs)
        ]
        answers = [cluster.hear(task)[1].splitlines()[0] for task in tasks]
    return [
        re.sub(r"(task:|size ?)\d", r"\1N", re.sub(r"\{\{.*?\}\} ", "", answer))
        for answer in answers
    ]


# --8<-- [end:work]


# --8<-- [start:cases]
held = Cluster(worker=3)  # keeps three addresses free until the program ends
one, two, three = held.spec["worker"]
cases = {
    "no mistake": [tf_config([one, two], 0), tf_config([one, two], 1)],
    "another number of workers": [
        tf_config([one, two], 0),
        tf_config([one, two, three], 1),
    ],
    "index beyond the list": [tf_config([one, two], 5)],
    "misspelt type": [tf_config([one, two], 0, kind="wrker")],
    "no task": [json.dumps({"cluster": {"worker": [one, two]}})],
    "single quotes": [str({"cluster": {"worker": [one, two]}})],
    "each lists only itself": [tf_config([one], 0), tf_config([two], 0)],
    "empty": ["{}", "{}"],
}
outcomes = {case: outcome(*configs) for case, configs in cases.items()}
for case, answers in outcomes.items():
    print(f"{case}: {answers[0]}")
# --8<-- [end:cases]

# --8<-- [start:first]
starts = {
    "an operation": lambda: tf.constant(1.0),
    "list_logical_devices": tf.config.list_logical_devices,
    "a data set": lambda: tf.data.Dataset.range(1),
    "a Keras model": lambda: keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1)]
    ),
    "a Keras optimizer": keras.optimizers.SGD,
    "another strategy": tf.distribute.MirroredStrategy,
}
early = {
    name: outcome(tf_config([one, two], 0), first=first)[0]
    for name, first in starts.items()
}


def harmless():
    tf.config.list_physical_devices()
    keras.utils.set_random_seed(1)


both = tf_config([one, two], 0), tf_config([one, two], 1)
early["seed and list_physical_devices"] = outcome(*both, first=harmless)[0]
early["an operation, no TF_CONFIG"] = outcome("{}", first=starts["an operation"])[0]
for name, answer in early.items():
    print(f"{name}: {answer}")
# --8<-- [end:first]

alone = "1 replica(s), the sum of ones is 1"
claims = {
    "right_config_makes_two_replicas": outcomes["no mistake"]
    == ["2 replica(s), the sum of ones is 2"] * 2,
    "one_listed_worker_trains_alone": outcomes["each lists only itself"]
    == [alone, alone],
    "empty_config_trains_alone": outcomes["empty"] == [alone, alone],
    "one_listed_worker_raises": any(
        "Error" in answer for answer in outcomes["each lists only itself"]
    ),
    "other_worker_count_raises": all(
        "InternalError" in answer for answer in outcomes["another number of workers"]
    ),
    "single_quotes_raise": "JSONDecodeError" in outcomes["single quotes"][0],
    "missing_task_raises": "ValueError" in outcomes["no task"][0],
    "what_starts_the_runtime_raises": all(
        "RuntimeError" in early[name] for name in starts
    ),
    "seeds_and_physical_devices_are_fine": early["seed and list_physical_devices"]
    == "2 replica(s), the sum of ones is 2",
    "without_tf_config_nothing_raises": early["an operation, no TF_CONFIG"] == alone,
    "index_beyond_the_list_raises": "ValueError"
    in outcomes["index beyond the list"][0],
}
errors = {
    "worker_count": outcomes["another number of workers"][0],
    "index": outcomes["index beyond the list"][0],
    "task_type": outcomes["misspelt type"][0],
    "started": early["an operation"],
    "no_task": outcomes["no task"][0],
    "single_quotes": outcomes["single quotes"][0],
}
