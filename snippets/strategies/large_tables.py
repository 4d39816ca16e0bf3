# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "tf-keras==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 6
# seconds = 120
# ///
"""Make a table part by part on its servers, train it with Adagrad, and go on with another number of servers."""

import contextlib
import functools
import json
import multiprocessing
import os
import signal
import socket
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf
import tf_keras


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


# --8<-- [start:serve]
WORDS, WIDTH, BATCH, STEPS, RATE = 1000, 8, 16, 10, 0.1
random = np.random.default_rng(0)
ids = random.integers(0, WORDS, size=(2 * STEPS, BATCH))
labels = np.sin(ids)[..., None].astype("float32")


def serve(say):
    """Be a worker or a parameter server."""
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    me = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        me.cluster_spec(), job_name=me.task_type, task_index=me.task_id, protocol="grpc"
    ).join()


# --8<-- [end:serve]


# --8<-- [start:rows]
def connect(servers):
    """Return a strategy that cuts what is larger than 2 kB into a part for each server."""
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    return tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver(),
        variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
            min_shard_bytes=1_000, max_shards=servers
        ),
    )


def rows(partition_shape=(WORDS, WIDTH), partition_offset=(0, 0)):
    """Return the first values of one part of the table, with random numbers of its own."""
    seed = [7, partition_offset[0]]
    return tf.random.stateless_uniform(partition_shape, seed, -0.05, 0.05)


def make_table():
    """Return the table; call this in the scope of the strategy."""
    return tf.Variable(rows, shape=(WORDS, WIDTH), dtype=tf.float32, name="table")


# --8<-- [end:rows]


# --8<-- [start:ways]
def compare_ways(strategy):
    """Make the table in six ways; note the values made, and whether the parts are equal."""
    whole = {"shape": (WORDS, WIDTH), "dtype": tf.float32}
    made = []

    def noting(function):
        def noted(**part):
            value = function(**part)
            made.append((tuple(value.shape), value.device))
            return value

        return noted

    def filled(initializer):
        return noting(functools.partial(initializer, **whole))

    uniform = tf.random_uniform_initializer
    ways = {
        "a value: rows()": lambda: tf.Variable(noting(rows)()),
        "rows": lambda: tf.Variable(noting(rows)),
        "rows, shape, dtype": lambda: tf.Variable(noting(rows), **whole),
        "tf.initializers.RandomUniform()": lambda: tf.Variable(
            filled(tf.initializers.RandomUniform()), **whole
        ),
        "tf.random_uniform_initializer()": lambda: tf.Variable(
            filled(uniform()), **whole
        ),
        "tf.random_uniform_initializer(seed=7)": lambda: tf.Variable(
            filled(uniform(seed=7)), **whole
        ),
    }
    outcome = {}
    for name, make in ways.items():
        made.clear()
        with strategy.scope():
            first, second = make().variables
        outcome[name] = list(made), bool(np.all(first.numpy() == second.numpy()))
    return outcome


# --8<-- [end:ways]


# --8<-- [start:probe]
def probe(say, folder):
    """Compare the ways; note how slots begin and are saved; then leave out a name."""
    strategy, values = connect(2), []
    say(compare_ways(strategy))

    def note(next_creator, **arguments):
        value = tf.convert_to_tensor(arguments["initial_value"])
        values.append((tuple(value.shape), value.device))
        return next_creator(**arguments)

    with strategy.scope():
        named = make_table()
        with tf.variable_creator_scope(note):
            tf_keras.optimizers.Adagrad().build(named.variables)
        say([value for value in values if value[0]])
        keras3 = keras.optimizers.Adagrad()
        keras3.build(named.variables)
        path = tf.train.Checkpoint(optimizer=keras3).save(f"{folder}/keras3")
        say([shape for _, shape in tf.train.list_variables(path) if shape])
        unnamed = tf.Variable(rows, shape=(WORDS, WIDTH), dtype=tf.float32)
        try:
            tf_keras.optimizers.Adagrad().build(unnamed.variables)
        except ValueError as error:
            return f"{type(error).__name__}: {error}"


# --8<-- [end:probe]


# --8<-- [start:held]
def held_by(table, optimizer, servers):
    """Return the bytes that each server holds of a table and its slots."""
    slots = [slot for slot in optimizer.variables if hasattr(slot, "variables")]
    held = [0] * servers
    for part in [part for whole in (table, *slots) for part in whole.variables]:
        server = tf.DeviceSpec.from_string(part.device).task
        held[server] += int(tf.size(part)) * part.dtype.size
    return held


# --8<-- [end:held]


