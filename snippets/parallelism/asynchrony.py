# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 5
# seconds = 60
# alone = true
# ///
"""Train in real processes, in step and not in step, with one slow worker; record every read, wait and update."""

import contextlib
import json
import multiprocessing
import os
import pathlib
import signal
import socket
import sys
import tempfile

import numpy as np
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
# Seconds of a step on each worker: a wait stands for the accelerator's time.
WAITS = [0.02, 0.08]
# loss = (1.0 * a ** 2 + 0.1 * b ** 2) / 2, from a = b = 1.
CURVATURES = np.array([1.0, 0.1], "float32")
STEPS, UPDATES = 12, 40


def pause(seconds: tf.Tensor) -> tf.Tensor:
    """Return 0 after a while. Python's sleep cannot run in another process's graph; a slow data set can.

    It sleeps twice: before its only element, and before its end.
    """
    kind = {"output_types": [tf.int32], "output_shapes": [[]]}
    data = tf.raw_ops.TensorDataset(components=[0], output_shapes=[[]])
    slow = tf.raw_ops.SleepDataset(
        input_dataset=data, sleep_microseconds=tf.cast(5e5 * seconds, tf.int64), **kind
    )
    return tf.raw_ops.DatasetToSingleElement(dataset=slow, **kind)[0]


def compute(
    weights: tf.Tensor, seconds: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Return the gradient, and when its computation started and ended."""
    with tf.control_dependencies([weights]):
        begun = tf.timestamp()
    with tf.control_dependencies([begun]):
        paused = pause(seconds)
    with tf.control_dependencies([paused]):
        ended = tf.timestamp()
    with tf.control_dependencies([ended]):
        return CURVATURES * weights, {"begun": begun, "ended": ended}


# --8<-- [end:work]


# --8<-- [start:in_step]
def in_step(say, worker, rates):
    """Run in each of two workers: MultiWorkerMirroredStrategy waits for both before it updates."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable([1.0, 1.0], aggregation=tf.VariableAggregation.MEAN)

    @tf.function
    def step(rate):
        def on_replica():
            gradient, times = compute(
                weights.read_value(), tf.constant(WAITS[worker], tf.float64)
            )
            # MEAN: the all-reduce, and so the waiting, is here.
            weights.assign_sub(rate * gradient)
            after = weights.read_value()
            with tf.control_dependencies([after]):
                return times | {"updated": tf.timestamp(), "after": after}

        return strategy.run(on_replica)

    step(tf.constant(0.0))  # traces the function and connects the workers
    runs = {}
    for rate in rates:
        weights.assign([1.0, 1.0])
        runs[rate] = [
            {name: value.numpy() for name, value in step(tf.constant(rate)).items()}
            for _ in range(STEPS)
        ]
    return strategy.num_replicas_in_sync, runs


# --8<-- [end:in_step]


# --8<-- [start:not_in_step]
def serve(say, job, index, folder):
    """Run in each worker and in the parameter server: wait for work. A worker reads data from its own folder."""
    os.chdir(folder)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=job, task_index=index, protocol="grpc"
    )
    return server.target.partition(":")[0]


def not_in_step(say, rates, updates):
    """Run in the coordinator: schedule steps; each worker takes the next one as soon as it is free."""
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        # The weights, and how often they were updated: read in one go.
        state = tf.Variable([1.0, 1.0, 0.0])
    dataset = coordinator.create_per_worker_dataset(
        lambda: tf.data.TextLineDataset("worker.txt").repeat()
    )
    iterator = iter(dataset)

    @tf.function
    def step(iterator, rate):
        worker = tf.strings.to_number(next(iterator), tf.int32)
        read = state.read_value()
        gradient, times = compute(
            read[:2], tf.gather(tf.constant(WAITS, tf.float64), worker)
        )
        state.assign_sub(tf.concat([rate * gradient, [-1.0]], 0))
        return times | {"worker": worker, "read": read[2], "after": state.read_value()}

    def run(rate, count):
        took_part = [0, 0]
        while min(took_part) < count / 6:  # again if one worker was late
            state.assign([1.0, 1.0, 0.0])
            results = [
                coordinator.schedule(step, args=(iterator, tf.constant(rate)))
                for _ in range(count)
            ]
            coordinator.join()
            updates = [
                {name: np.asarray(value) for name, value in result.fetch().items()}
                for result in results
            ]
            took_part = np.bincount([u["worker"] for u in updates], minlength=2)
        # The updates are sorted into the order in which they were made.
        return sorted(updates, key=lambda update: update["after"][2])

    run(0.0, 8)  # traces the function on every worker
    return (
        strategy.num_replicas_in_sync,
        state.device,
        {rate: run(rate, updates) for rate in rates},
    )


