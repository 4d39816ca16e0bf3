# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 5
# seconds = 120
# ///
"""Spread a table over two servers, save it, kill a server, start again, and evaluate the checkpoints in one process."""

import contextlib
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
WORDS, WIDTH, BATCH, RATE = 1000, 8, 16, 0.5
STEPS, SAVE_EVERY, KILLED_AFTER = 40, 10, 25
random = np.random.default_rng(0)
first_table = random.normal(size=(WORDS, WIDTH)).astype("float32")
first_head = random.normal(size=(WIDTH, 1)).astype("float32")
ids = random.integers(0, WORDS, size=(STEPS, BATCH))
labels = np.sin(ids)[..., None].astype("float32")


def serve(say, home):
    """Be a worker or a parameter server, in a folder of its own as on a machine of its own."""
    os.makedirs(home)
    os.chdir(home)
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    me = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        me.cluster_spec(), job_name=me.task_type, task_index=me.task_id, protocol="grpc"
    ).join()


# --8<-- [end:serve]


# --8<-- [start:variables]
def rows(partition_shape, partition_offset):  # no defaults: an error in it is seen
    """Return the first values of one part of the table."""
    return first_table[partition_offset[0] :][: partition_shape[0]]


def connect():
    """Return the strategy, the coordinator and the variables, the table in two shards."""
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver(),
        variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
            min_shard_bytes=10_000, max_shards=2
        ),
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        table = tf.Variable(rows, shape=(WORDS, WIDTH), dtype=tf.float32)  # cut in two
        head = tf.Variable(first_head)  # 32 B: stays whole
        done = tf.Variable(0)
    return strategy, coordinator, table, head, done


# --8<-- [end:variables]


# --8<-- [start:coordinate]
def coordinate(say, folder, victim=None):
    """Train to the last step, from the newest checkpoint where there is one."""
    strategy, coordinator, table, head, done = connect()
    backup = tf.train.Checkpoint(table=table, head=head, done=done)
    manager = tf.train.CheckpointManager(backup, folder, max_to_keep=5)
    manager.restore_or_initialize()
    say(int(done.numpy()))

    def replica_step(ids, labels):
        with tf.GradientTape() as tape:
            output = tf.nn.embedding_lookup(table, ids) @ head
            loss = tf.reduce_mean(tf.square(output - labels))
        *rows, other = tape.gradient(loss, [*table.variables, head])
        for shard, part in zip(table.variables, rows, strict=True):
            # Only the rows of this batch travel to the servers.
            shard.scatter_sub(tf.IndexedSlices(RATE * part.values, part.indices))
        head.assign_sub(RATE * other)

    @tf.function
    def step(ids, labels):
        strategy.run(replica_step, args=(ids, labels))

    for number in range(int(done.numpy()), STEPS):
        coordinator.schedule(
            step, args=(tf.constant(ids[number]), tf.constant(labels[number]))
        )
        if (number + 1) % SAVE_EVERY == 0 or number + 1 == STEPS:
            coordinator.join()  # no step may be under way while the servers save
            done.assign(number + 1)
            manager.save()
        if victim and number + 1 == KILLED_AFTER:
            coordinator.join()
            os.kill(victim, signal.SIGKILL)
    return np.concatenate([shard.numpy() for shard in table.variables]), head.numpy()


# --8<-- [end:coordinate]


# --8<-- [start:evaluate]
def evaluate(path):
    """Return the step of a checkpoint and its loss; needs no cluster and no partitioner."""
    table = tf.Variable(tf.zeros((WORDS, WIDTH)))
    head, done = tf.Variable(tf.zeros((WIDTH, 1))), tf.Variable(0)
    backup = tf.train.Checkpoint(table=table, head=head, done=done)
    backup.restore(path).assert_existing_objects_matched()
    output = tf.gather(table, ids) @ head
    return int(done), float(tf.reduce_mean(tf.square(output - labels)))


# --8<-- [end:evaluate]


# --8<-- [start:folder]
def probe(say, home):
    """Save where no two tasks share a folder; then ask a Keras 3 layer for a gradient."""
    os.makedirs(home)
    os.chdir(home)
    strategy, coordinator, table, head, done = connect()
    say([(part.device, tuple(part.shape)) for part in (*table.variables, head)])
    backup = tf.train.Checkpoint(table=table, head=head, done=done)
    manager = tf.train.CheckpointManager(backup, "kept", max_to_keep=2)
    try:
        manager.save()  # each server looks for "kept" in its own folder
    except tf.errors.NotFoundError as error:
        say(f"{type(error).__name__}: {error.message}")
    here = tf.train.CheckpointOptions(experimental_io_device="/job:chief/task:0")
    path = manager.save(options=here)
    head.assign(tf.zeros_like(head))
    backup.restore(path, options=here)
    say((head.numpy(), dict(tf.train.list_variables(path))))

    with strategy.scope():
        layer = keras.layers.Embedding(WORDS, WIDTH)
        layer.build()

    @tf.function
    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(tf.constant([1, 2])))
        return tape.gradient(loss, layer.trainable_variables)

    try:
        coordinator.schedule(gradient)
    except AttributeError as error:
        return str(error).splitlines()[-1].strip()