# --8<-- [start:train]
def train(say, servers, begin, folder):
    """Train a table with each optimizer, from the newest checkpoint if there is one."""
    strategy = connect(servers)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    optimizers = {
        "SGD": tf_keras.optimizers.SGD(RATE),
        "Adagrad": tf_keras.optimizers.Adagrad(RATE),
        "Adam": tf_keras.optimizers.Adam(RATE),
    }
    with strategy.scope():
        tables = {name: make_table() for name in optimizers}
        for name, optimizer in optimizers.items():
            optimizer.build(tables[name].variables)  # the slots of each part
    backup = tf.train.Checkpoint(tables=tables, optimizers=optimizers)
    manager = tf.train.CheckpointManager(backup, folder, max_to_keep=2)
    if manager.latest_checkpoint:
        backup.restore(manager.latest_checkpoint).assert_consumed()
    first = tables["Adam"].numpy()

    def replica_step(name, ids, labels):
        table = tables[name]
        with tf.GradientTape() as tape:
            output = tf.reduce_sum(tf.nn.embedding_lookup(table, ids), -1, True)
            loss = tf.reduce_mean(tf.square(output - labels))
        gradients = tape.gradient(loss, table.variables)
        optimizers[name].apply_gradients(zip(gradients, table.variables, strict=True))

    @tf.function
    def step(ids, labels):
        for name in tables:
            strategy.run(replica_step, args=(name, ids, labels))

    for number in range(begin, begin + STEPS):
        # This is for the comparison only: a large table would not fit here.
        before = {name: table.numpy() for name, table in tables.items()}
        coordinator.schedule(
            step, args=(tf.constant(ids[number]), tf.constant(labels[number]))
        )
        coordinator.join()
    path = manager.save()
    after = {name: table.numpy() for name, table in tables.items()}
    changed = {
        name: len(np.unique(np.nonzero(after[name] != before[name])[0]))
        for name in tables
    }
    held = {name: held_by(tables[name], optimizers[name], servers) for name in tables}
    return first, after, changed, held, dict(tf.train.list_variables(path))


# --8<-- [end:train]


# --8<-- [start:make]
def start(cluster, servers):
    """Start a worker and the servers."""
    cluster.start("worker", 0, serve)
    for index in range(servers):
        cluster.start("ps", index, serve)


with (
    tempfile.TemporaryDirectory() as folder,  # all tasks reach it
    Cluster(chief=1, worker=1, ps=2) as cluster,
):
    start(cluster, 2)
    chief = cluster.start("chief", 0, probe, folder)
    ways, slots, keras3_saved = (cluster.hear(chief)[1] for _ in range(3))
    unnamed = cluster.result(chief)
for name, (made, equal) in ways.items():
    print(name)
    for shape, device in made:
        print("   ", shape, "made on", device)
    print("    the parts hold equal values:", equal)
print("slots of tf_keras")
for shape, device in slots:
    print("   ", shape, "made on", device)
# --8<-- [end:make]

# --8<-- [start:restart]
runs = {}
with tempfile.TemporaryDirectory() as folder:  # all tasks reach it
    for servers, begin in ((2, 0), (3, STEPS)):
        with Cluster(chief=1, worker=1, ps=servers) as cluster:
            start(cluster, servers)
            chief = cluster.start("chief", 0, train, servers, begin, folder)
            runs[servers] = cluster.result(chief)
        print(f"{servers} servers, after step {begin + STEPS}")


# --8<-- [end:restart]


# --8<-- [start:compare]
def in_numpy(kind, table, begin, end):
    """Do the same in NumPy: in one process, in one piece, and with new slots."""
    table = table.astype("float64")
    m, v, total = np.zeros_like(table), np.zeros_like(table), np.full_like(table, 0.1)
    for count, number in enumerate(range(begin, end), start=1):
        rows = ids[number]
        away = 2 / BATCH * (table[rows].sum(-1, keepdims=True) - labels[number])
        gradient = np.zeros_like(table)
        np.add.at(gradient, rows, np.broadcast_to(away, (BATCH, WIDTH)))
        if kind == "SGD":
            table -= RATE * gradient
        elif kind == "Adagrad":
            total += gradient**2
            table -= RATE * gradient / np.sqrt(total + 1e-7)
        else:
            m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
            scale = np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            table -= RATE * scale * m / (np.sqrt(v) + 1e-7)
    return table


def furthest(table, other):
    return float(np.max(np.abs(table - other)))


first, *_ = runs[2]
away, forgetful = {}, {}
for kind in ("SGD", "Adagrad", "Adam"):
    for servers, end in ((2, STEPS), (3, 2 * STEPS)):
        table = runs[servers][1][kind]
        away[kind, servers] = furthest(table, in_numpy(kind, first, 0, end))
    new_slots = in_numpy(kind, runs[2][1][kind], STEPS, 2 * STEPS)
    forgetful[kind] = furthest(table, new_slots)
    print(
        f"{kind:8} as in NumPy: {away[kind, 2] < 1e-4}, then {away[kind, 3] < 1e-4};",
        f"the last step changed {runs[3][2][kind]} rows",
    )
in_batch = len(np.unique(ids[2 * STEPS - 1]))
print("rows in the last batch:", in_batch)
# --8<-- [end:compare]