# --8<-- [end:not_in_step]

# --8<-- [start:run]
RATES = [0.3, 1.5]
with Cluster(worker=2) as cluster:
    tasks = [cluster.start("worker", i, in_step, i, RATES) for i in range(2)]
    sync_replicas, sync = zip(*[cluster.result(task) for task in tasks], strict=True)

with (
    tempfile.TemporaryDirectory() as folder,
    Cluster(chief=1, worker=2, ps=1) as cluster,
):
    for job, index in (("ps", 0), ("worker", 0), ("worker", 1)):
        own = pathlib.Path(folder, f"{job}{index}")
        own.mkdir()
        (own / "worker.txt").write_text(f"{index}\n")
        cluster.start(job, index, serve, job, index, str(own))
    chief = cluster.start("chief", 0, not_in_step, RATES, UPDATES)
    free_replicas, server, free = cluster.result(chief)


def per_second(run: list[dict], worker: int) -> float:
    """Return the pace of a worker, by the median of its steps: a busy moment makes only a few of them longer."""
    ends = [step["ended"] for step in run if step.get("worker", worker) == worker]
    return 1 / float(np.median(np.diff(ends)))


sync_rate = per_second(sync[0][0.3], 0)
free_rate = per_second(free[0.3], 0) + per_second(free[0.3], 1)
stale = {
    rate: [int(update["after"][2] - 1 - update["read"]) for update in free[rate]]
    for rate in RATES
}
print(
    f"in step:     {sync_rate:.1f}/s updates, each with the gradients of 2 workers, none stale"
)
print(
    f"not in step: {free_rate:.1f}/s updates, each with the gradient of 1 worker, some stale:",
    max(stale[0.3]) > 0,
)
# --8<-- [end:run]


# --8<-- [start:loss]
def loss(weights) -> float:
    """Return the loss at these weights."""
    return float((CURVATURES * np.square(weights[:2])).sum() / 2)


def over_time(run: list[dict], when: str, moments: np.ndarray) -> list[float]:
    """Return the loss of the newest weights at each moment after the start of a run."""
    start = min(update["begun"] for update in run)
    newest = np.searchsorted(
        [update[when] - start for update in run], moments, side="right"
    )
    return [loss([1.0, 1.0]) if n == 0 else loss(run[n - 1]["after"]) for n in newest]


curves, late, moments = {}, {}, np.linspace(0, 1, 33)
for rate in RATES:
    curves[rate] = (
        over_time(sync[0][rate], "updated", moments),
        over_time(free[rate], "ended", moments),
    )
    # Not in step it may jump up and down: the highest of the last ten counts.
    last_ten = [loss(update["after"]) for update in free[rate][-10:]]
    late[rate] = loss(sync[0][rate][-1]["after"]), max(last_ten)
    better = "in step" if late[rate][0] < late[rate][1] else "not in step"
    print(f"rate {rate}: lower loss after {STEPS} or {UPDATES} updates: {better}")


def replay(rate: float) -> np.ndarray:
    """Return, in NumPy, the weights that the recorded reads lead to."""
    history = [np.array([1.0, 1.0])]
    for update in free[rate]:
        history.append(history[-1] - rate * CURVATURES * history[int(update["read"])])
    return history[-1]


# --8<-- [end:loss]

