# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 6
# seconds = 120
# alone = true
# ///
"""A tf.data service of a dispatcher and two worker processes: who makes which elements, and a worker that is killed."""

import contextlib
import itertools
import json
import multiprocessing
import os
import signal
import socket
import statistics
import sys
import time
from collections import Counter

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

# --8<-- [start:servers]
service = tf.data.experimental.service


def dispatch(say):
    """Run the dispatcher: it knows the workers and hands out the work. Port 0 takes any that is free."""
    server = service.DispatchServer(service.DispatcherConfig(port=0))
    say(server.target)
    server.join()


def serve(say, target, port):
    """Run a worker: it makes elements for whoever asks."""
    address = target.removeprefix("grpc://")
    server = service.WorkerServer(
        service.WorkerConfig(address, port=port, heartbeat_interval_ms=200)
    )
    say("ready")
    server.join()


def told(cluster, task):
    """Return what a server says when it has started; raise if it has not."""
    kind, value = cluster.hear(task)
    if kind != "said":
        raise RuntimeError(f"{task.name} {kind}: {value}")
    return value


def start_service(cluster):
    """Start one dispatcher and two workers; return the dispatcher's address and the workers' processes and ports."""
    target = told(cluster, cluster.start("dispatcher", 0, dispatch))
    ports = [int(address.rpartition(":")[2]) for address in cluster.spec["worker"]]
    workers = [
        cluster.start("worker", index, serve, target, port)
        for index, port in enumerate(ports)
    ]
    for worker in workers:
        told(cluster, worker)
    return target, workers, ports


# --8<-- [end:servers]


# --8<-- [start:client]
def timed(data):
    """Return after how many seconds the first element came, the last, and the end."""
    start = time.perf_counter()
    came = [time.perf_counter() - start for _ in data]
    return came[0], came[-1], time.perf_counter() - start


def read(say, target):
    """Run in the training process: read the same data set in several ways."""
    numbers, more = tf.data.Dataset.range(100), tf.data.Dataset.range(2000)
    results = {}
    for policy in (service.ShardingPolicy.OFF, service.ShardingPolicy.DYNAMIC):
        results[policy.name] = [
            int(n) for n in numbers.apply(service.distribute(policy, target))
        ]
    from_service = service.distribute(service.ShardingPolicy.DYNAMIC, target)
    ways = {
        "local": numbers,
        "service": numbers.apply(from_service),
        "more": more.apply(from_service),
    }
    passes = {name: [timed(data) for _ in range(3)] for name, data in ways.items()}
    in_python = numbers.map(lambda n: tf.numpy_function(abs, [n], tf.int64))
    try:
        list(in_python.apply(from_service))
        error = ""
    except tf.errors.InvalidArgumentError as problem:
        lines = problem.message.splitlines()
        line = next(one for one in lines if one.startswith("ValueError: Could not"))
        error = f"{type(problem).__name__}: {line}"
    return results, passes, error


# --8<-- [end:client]

# --8<-- [start:run]
with Cluster(dispatcher=1, worker=2, client=1) as cluster:
    target, _, _ = start_service(cluster)
    results, passes, python_error = cluster.result(
        cluster.start("client", 0, read, target)
    )

times = {name: Counter(elements) for name, elements in results.items()}
for name, elements in results.items():
    print(f"{name}: {len(elements)} elements, {len(times[name])} different")
# The earliest of three is taken of each, since other programs may be running.
seconds = {
    name: [min(one) for one in zip(*three, strict=True)]
    for name, three in passes.items()
}
local_s = seconds["local"][-1]
first_s, last_s, end_s = seconds["service"]
print(f"100 elements without work: local {local_s:.3f} s")
print(
    f"from the service: first after {first_s:.2f} s, last after {last_s:.2f} s, end after {end_s:.2f} s"
)
# --8<-- [end:run]


# --8<-- [start:several]
def read_all(say, target):
    """Run in one of two training processes: read the same data set without a job name, and twice with one.

    Then start a job that does not end, and read other data under its name.
    """
    results, numbers = [], tf.data.Dataset.range

    def read(name, data):
        from_service = service.distribute(
            service.ShardingPolicy.DYNAMIC, target, job_name=name
        )
        return iter(data.apply(from_service))

    for name in (None, "run 1", "run 1"):
        results.append([int(n) for n in read(name, numbers(1000))])
    train = read("run 2", numbers(1000).repeat())
    next(train)
    validation = read("run 2", numbers(5000, 5020))
    results.append([int(n) for n, _ in zip(validation, range(20), strict=False)])
    return results


