# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 60
# env = { TF_CPP_MIN_LOG_LEVEL = "0" }
# ///
"""Watch workers that wait for each other for ever, read in the log who is missing, and put a limit to the waiting."""

import contextlib
import faulthandler
import json
import multiprocessing
import os
import re
import signal
import socket
import sys
import tempfile
import time
from multiprocessing import connection
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
def work(say, log, limit):
    """One collective, which needs every worker. TensorFlow's log goes to a file."""
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
    if limit:
        # After that many seconds, say where the program stands, and end it.
        faulthandler.dump_traceback_later(limit, exit=True)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    try:
        ones = strategy.run(lambda: tf.constant(1.0))
        total = float(strategy.reduce("SUM", ones, axis=None))
    except tf.errors.UnavailableError as error:
        # It stays: the end of this task would be another error for the others.
        return f"{type(error).__name__}: {error}"
    faulthandler.cancel_dump_traceback_later()  # the cluster is there
    return f"{strategy.num_replicas_in_sync} replicas, the sum of ones is {total:.0f}"


def start(cluster, listed, index, limit=0):
    """Start a task whose TF_CONFIG lists these addresses, each named by a letter."""
    addresses = [cluster.spec["worker"]["abc".index(letter)] for letter in listed]
    config = json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    )
    handle, name = tempfile.mkstemp(dir=folder.name)
    os.close(handle)
    log = Path(name)
    task = cluster.start("worker", index, work, log, limit, config=config)
    task.log = log
    return task


def shorten(kind, text):
    """Cut a message to the part that is the same in every run."""
    text = re.sub(r"\{\{.*?\}\} |; last error.*", "", str(text).splitlines()[0])
    return "still waiting" if kind == "silent" else text


# --8<-- [end:work]

# --8<-- [start:waits]
wait = 5  # seconds
cases = {
    "worker 1 never starts": [("ab", 0)],
    "worker 0 never starts": [("ab", 1)],
    "two workers have index 0": [("ab", 0), ("ab", 0)],
    "one list is in another order": [("ab", 0), ("ba", 1)],
    "one list has a wrong address": [("ac", 0), ("ab", 1)],
}
folder, outcomes = tempfile.TemporaryDirectory(), {}
with contextlib.ExitStack() as stack:
    clusters = {case: stack.enter_context(Cluster(worker=3)) for case in cases}
    tasks = {
        case: [start(clusters[case], *task) for task in cases[case]] for case in cases
    }
    # First let all come to where they raise or wait, however long this takes.
    for two in [two for two in tasks.values() if len(two) == 2]:
        connection.wait([task.ear for task in two])
    [patient], [deaf] = tasks["worker 1 never starts"], tasks["worker 0 never starts"]
    signs = {patient: "/job:worker/replica:0/task:1\n", deaf: "Started server"}
    while not all(sign in task.log.read_text() for task, sign in signs.items()):
        time.sleep(0.1)
    # Whichever task is silent until this one has used up its limit is still waiting.
    while True:
        limited = start(stack.enter_context(Cluster(worker=3)), "ab", 0, limit=wait)
        limited.join()
        if signs[patient] in limited.log.read_text():
            break
        wait *= 2  # the limit was over before it came to where it waits
    for case, cluster in clusters.items():
        outcomes[case] = sorted(shorten(*cluster.hear(task, 0)) for task in tasks[case])
        print(f"{case}:", "; ".join(outcomes[case]))

    # The first case once more: its missing worker starts after all.
    cluster = clusters["worker 1 never starts"]
    log = patient.log.read_text()
    late = [cluster.result(task) for task in (start(cluster, "ab", 1), patient)]
    print("worker 1 starts late:", "; ".join(late))
# --8<-- [end:waits]

# --8<-- [start:log]
# This drops the time, the process and the source line.
lines = [re.sub(r"^I\d+.*?\] ", "", line) for line in log.splitlines()]
missing = [
    line
    for line in lines
    if "tasks to connect" in line or re.fullmatch(r"/job:\S+", line)
]
print("the log of worker 0 says:", *missing)
others = deaf.log.read_text()
print("the log of worker 1 names worker 0:", "task:0" in others)

traceback = limited.log.read_text()
where = [
    line.split('"')[1].rpartition("site-packages/")[2]
    for line in traceback.splitlines()
    if "File" in line
]
print("at the time limit, worker 0 is in", where[1])
# --8<-- [end:log]
folder.cleanup()

claims = {
    "missing_worker_1_is_waited_for": outcomes["worker 1 never starts"]
    == ["still waiting"],
    "missing_worker_0_is_waited_for": outcomes["worker 0 never starts"]
    == ["still waiting"],
    "missing_worker_raises": "Error" in outcomes["worker 1 never starts"][0],
    "late_worker_is_welcome": late == ["2 replicas, the sum of ones is 2"] * 2,
    "double_index_one_raises_one_waits": outcomes["two workers have index 0"]
    == ["UnknownError: Could not start gRPC server", "still waiting"],
    "other_order_one_raises_one_waits": outcomes["one list is in another order"]
    == ["UnknownError: Could not start gRPC server", "still waiting"],
    "wrong_address_raises_unavailable": any(
        "Unavailable" in text for text in outcomes["one list has a wrong address"]
    ),
    "log_of_worker_0_names_the_missing": "/job:worker/replica:0/task:1" in missing,
    "log_of_worker_1_names_the_missing": "task:0" in others,
    "time_limit_names_the_line": where[1].endswith("collective_all_reduce_strategy.py")
    and limited.exitcode != 0,
}
measures = {"waited_s": wait}
errors = {
    "double_index": "UnknownError: Could not start gRPC server",
    "wrong_address": next(
        text
        for text in outcomes["one list has a wrong address"]
        if "Unavailable" in text
    ),
}