# --8<-- [end:folder]


# --8<-- [start:where]
def start(cluster, folder):
    """Start a worker and two servers; return the second server."""
    cluster.start("worker", 0, serve, f"{folder}/worker0")
    return [cluster.start("ps", i, serve, f"{folder}/ps{i}") for i in range(2)][1]


with (
    tempfile.TemporaryDirectory() as folder,
    Cluster(chief=1, worker=1, ps=2) as cluster,
):
    start(cluster, folder)
    chief = cluster.start("chief", 0, probe, f"{folder}/chief")
    places, refused, (restored, saved) = (cluster.hear(chief)[1] for _ in range(3))
    keras3 = cluster.result(chief)
for name, (device, shape) in zip(("table", "table", "head"), places, strict=True):
    print(name, shape, "on", device)
# --8<-- [end:where]

# --8<-- [start:refused]
error, _, text = refused.partition(":")
line = next(line for line in text.splitlines() if "No such file" in line)
errors = {"folder": f"{error}: {line[line.index('kept') :]}", "keras3": keras3}
print("no folder in common:", errors["folder"])
print("the coordinator alone: table", saved["table/.ATTRIBUTES/VARIABLE_VALUE"])
# --8<-- [end:refused]

# --8<-- [start:restart]
with tempfile.TemporaryDirectory() as folder:
    shared = f"{folder}/shared"  # all tasks reach it
    with Cluster(chief=1, worker=1, ps=2) as cluster:
        victim = start(cluster, f"{folder}/first")
        chief = cluster.start("chief", 0, coordinate, shared, victim.pid)
        cluster.hear(chief)
        kind, outcome = cluster.hear(chief)
    print(f"ps 1 is killed after step {KILLED_AFTER}; the coordinator:", kind)

    with Cluster(chief=1, worker=1, ps=2) as cluster:
        start(cluster, f"{folder}/second")
        chief = cluster.start("chief", 0, coordinate, shared)
        _, resumed = cluster.hear(chief)
        print("started again, it goes on after step", resumed)
        # This process is in no cluster. It evaluates while the others train.
        evaluated = {}
        for path in tf.train.checkpoints_iterator(shared, timeout=600):
            step, loss = evaluate(path)
            evaluated[step] = loss
            if step == STEPS:
                break
        table, head = cluster.result(chief)
print(f"the checkpoint of step {step}: loss {loss:.4f}")
# --8<-- [end:restart]


# --8<-- [start:compare]
def numpy_sgd(steps):
    """The same steps in NumPy, in one process, on a table in one piece."""
    table, head = first_table.astype("float64"), first_head.astype("float64")
    for rows, label in zip(ids[:steps], labels, strict=False):
        away = 2 * RATE / BATCH * (table[rows] @ head - label)
        old_head = head
        head = head - table[rows].T @ away
        np.subtract.at(table, rows, away @ old_head.T)
    return table, head


def numpy_loss(steps):
    table, head = numpy_sgd(steps)
    return float(np.mean((table[ids] @ head - labels) ** 2))


furthest = max(
    float(np.max(np.abs(a - b)))
    for a, b in zip((table, head), numpy_sgd(STEPS), strict=True)
)
print(f"NumPy, never killed: loss {numpy_loss(0):.4f}, then {numpy_loss(STEPS):.4f}")
print("the weights are NumPy's:", furthest < 1e-4)
# --8<-- [end:compare]

claims = {
    "table_is_cut_over_two_servers": [shape for _, shape in places[:2]]
    == [(WORDS // 2, WIDTH)] * 2
    and [f"ps/replica:0/task:{i}/" in places[i][0] for i in range(2)] == [True] * 2,
    "small_variable_stays_whole": places[2][1] == (WIDTH, 1),
    "servers_write_the_checkpoint": "/job:ps/" in refused and "SaveV2" in refused,
    "coordinator_can_write_alone": bool(np.array_equal(restored, first_head)),
    "checkpoint_holds_the_table_in_one_piece": saved["table/.ATTRIBUTES/VARIABLE_VALUE"]
    == [WORDS, WIDTH],
    "checkpoint_holds_shards": saved["table/.ATTRIBUTES/VARIABLE_VALUE"]
    == [WORDS // 2, WIDTH],
    "keras3_layer_has_no_gradient": "ShardedVariable" in str(keras3),
    "killed_server_is_fatal": kind == "failed"
    and outcome.startswith(("UnavailableError", "AbortedError")),
    "goes_on_from_the_checkpoint": resumed == KILLED_AFTER // SAVE_EVERY * SAVE_EVERY,
    "goes_on_where_it_was_killed": resumed == KILLED_AFTER,
    "starts_from_zero": resumed == 0,
    "same_weights_as_undisturbed": furthest < 1e-4,
    "evaluation_equals_numpy": STEPS in evaluated
    and all(abs(loss - numpy_loss(at)) < 1e-4 for at, loss in evaluated.items())
    and numpy_loss(STEPS) < 0.9 * numpy_loss(0),
}
measures = {"killed_after": KILLED_AFTER, "saved_at": resumed, "steps": STEPS}
