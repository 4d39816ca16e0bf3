# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 60
# ///
"""Send SIGTERM to a worker and see it train on; kill it, start only it again, and see why that does not help."""

import contextlib
import itertools
import json
import multiprocessing
import os
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


# --8<-- [start:work]
def count(say):
    """Step after step, add up a one from each worker. Every step needs all of them."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    @tf.function
    def step():
        ones = strategy.run(lambda: tf.constant(1.0))
        return strategy.reduce("SUM", ones, axis=None)

    for number in itertools.count():  # it waits in `say` when the pipe is full
        step()
        say(number)


def hear_steps(cluster, task, steps):
    """Hear the next steps of a task: how many came, and the last word."""
    for done in range(steps):
        kind, text = cluster.hear(task)
        if kind != "said":
            return done, kind, text
    return steps, kind, text


WAIT = 5  # seconds of silence
# --8<-- [end:work]

# --8<-- [start:terminate]
with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", index, count) for index in range(2)]
    hear_steps(cluster, tasks[1], 100)
    # SIGTERM: what a scheduler sends before it takes the machine away.
    tasks[1].terminate()
    after_term = hear_steps(cluster, tasks[1], 500)
    print("steps heard from worker 1 after SIGTERM:", after_term[0])
    # --8<-- [end:terminate]

    # --8<-- [start:replace]
    tasks[1].kill()
    tasks[1].join()
    survivor = hear_steps(cluster, tasks[0], 10_000)
    tasks[0].join()
    replacement = cluster.start("worker", 1, count)
    newcomer = cluster.hear(replacement, WAIT)
    cluster.start("worker", 0, count)
    together = cluster.hear(replacement)
    print("worker 0, the survivor:", survivor[1])
    print(f"worker 1, started again alone: {newcomer[0]} for {WAIT} s")
    print(
        "both started again: worker 1", "steps" if together[0] == "said" else together
    )
    # --8<-- [end:replace]
claims = {
    "sigterm_ends_the_worker": after_term[1] != "said",
    "sigterm_is_ignored": after_term[:2] == (500, "said") and after_term[2] > 500,
    "survivor_raises": survivor[1] == "failed"
    and survivor[2].startswith(("UnavailableError", "AbortedError")),
    "survivor_goes_on": survivor[1] == "said",
    "replacement_waits_in_silence": newcomer[0] == "silent",
    "replacement_joins": newcomer[0] == "said",
    "restarting_the_other_too_helps": together[0] == "said",
}