with Cluster(dispatcher=1, worker=2, client=2) as cluster:
    target, _, _ = start_service(cluster)
    clients = [cluster.start("client", index, read_all, target) for index in (0, 1)]
    own, shared, reused, other = zip(
        *(cluster.result(client) for client in clients), strict=True
    )
print("without a job name:", len(own[0]), "and", len(own[1]), "elements")
print("with one:", sum(map(len, shared)), "together,", end=" ")
print(len(set(shared[0]) & set(shared[1])), "of them in both")
print("the same name once more:", sum(map(len, reused)), "together")
print("of other data, under the name of a job that runs:", end=" ")
print(sum(n >= 5000 for n in other[0] + other[1]), "of", len(other[0] + other[1]))
# --8<-- [end:several]


# --8<-- [start:cache]
def read_cached(say, target):
    """Run in the training process: three epochs of random numbers, with a cache in three places."""
    from_service = service.distribute(service.ShardingPolicy.DYNAMIC, target)
    drawn = tf.data.Dataset.range(8).map(lambda n: tf.random.uniform([]))
    before = drawn.cache().apply(from_service)
    repeated = drawn.cache().repeat(3).apply(from_service)
    after = drawn.apply(from_service).cache()
    return {
        "cache, distribute": [float(u) for _ in range(3) for u in before],
        "cache, repeat, distribute": [float(u) for u in repeated],
        "distribute, cache": [float(u) for _ in range(3) for u in after],
    }


with Cluster(dispatcher=1, worker=2, client=1) as cluster:
    target, _, _ = start_service(cluster)
    cached = cluster.result(cluster.start("client", 0, read_cached, target))
made = {name: len(set(elements)) for name, elements in cached.items()}
for name, elements in cached.items():
    print(f"{name}: {len(elements)} elements in 3 epochs, made: {made[name]}")
# --8<-- [end:cache]


# --8<-- [start:zip]
ROWS = 1000


def read_pairs(say, target):
    """Run in the training process: a row and its label bear the same number."""
    from_service = service.distribute(service.ShardingPolicy.DYNAMIC, target)
    rows, labels = tf.data.Dataset.range(ROWS), tf.data.Dataset.range(ROWS)
    slices = tf.data.Dataset.from_tensor_slices((tf.range(ROWS), tf.range(ROWS)))
    seeds = tf.data.Dataset.random(seed=1, rerandomize_each_iteration=True)
    zipped = tf.data.Dataset.zip
    ways = {
        "zip, distribute": zipped(rows, labels).apply(from_service),
        "distribute each, zip": zipped(
            rows.apply(from_service), labels.apply(from_service)
        ),
        "slice both, distribute": slices.apply(from_service),
        "enumerate, distribute": rows.enumerate().apply(from_service),
        "zip with seeds, distribute": zipped(seeds, rows).apply(from_service),
        "distribute, zip with seeds": zipped(seeds, rows.apply(from_service)),
    }

    def read(data):
        """Read all, and once more if the rows come in order: one worker began late, and the other had taken all."""
        for _ in range(5):
            found = [(int(a), int(b)) for a, b in data]
            if any(b > later for (_, b), (_, later) in itertools.pairwise(found)):
                break
        return found

    return {name: read(data) for name, data in ways.items()}


with Cluster(dispatcher=1, worker=2, client=1) as cluster:
    target, _, _ = start_service(cluster)
    pairs = cluster.result(cluster.start("client", 0, read_pairs, target), 600)
right = {
    name: all(a == b for a, b in pairs[name])
    for name in ("zip, distribute", "distribute each, zip", "slice both, distribute")
}
again = {
    name: len({first for first, _ in pairs[name]}) < len(pairs[name])
    for name in pairs.keys() - right.keys()
}
for name, found in right.items():
    print(f"{name}: every row has its own label: {found}")
print("enumerate, distribute: numbers come twice:", again["enumerate, distribute"])
for name in ("zip with seeds, distribute", "distribute, zip with seeds"):
    print(f"{name}: seeds come twice: {again[name]}")
