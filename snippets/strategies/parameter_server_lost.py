# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 5
# seconds = 60
# ///
"""Take away the server, all workers or the coordinator of a parameter-server cluster, or start without a worker."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import sys
import time

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


# --8<-- [start:tasks]
def serve(say):
    """Be a worker or a parameter server: wait for work and do it."""
    # Notice at once when another task is gone.
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    me = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        me.cluster_spec(), job_name=me.task_type, task_index=me.task_id, protocol="grpc"
    ).join()


def coordinate(say):
    """Count steps on the parameter server, one after another."""
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        count = tf.Variable(0)
    step = tf.function(lambda: strategy.run(lambda: count.assign_add(1)))
    try:
        coordinator.schedule(lambda: count.assign_add(1))
    except TypeError as error:
        say(f"TypeError: {error}")
    for _ in range(2000):
        coordinator.schedule(step)
        coordinator.join()
        say(int(count.numpy()))
        time.sleep(0.02)


def begin(cluster, *jobs):
    """Start one task of each job; return them once the first step is done."""
    tasks = {
        job: cluster.start(job, 0, coordinate if job == "chief" else serve)
        for job in jobs
    }
    if "worker" in jobs:
        refused.append(cluster.hear(tasks["chief"])[1])
        cluster.hear(tasks["chief"])
    return tasks


def last(cluster, task, seconds):
    """Hear a task until it has said nothing new for `seconds`."""
    while (word := cluster.hear(task, seconds))[0] == "said":
        pass
    return word


WAIT, refused = 5, []
# --8<-- [end:tasks]

# --8<-- [start:server]
with Cluster(chief=1, worker=1, ps=1) as cluster:
    tasks = begin(cluster, "ps", "worker", "chief")
    tasks["ps"].kill()
    kind, text = last(cluster, tasks["chief"], 30)
print("the server is killed; the coordinator:", kind, text.split(":")[0])
# --8<-- [end:server]

# --8<-- [start:waits]
with contextlib.ExitStack() as stack:  # three clusters at once: waiting costs nothing
    clusters = [stack.enter_context(Cluster(chief=1, worker=1, ps=1)) for _ in range(3)]
    no_worker = begin(clusters[0], "ps", "chief")
    killed_worker, killed_chief = (
        begin(cluster, "ps", "worker", "chief") for cluster in clusters[1:]
    )
    killed_worker["worker"].kill()
    killed_chief["chief"].kill()
    time.sleep(WAIT)
    missing = last(clusters[0], no_worker["chief"], 0)[0]
    orphaned = last(clusters[1], killed_worker["chief"], 1)[0]
    left = [job for job in ("ps", "worker") if killed_chief[job].is_alive()]
print(f"the only worker never starts; the coordinator after {WAIT} s:", missing)
print(f"the only worker is killed; the coordinator after {WAIT} s:", orphaned)
print(f"the coordinator is killed; still running after {WAIT} s:", *left)
# --8<-- [end:waits]

# --8<-- [start:refused]
print(refused[0])
# --8<-- [end:refused]

claims = {
    "killed_server_is_fatal": kind == "failed"
    and text.startswith(("UnavailableError", "AbortedError")),
    "killed_server_is_survived": kind == "silent",
    "missing_worker_is_waited_for": missing == "silent",
    "missing_worker_raises": missing == "failed",
    "killed_workers_are_waited_for": orphaned == "silent",
    "orphans_stay": left == ["ps", "worker"],
    "schedule_refuses_python_functions": refused[0].startswith("TypeError"),
}
measures = {"waited_s": WAIT}
errors = {"schedule": refused[0]}
