# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# env = { TF_CPP_MIN_LOG_LEVEL = "0", TF_CPP_VMODULE = "collective_param_resolver_local=1" }
# ///
"""Which all-reduce do several workers use? What the strategy asks for, and what TensorFlow's log says that it took."""

import contextlib
import json
import multiprocessing
import os
import re
import signal
import socket
import sys
import tempfile
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


# --8<-- [start:work]
Options = tf.distribute.experimental.CommunicationOptions
Implementation = tf.distribute.experimental.CommunicationImplementation


def work(say, log, options):
    """Sum a one over all workers; TensorFlow's log goes to a file."""
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

    @tf.function
    def total():
        def on_replica():
            context = tf.distribute.get_replica_context()
            return context.all_reduce("SUM", tf.constant(1.0))

        return strategy.run(on_replica)

    operations = total.get_concrete_function().graph.get_operations()
    wishes = {
        one.get_attr("communication_hint").decode()
        for one in operations
        if one.type == "CollectiveReduceV2"
    }
    return wishes, float(total())


# --8<-- [end:work]

# --8<-- [start:run]
cases = {
    "nothing said": None,
    "NCCL asked for": Options(implementation=Implementation.NCCL),
}
wished, took, sums, warned = {}, {}, {}, {}
with tempfile.TemporaryDirectory() as folder:
    for case, options in cases.items():
        logs = [Path(folder, f"{case} {index}") for index in range(2)]
        with Cluster(worker=2) as cluster:
            tasks = [
                cluster.start("worker", index, work, log, options)
                for index, log in enumerate(logs)
            ]
            answers = [cluster.result(task) for task in tasks]
        wished[case] = sorted(set.union(*(wishes for wishes, _ in answers)))
        sums[case] = [one for _, one in answers]
        text = "".join(log.read_text() for log in logs)
        took[case] = sorted(set(re.findall(r"AssignCollectiveType (\w+)", text)))
        warned[case] = re.findall(r"Enabled NCCL communication .*", text)
        print(f"{case}: the graph says {wished[case]}, TensorFlow takes {took[case]}")
print("the default:", Options().implementation)
print("asked for without a GPU:", warned["NCCL asked for"][0])
# --8<-- [end:run]

claims = {
    "default_is_auto": Options().implementation == Implementation.AUTO,
    "nothing_said_wishes_auto": wished["nothing said"] == ["auto"],
    "asked_for_wishes_nccl": wished["NCCL asked for"] == ["nccl"],
    "without_a_gpu_both_take_the_ring": all(
        any("RingReduce" in one for one in names) and "NcclReduce" not in names
        for names in took.values()
    ),
    "sums_are_right": all(numbers == [2.0, 2.0] for numbers in sums.values()),
    "nccl_without_a_gpu_only_warns": bool(warned["NCCL asked for"])
    and not warned["nothing said"],
}