# --8<-- [end:zip]


# --8<-- [start:slow]
def slowly(n):
    """Take 20 ms. Python's sleep cannot travel to a worker; a slow data set can."""
    kind = {"output_types": [tf.int64], "output_shapes": [[]]}
    data = tf.raw_ops.TensorDataset(components=[n], output_shapes=[[]])
    # It sleeps twice: before its element, and before its end.
    slow = tf.raw_ops.SleepDataset(
        input_dataset=data, sleep_microseconds=10_000, **kind
    )
    return tf.raw_ops.DatasetToSingleElement(dataset=slow, **kind)[0]


def read_aloud(say, target, count, killed=None, then=lambda data: data):
    """Run in the training process: say each element when it comes. After 20, wait until `killed` is set."""
    from_service = service.distribute(service.ShardingPolicy.DYNAMIC, target)
    data = then(tf.data.Dataset.range(count).map(slowly))
    for heard, n in enumerate(data.apply(from_service), 1):
        say(int(n))
        if heard == 20 and killed:
            killed.wait()


def listen(cluster, client, seconds=120):
    """Take what the client says, until it ends or is silent for so long; return that, and how it ended."""
    heard = []
    while True:
        kind, value = cluster.hear(client, seconds)
        if kind != "said":
            return heard, kind
        heard.append(value)


# --8<-- [end:slow]

# --8<-- [start:kill]
COUNT = 120
with Cluster(dispatcher=1, worker=2, client=1) as cluster:
    target, workers, ports = start_service(cluster)
    killed = multiprocessing.get_context("fork").Event()
    client = cluster.start("client", 0, read_aloud, target, COUNT, killed)
    elements = [cluster.hear(client)[1] for _ in range(20)]
    workers[1].kill()
    killed.set()
    next_ten = [cluster.hear(client) for _ in range(10)]
    after_kill, ending = listen(cluster, client, 3)
    more_came = {kind for kind, _ in next_ten} == {"said"}
    print("a worker killed after 20 elements; more came:", more_came)
    print("then, for 3 seconds:", ending)

    told(cluster, cluster.start("worker", 1, serve, target, 0))
    after_another, ending_another = listen(cluster, client, 3)
    print("a new worker on another port:", ending_another)

    told(cluster, cluster.start("worker", 1, serve, target, ports[1]))
    after_return, ending_return = listen(cluster, client)
    print("a new worker on the port of the old one:", ending_return)
elements += [n for _, n in next_ten] + after_kill + after_another + after_return
lost, twice = COUNT - len(set(elements)), len(elements) - len(set(elements))
print("elements that came twice:", twice)
print("lost: fewer than the killed worker could hold:", lost < 10)
# --8<-- [end:kill]


# --8<-- [start:held]
def shuffle_all(data):
    """Shuffle over everything. Filling the buffer takes time, and so does what stands after it."""
    return data.shuffle(COUNT).map(slowly)


def kill_and_return():
    """Kill a worker after 20 elements, and start another at its address; return all elements that came."""
    with Cluster(dispatcher=1, worker=2, client=1) as cluster:
        target, workers, ports = start_service(cluster)
        killed = multiprocessing.get_context("fork").Event()
        args = target, COUNT, killed, shuffle_all
        client = cluster.start("client", 0, read_aloud, *args)
        first = [cluster.hear(client)[1] for _ in range(20)]
        workers[1].kill()
        killed.set()
        told(cluster, cluster.start("worker", 1, serve, target, ports[1]))
        rest, _ = listen(cluster, client)
    return first + rest


for _ in range(5):  # again if the killed worker began late: it then had little to lose
    shuffled = kill_and_return()
    held = COUNT - len(set(shuffled))
    if held > COUNT / 4:
        break
print("with a shuffle buffer of the whole set:")
print("elements that came twice:", len(shuffled) - len(set(shuffled)))
print("lost: more than half of the killed worker's share:", held > COUNT / 4)
# --8<-- [end:held]


