# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 60
# ///
"""Look for a TPU in every usual way on a machine that has none: errors, a wrong impression, and an endless wait."""

import contextlib
import json
import multiprocessing
import os
import re
import signal
import socket
import sys

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


# --8<-- [start:probes]
def resolve(tpu):
    return tf.distribute.cluster_resolver.TPUClusterResolver(tpu=tpu)


def initialize(tpu):
    resolver = resolve(tpu)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)


def compute(soft):
    tf.config.set_soft_device_placement(soft)  # True is the default
    with tf.device("TPU:0"):
        return (tf.constant([1.0]) + 1.0).device.rpartition("/")[2]


def probe(say, work, argument):
    for name in [
        name for name in os.environ if name.startswith(("TPU", "KUBE_GOOGLE"))
    ]:
        del os.environ[name]  # what could name a TPU
    answer = work(argument)
    return answer if isinstance(answer, str) else type(answer).__name__


WAIT = 5  # seconds
held = Cluster(tpu=1)  # a free port: nobody listens there
nobody = "grpc://" + held.spec["tpu"][0]
probes = {
    'TPUClusterResolver("")': (resolve, ""),
    'TPUClusterResolver("local")': (resolve, "local"),
    'set up "local"': (initialize, "local"),
    "set up an address where nobody listens": (initialize, nobody),
    'compute on "TPU:0"': (compute, True),
    'compute on "TPU:0", soft placement off': (compute, False),
}
# --8<-- [end:probes]

# --8<-- [start:run]
with held, Cluster() as cluster:  # each in a process of its own
    tasks = {
        name: cluster.start("probe", 0, probe, *what, config="{}")
        for name, what in probes.items()
    }
    silent = "set up an address where nobody listens"
    answers = {
        name: cluster.hear(task, WAIT if name == silent else 120)
        for name, task in tasks.items()
    }

for name, (kind, text) in answers.items():
    print(
        f"{name}: {kind}",
        re.split(r": No OpKernel|\. enable_soft", text or f"for {WAIT} s")[0],
    )
# --8<-- [end:run]

no_name, local, local_set_up, address, soft, hard = answers.values()
claims = {
    "no_name_raises_value_error": no_name[1].startswith("ValueError"),
    "local_resolves": local[0] == "done",
    "local_raises_value_error": "ValueError" in local[1] + local_set_up[1],
    "local_set_up_raises_not_found": local_set_up[1].startswith("NotFoundError"),
    "address_is_waited_for": address[0] == "silent",
    "tpu_device_computes_on_the_cpu": soft == ("done", "device:CPU:0"),
    "tpu_device_raises": soft[0] == "failed",
    "without_soft_placement_it_raises": hard[0] == "failed",
}
measures = {"waited_s": WAIT}
errors = {
    "no_name": no_name[1],
    "not_found": local_set_up[1].partition(" used by")[0],
    "no_device": hard[1].partition(". enable_soft")[0],
}
