# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 150
# ///
"""Send SIGTERM to a PreemptionCheckpointHandler on a simulated machine of Google Cloud, and elsewhere."""

import contextlib
import http.server
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
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


def pretend(google):
    """Answer, or not, as the metadata server of a machine of Google Cloud does."""

    class Metadata(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if google else 404)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["GCE_METADATA_IP"] = f"127.0.0.1:{server.server_port}"
    os.environ["NO_PROXY"] = "127.0.0.1"


# --8<-- [start:watch]
def watch():
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())  # after the strategy is made
    return tf.distribute.experimental.TerminationConfig(
        termination_watcher_fn=told.is_set, grace_period=0, exit_fn=lambda: sys.exit(42)
    )


# --8<-- [end:watch]


def train(say, folder, google, until):
    pretend(google)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        rows = tf.Variable(0.0)
    done = tf.Variable(0, dtype=tf.int64)
    backup = tf.train.Checkpoint(rows=rows, done=done)
    handler = tf.distribute.experimental.PreemptionCheckpointHandler(
        strategy.cluster_resolver, backup, f"{folder}/kept", watch()
    )

    @tf.function
    def step():
        def replica_step():
            rows.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", 1.0))

        strategy.run(replica_step)

    while int(done) < until:
        handler.run(step)
        done.assign_add(1)
        say(int(done))
        time.sleep(0.05)
    return float(rows.numpy())


def run(folder, google, until, terminate=True):
    """Train in two processes; return the steps of both and their last words."""
    with Cluster(worker=2) as cluster:
        tasks = [
            cluster.start("worker", index, train, folder, google, until)
            for index in range(2)
        ]
        steps, ends = [], []
        for task in reversed(tasks):
            heard = []
            while (word := cluster.hear(task))[0] == "said":
                heard.append(word[1])
                if terminate and task is tasks[1] and len(heard) == 5:
                    task.terminate()
            steps.append(heard)
            ends.append(word[1])
    return steps, ends


with tempfile.TemporaryDirectory() as folder:
    (steps, _), ends = run(folder, google=False, until=10_000)
    saved = {*os.listdir(f"{folder}/kept")}
    print("elsewhere, after a SIGTERM to one worker:", *ends)

    (cloud, _), _ = run(folder, google=True, until=60)
    print("Google Cloud, no GPU: first step", cloud[0], "- last", cloud[-1])
    unchanged = {*os.listdir(f"{folder}/kept")} == saved
    print("its backups are those from before:", unchanged)

    last = steps[-1]
    (again, _), total = run(folder, google=False, until=last + 3, terminate=False)

claims = {
    "own_watcher_makes_both_leave": ends == ["SystemExit: 42"] * 2,
    "own_watcher_saves": bool(saved),
    "continues_where_it_left": again == [last + 1, last + 2, last + 3],
    "rows_are_two_a_step": total == [2.0 * (last + 3)] * 2,
    "google_cpu_ignores_the_signal": cloud[-1] == 60,
    "google_cpu_restores": cloud[0] != 1,
    "google_cpu_saves": not unchanged,
}