# --8<-- [start:repeat]
def without_end(then):
    """Read 20 elements for ever, and kill a worker; return whether all of the next 200 came, and the last 100."""
    with Cluster(dispatcher=1, worker=2, client=1) as cluster:
        target, workers, _ = start_service(cluster)
        client = cluster.start("client", 0, read_aloud, target, 20, None, then)
        for _ in range(60):
            cluster.hear(client)
        workers[1].kill()
        steps = []
        while len(steps) < 200:
            kind, n = cluster.hear(client, 30)
            if kind != "said":
                break
            steps.append(n)
    return len(steps) == 200, set(steps[-100:])


goes_on, all_left = without_end(lambda data: data.repeat())
for _ in range(5):  # again if one worker began late: the other had taken all 20 by then
    cached_goes_on, left = without_end(lambda data: data.cache().repeat())
    if cached_goes_on and len(left) < 20:
        break
print("repeated for ever, a worker killed; the next 200 steps all came:", goes_on)
print("different elements in the last 100 of them:", len(all_left))
print("with a cache before the repeat, all came:", cached_goes_on)
print("and all 20 elements are among the last 100:", len(left) == 20)
# --8<-- [end:repeat]

waits = [end - last for name in ("service", "more") for _, last, end in passes[name]]
wait_s, wait_for_more_s = (statistics.median(three) for three in (waits[:3], waits[3:]))
claims = {
    "off_gives_each_element_once": set(times["OFF"].values()) == {1},
    "off_gives_each_element_once_per_worker": set(times["OFF"].values()) == {2}
    and len(times["OFF"]) == 100,
    "dynamic_gives_each_element_once": set(times["DYNAMIC"].values()) == {1}
    and len(times["DYNAMIC"]) == 100,
    "service_is_faster_on_small_data": end_s < local_s,
    "service_costs_half_a_second": end_s - local_s > 0.5,
    "the_first_element_comes_late": first_s > 0.75 * end_s,
    # It looks each second. How long after the last element that is, is left to chance.
    "the_end_comes_long_after_the_last_element": max(waits[:3]) > 0.25 * end_s,
    "the_end_comes_at_the_next_look": max(waits) > 0.25
    and statistics.median_low(waits) < 4,
    "each_process_gets_all_without_a_name": all(
        sorted(elements) == list(range(1000)) for elements in own
    ),
    "a_job_name_shares": sorted(shared[0] + shared[1]) == list(range(1000)),
    "a_used_name_gives_all_again": sum(map(len, reused)) == 1000,
    "a_used_name_gives_nothing": not any(reused),
    "a_running_name_gives_its_rows": max(other[0] + other[1]) < 5000,
    "a_cache_before_lasts_one_epoch": made["cache, distribute"] == 24,
    "a_repeat_keeps_that_cache": made["cache, repeat, distribute"] == 8
    and len(cached["cache, repeat, distribute"]) == 24,
    "a_cache_after_keeps_all": made["distribute, cache"] == 8,
    "python_functions_travel": python_error == "",
    "zip_keeps_pairs": right["zip, distribute"],
    "zip_after_distribute_keeps_pairs": right["distribute each, zip"],
    "slices_keep_pairs": right["slice both, distribute"]
    and len(set(pairs["slice both, distribute"])) == ROWS,
    "a_zipped_row_comes_twice": len({row for row, _ in pairs["zip, distribute"]})
    < len(pairs["zip, distribute"]),
    "enumerate_counts_over_all_workers": not again["enumerate, distribute"],
    "each_worker_draws_the_same_seeds": again["zip with seeds, distribute"]
    and not again["distribute, zip with seeds"],
    "survivor_goes_on": more_came,
    "epoch_ends_without_the_killed_worker": ending == "done",
    "killed_worker_raises": ending == "failed",
    "another_port_ends_the_epoch": ending_another == "done",
    "same_port_ends_the_epoch": ending_return == "done",
    "endless_data_goes_on": goes_on and len(all_left) == 20,
    "a_dead_workers_cache_is_gone": cached_goes_on and 0 < len(left) < 20,
    "elements_come_twice_after_a_kill": twice > 0,
    "a_shuffle_buffer_is_lost": held > COUNT / 4,
    "elements_come_twice_after_a_shuffle": len(shuffled) > len(set(shuffled)),
    "only_a_few_are_lost": 0 <= lost < 10,
}
errors = {"python_function": python_error}
measures = {
    "longer_s": end_s - local_s,
    "wait_s": wait_s,
    "wait_for_more_s": wait_for_more_s,
    "local_s": local_s,
    "service_s": end_s,
}