# --8<-- [start:memory]
def per_server(words, width, slots, servers):
    """Return the bytes of the fullest server: its rows of the table and of each slot."""
    return -(-words // servers) * width * 4 * (1 + slots)


SLOTS = {"no slots": 0, "Adagrad": 1, "Adam": 2}
print("servers         1          4         16")
for name, count in SLOTS.items():
    sizes = [per_server(100_000_000, 128, count, n) / 1e9 for n in (1, 4, 16)]
    print(f"{name:8}", *[f"{size:7.1f} GB" for size in sizes])
# --8<-- [end:memory]

parts = {"rows": [WORDS // 2, WIDTH], "whole": [WORDS, WIDTH]}
shapes = {name: [list(shape) for shape, _ in made] for name, (made, _) in ways.items()}
jobs = {name: [d.split("/")[1] for _, d in made] for name, (made, _) in ways.items()}
lazy, plain = "rows, shape, dtype", "tf.random_uniform_initializer()"
keras3, seeded = (
    "tf.initializers.RandomUniform()",
    "tf.random_uniform_initializer(seed=7)",
)
saved = [
    shape
    for name, shape in runs[2][4].items()
    if name.startswith(("tables/", "optimizers/")) and shape
]
claims = {
    "parts_are_made_on_their_servers": shapes[lazy]
    == shapes[plain]
    == [parts["rows"]] * 2
    and [device.split("/")[3] for _, device in ways[lazy][0]] == ["task:0", "task:1"]
    and {*jobs[lazy], *jobs[plain]} == {"job:ps"},
    "a_value_is_made_whole_on_the_coordinator": shapes["a value: rows()"]
    == shapes["rows"]
    == [parts["whole"]]
    and jobs["a value: rows()"] == jobs["rows"] == ["job:chief"],
    "each_part_of_a_value_is_made_on_its_server": "job:chief"
    not in jobs["a value: rows()"],
    "keras3_initializer_makes_the_whole_on_each_server": shapes[keras3]
    == [parts["whole"]] * 2
    and jobs[keras3] == ["job:ps"] * 2
    and tf.initializers.RandomUniform is keras.initializers.RandomUniform,
    "keras3_initializer_makes_parts": shapes[keras3] == [parts["rows"]] * 2,
    "slots_are_made_on_the_coordinator_part_by_part": [shape for shape, _ in slots]
    == [(WORDS // 2, WIDTH)] * 2
    and {device.split("/")[1] for _, device in slots} == {"job:chief"},
    "keras3_slots_are_saved_by_parts": keras3_saved.count(parts["rows"]) >= 2
    and parts["whole"] not in keras3_saved,
    "a_seed_fills_all_parts_alike": ways[seeded][1],
    "a_seed_fills_parts_differently": not ways[seeded][1],
    "without_a_seed_parts_differ": not ways[plain][1] and not ways[lazy][1],
    "optimizer_refuses_a_table_without_a_name": "invalid literal" in unnamed,
    "optimizers_equal_numpy": max(away[kind, 2] for kind in forgetful) < 1e-4,
    "goes_on_with_another_number_of_servers": max(away.values()) < 1e-4,
    "slots_come_back_too": min(forgetful["Adagrad"], forgetful["Adam"]) > 1e-3,
    "slots_are_lost": forgetful["Adagrad"] < 1e-4,
    "checkpoint_holds_whole_tables_and_slots": saved == [parts["whole"]] * 7,
    "adagrad_changes_the_rows_of_the_batch": runs[3][2]["Adagrad"] == in_batch,
    "adam_changes_only_the_rows_of_the_batch": runs[3][2]["Adam"] == in_batch,
    "adam_changes_other_rows_too": runs[3][2]["Adam"] == len(np.unique(ids)) > in_batch,
    "plain_sgd_of_tf_keras_keeps_a_slot": sum(runs[2][3]["SGD"])
    == sum(runs[2][3]["Adagrad"]),
    "servers_hold_what_the_formula_says": all(
        max(runs[servers][3][kind]) == per_server(WORDS, WIDTH, count, servers)
        for servers in (2, 3)
        for kind, count in {"SGD": 1, "Adagrad": 1, "Adam": 2}.items()
    ),
}
measures = {
    "adam_rows": runs[3][2]["Adam"],
    "batch_rows": in_batch,
    "adam_gb_on_16": per_server(100_000_000, 128, 2, 16) / 1e9,
}
errors = {"unnamed": unnamed}
counts = [2**i for i in range(6)]
figures = {
    "memory": {
        "kind": "lines",
        "title": "100 million rows of 128 numbers in float32",
        "xlabel": "servers",
        "ylabel": "GB on the fullest server",
        "xscale": "log2",
        "yscale": "log",
        "markers": True,
        "x": counts,
        "series": {
            name: [per_server(100_000_000, 128, count, n) / 1e9 for n in counts]
            for name, count in SLOTS.items()
        },
    }
}
