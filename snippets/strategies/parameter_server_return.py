# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 5
# seconds = 60
# ///
"""Kill a worker under a parameter server and bring it back: training goes on, and one step runs twice."""

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

# --8<-- [start:coordinate]
STEPS = 80
WAITS_IN = [70, 5]  # the step in which worker 0, or 1, waits


def serve(say):
    """Be a worker or a parameter server: wait for work and do it."""
    # Notice at once when another task is gone.
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    me = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        me.cluster_spec(), job_name=me.task_type, task_index=me.task_id, protocol="grpc"
    ).join()


def coordinate(say):
    """Schedule all steps at once, and report how many each worker has begun."""
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    log = []
    tf.get_logger().addFilter(lambda entry: log.append(entry.getMessage()) or True)
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        counts = tf.Variable([0, 0])  # on the parameter server: it outlives the workers

    def replica_step():
        worker = tf.distribute.coordinator.experimental_get_current_worker_index()
        # The update comes first, then 0.3 seconds of other work.
        counts.assign_add(tf.one_hot(worker, 2, dtype=tf.int32))
        # These steps last until worker 1 counts its sixth. It is killed in its fifth;
        # worker 0 waits only if it reaches its 70th before worker 1 is back.
        waits = tf.gather(counts, worker) == tf.gather(WAITS_IN, worker)
        began, turns = tf.timestamp(), tf.constant(0)
        while tf.timestamp() - began < 0.3 or (waits and counts[1] < 6):
            turns += 1
        with tf.control_dependencies([turns]):
            return worker, began, tf.timestamp()

    @tf.function
    def step():
        return strategy.run(replica_step)

    results = [coordinator.schedule(step) for _ in range(STEPS)]
    while not coordinator.done():
        say((time.time(), *counts.numpy().tolist()))
        time.sleep(0.02)
    coordinator.join()
    return (
        counts.numpy().tolist(),
        [[float(value) for value in result.fetch()] for result in results],
        log,
    )


# --8<-- [end:coordinate]

# --8<-- [start:run]
with Cluster(chief=1, worker=2, ps=1) as cluster:
    cluster.start("ps", 0, serve)
    _, victim = (cluster.start("worker", index, serve) for index in range(2))
    chief = cluster.start("chief", 0, coordinate)
    # Until worker 1 has begun, and counted, its fifth step:
    while cluster.hear(chief)[1][2] < 5:
        pass
    victim.kill()
    killed = time.time()
    # For a second, and until worker 0 begins another step, or waits:
    while (heard := cluster.hear(chief)[1])[0] < killed + 1:
        pass
    while cluster.hear(chief)[1][1] == heard[1] < WAITS_IN[0]:
        pass
    returned = time.time()
    cluster.start("worker", 1, serve)  # at its old address
    while (answer := cluster.hear(chief))[0] == "said":
        pass
counts, spans, log = answer[1]

second = sorted(began for worker, began, _ in spans if worker == 1)
late = [began for began in second if began > returned]
alone = sum(worker == 0 and killed < began < late[0] for worker, began, _ in spans)
print("steps scheduled:", STEPS, "- steps counted on the server:", sum(counts))
print("while worker 1 is away, worker 0 does steps:", alone > 0)
print(f"worker 1 is at work again {late[0] - returned:.1f} s after its return")
print("the coordinator says:", log[0].partition("()")[0])
# --8<-- [end:run]

claims = {
    "training_goes_on": alone > 0,
    "training_stops": alone == 0,
    "worker_comes_back": len(late) > 0,
    "killed_step_ran_twice": sum(counts) == STEPS + 1,
    "every_step_ran_exactly_once": sum(counts) == STEPS,
    "killed_step_is_lost": sum(counts) < STEPS,
    "coordinator_warns": log[0].startswith(
        "Worker /job:worker/replica:0/task:1 failed with UnavailableError"
    ),
}
measures = {
    "scheduled": STEPS,
    "counted": sum(counts),
    "back_after_s": late[0] - returned,
}
zero = min(began for _, began, _ in spans)
away = {
    "lane": 1,
    "start": killed - zero,
    "end": returned - zero,
    "label": "no process",
    "group": "no process",
}
figures = {
    "timeline": {
        "kind": "timeline",
        "title": "Worker 1 is killed, and returns",
        "xlabel": "seconds",
        "lanes": ["worker 0", "worker 1"],
        "spans": [
            {
                "lane": int(worker),
                "start": began - zero,
                "end": ended - zero,
                "group": "a step",
            }
            for worker, began, ended in sorted(spans)
        ]
        + [away],
    }
}