# One device, no staleness.
exact = {rate: (1 - rate * CURVATURES) ** STEPS for rate in RATES}
ends = [{rate: run[rate][-1]["after"] for rate in RATES} for run in (*sync, free)]
claims = {
    "in_step_equals_one_device": all(
        np.allclose(end[r], exact[r], rtol=1e-3, atol=1e-5)
        for end in ends[:2]
        for r in RATES
    ),
    "in_step_weights_equal_on_workers": all(
        bool((ends[0][r] == ends[1][r]).all()) for r in RATES
    ),
    "fast_worker_waits_for_slow_one": all(
        fast["updated"] > slow["ended"]
        for fast, slow in zip(*(run[0.3] for run in sync), strict=True)
    ),
    "not_in_step_reads_are_stale": max(stale[0.3]) > 0,
    "not_in_step_reads_are_fresh": max(stale[0.3]) == 0,
    "staleness_explains_the_weights": bool(
        np.allclose(replay(0.3), ends[2][0.3][:2], rtol=1e-2, atol=1e-4)
    ),
    "not_in_step_more_updates_per_second": free_rate > sync_rate,
    "not_in_step_lower_loss_at_small_rate": late[0.3][1] < late[0.3][0],
    "not_in_step_lower_loss_at_large_rate": late[1.5][1] < late[1.5][0],
    "not_in_step_falls_at_first": loss(free[1.5][0]["after"]) < loss([1.0, 1.0]) / 2,
    "not_in_step_diverges_at_large_rate": late[1.5][1] > loss([1.0, 1.0]),
    "in_step_diverges_at_large_rate": loss(ends[0][1.5]) > loss([1.0, 1.0]),
    "weights_on_the_server": "/job:ps/" in server,
    "one_replica_in_sync": free_replicas == 1,
    "two_replicas_in_sync": sync_replicas == (2, 2),
}
measures = {
    "in_step_per_s": sync_rate,
    "not_in_step_per_s": free_rate,
    "more_updates_x": free_rate / sync_rate,
}


def spans(pieces: list[tuple]) -> list[dict]:
    """Return the pieces of work (worker, start, end, label, group) as spans in milliseconds."""
    zero = min(start for _, start, *_ in pieces)
    return [
        {
            "lane": int(w),
            "start": 1000 * (a - zero),
            "end": 1000 * (b - zero),
            "label": label,
            "group": group,
        }
        for w, a, b, label, group in sorted(pieces)
    ]


work = [
    (w, s["begun"], s["ended"], str(i), "computes")
    for w in (0, 1)
    for i, s in enumerate(sync[w][0.3][:3])
]
wait = [
    (w, s["ended"], s["updated"], "", "waits for the other")
    for w in (0, 1)
    for s in sync[w][0.3][:3]
]
steps = [
    (int(u["worker"]), u["begun"], u["ended"], str(n), "computes")
    for u, n in zip(free[0.3], stale[0.3], strict=True)
]
apart = [
    piece
    for w, count in enumerate([9, 3])
    for piece in [one for one in steps if one[0] == w][:count]
]
line = {
    "kind": "timeline",
    "xlabel": "milliseconds",
    "lanes": ["worker 0 (fast)", "worker 1 (slow)"],
}
figures = {
    "timelines": {
        "kind": "panels",
        "columns": 1,
        "panels": [
            line
            | {"title": "In step; the number is the step", "spans": spans(work + wait)},
            line
            | {
                "title": "Not in step; the number is the staleness of the update",
                "spans": spans(apart),
            },
        ],
    },
    "loss": {
        "kind": "panels",
        "columns": 2,
        "panels": [
            {
                "kind": "lines",
                "timing": True,
                "title": f"Learning rate {rate}",
                "xlabel": "milliseconds",
                "ylabel": "loss",
                "yscale": "log",
                "x": [1000 * moment for moment in moments],
                "series": {"in step": curves[rate][0], "not in step": curves[rate][1]},
            }
            for rate in RATES
        ],
    },
}
