# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 90
# ///
"""Run a Slurm batch script here: with a stand-in for `srun` that sets what Slurm sets and starts two tasks."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import tensorflow as tf

# --8<-- [start:train]
ROWS, BATCH, RATE = 64, 16, 0.1
x = np.random.default_rng(0).normal(size=(ROWS, 4)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [3.0], [0.5]], "float32")


def train(strategy):
    """One epoch of linear regression. Return the weights of all workers."""
    with strategy.scope():
        weights = tf.Variable(tf.zeros((4, 1)))
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)

    @tf.function
    def step(batch):
        def replica_step(features, labels):
            with tf.GradientTape() as tape:
                errors = tf.reduce_sum((features @ weights - labels) ** 2, axis=-1)
                loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
            replica = tf.distribute.get_replica_context()
            weights.assign_sub(
                RATE * replica.all_reduce("SUM", tape.gradient(loss, weights))
            )
            return replica.all_gather(tf.identity(weights), axis=1)

        return strategy.run(replica_step, args=batch)

    for batch in strategy.experimental_distribute_dataset(dataset):
        held = step(batch)
    return strategy.experimental_local_results(held)[0].numpy()


def numpy_sgd():
    weights = np.zeros((4, 1))
    for features, labels in zip(
        np.split(x, ROWS // BATCH), np.split(y, ROWS // BATCH), strict=True
    ):
        weights = (
            weights - RATE * 2 * features.T @ (features @ weights - labels) / BATCH
        )
    return weights


# --8<-- [end:train]

# --8<-- [start:worker]
if "SLURM_PROCID" in os.environ:  # this process was started by srun
    signal.alarm(600)  # this guide's time limit: leave it out
    # The resolver believes what you say: it becomes the number of replicas. One task on
    # each node takes all its GPUs. Without any the numbers must still be positive: the
    # stand-in runs two tasks on one node.
    gpus = int(os.environ.get("SLURM_GPUS_ON_NODE", "0"))
    resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(
        port_base=int(os.environ.get("TRAIN_PORT", "8888")),
        gpus_per_node=gpus or 2,
        gpus_per_task=gpus or 1,
        auto_set_gpu=False,
    )
    mine = resolver.cluster_spec().task_address("worker", resolver.task_id)
    if mine.split(":")[0] != os.environ["SLURMD_NODENAME"]:
        raise RuntimeError(f"this node is not {mine}: write TF_CONFIG yourself")
    held = train(tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver))
    print(json.dumps([resolver.task_id, held.tolist()]))
    raise SystemExit
# --8<-- [end:worker]

# --8<-- [start:script]
BATCH_SCRIPT = r"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=4
#SBATCH --time=02:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
code=0
# Jobs that share a node must not share a port.
export TRAIN_PORT=${TRAIN_PORT:-$((10000 + SLURM_JOB_ID % 20000))}
# The first task to leave gives the others 90 seconds to end their saving.
srun --cpus-per-task=8 --kill-on-bad-exit=0 --wait=90 \
    python train.py /shared/run-1 --replicas 8 --gpus 4 || code=$?
# srun returns the highest code. 42: saved and left in time, and none was killed.
if [[ $code == 42 ]]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
"""
# --8<-- [end:script]

# --8<-- [start:srun]
SRUN = """#!/bin/bash
# In place of Slurm: two tasks here, with the variables that the resolver reads.
while [[ $1 == --* ]]; do shift; done
export SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST=localhost SLURM_STEP_TASKS_PER_NODE=2
export SLURMD_NODENAME=localhost
SLURM_PROCID=0 "$@" &
SLURM_PROCID=1 "$@" &
wait
"""
# --8<-- [end:srun]


# --8<-- [start:launch]
def hold(stack, port=0):
    """Return a free port, or this one, that no other program gets until `stack` ends."""
    holder = stack.enter_context(socket.socket())
    holder.bind(("127.0.0.1", port))  # an OSError if it is taken or held
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port = holder.getsockname()[1]
    if sys.platform != "linux":  # elsewhere no task could bind it
        holder.close()
    return port


def hold_two(stack):
    """Hold a free port and its successor: the resolver counts upwards."""
    while True:
        port = hold(stack)
        with contextlib.suppress(OSError):  # the next one is taken: try again
            hold(stack, port + 1)
            return port


with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as held_ports:
    python = f'#!/bin/bash\nexec "{sys.executable}" "$@"\n'
    for name, text in {
        "train.sbatch": BATCH_SCRIPT,
        "srun": SRUN,
        "python": python,
    }.items():
        Path(folder, name).write_text(text)
        Path(folder, name).chmod(0o755)
    Path(folder, "train.py").symlink_to(__file__)
    path = f"{folder}:{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path,
        "TRAIN_PORT": str(hold_two(held_ports)),
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    syntax = subprocess.run(
        ["bash", "-n", "train.sbatch"], cwd=folder, check=False
    ).returncode
    job = subprocess.Popen(
        ["bash", "train.sbatch"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    output = job.communicate()[0]
# --8<-- [end:launch]

# --8<-- [start:compare]
held = dict(json.loads(line) for line in output.splitlines() if line.startswith("["))
away = max(float(np.abs(np.array(h) - numpy_sgd()).max()) for h in held.values())
print("tasks:", *sorted(held))
print("bash -n:", "good" if syntax == 0 else "bad")
print(f"weights away from NumPy: {away:.5f}")
# --8<-- [end:compare]


# --8<-- [start:resolver]
def resolve(rank, nodes="node[1-2]", **options):
    """Ask the resolver on rank `rank` of a job on two nodes."""
    slurm = {
        "PROCID": rank,
        "STEP_NUM_TASKS": 2,
        "STEP_NODELIST": nodes,
        "STEP_TASKS_PER_NODE": "1(x2)",
    }
    with mock.patch.dict(
        os.environ, {f"SLURM_{key}": str(value) for key, value in slurm.items()}
    ):
        try:
            resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(
                auto_set_gpu=False, **options
            )
            return f"{resolver.cluster_spec().as_dict()}, task {resolver.task_id}"
        except ValueError as error:
            return f"ValueError: {error}"


for rank in range(2):
    print(f"rank {rank}:", resolve(rank, gpus_per_node=1))
print("without GPUs:", resolve(0, gpus_per_node=0))
swapped = resolve(0, "node[2,10]", gpus_per_node=1)
print("rank 0, which Slurm starts on node2:", swapped)
# --8<-- [end:resolver]


# --8<-- [start:codes]
def what_follows(code, job=7):
    """Run the batch script with an `srun` that ends with this code; return its own.

    Return also what it called, and what `srun` was told.
    """
    with tempfile.TemporaryDirectory() as folder:
        stubs = {
            "srun": f"echo $TRAIN_PORT $1 >&2; exit {code}",
            "scontrol": "echo scontrol $@",
        }
        for name, line in stubs.items():
            Path(folder, name).write_text(f"#!/bin/bash\n{line}\n")
            Path(folder, name).chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        ended = subprocess.run(
            ["bash", "-c", BATCH_SCRIPT],
            env={
                **os.environ,
                "PATH": path,
                "SLURM_JOB_ID": str(job),
                "TRAIN_PORT": "",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    return ended.returncode, ended.stdout.strip(), ended.stderr.strip()


follows = {code: what_follows(code)[:2] for code in (0, 1, 42)}
for code, (own, said) in follows.items():
    print(f"srun ends with {code}: the job ends with {own}; it called: {said or '-'}")
told = {job: what_follows(0, job)[2] for job in (7, 8)}
print("port and CPUs of jobs 7 and 8:", *told.values(), sep="\n  ")
# --8<-- [end:codes]

claims = {
    "both_tasks_ran": sorted(held) == [0, 1] and job.returncode == 0,
    "workers_hold_equal_weights": all(
        np.ptp(np.array(h), axis=1).max() == 0 for h in held.values()
    ),
    "equal_to_numpy": away < 1e-5,
    "script_is_good_bash": syntax == 0,
    "resolver_counts_nodes": "node1:8888" in resolve(1, gpus_per_node=1)
    and "task 1" in resolve(1, gpus_per_node=1),
    "names_are_sorted_as_text": "{'worker': ['node10:8888', 'node2:8888']}, task 0"
    in swapped,
    "forty_two_is_queued_again": follows
    == {0: (0, ""), 1: (1, ""), 42: (42, "scontrol requeue 7")},
    "jobs_have_ports_of_their_own": len({text.split()[0] for text in told.values()})
    == len(told),
    "zero_gpus_raises": resolve(0, gpus_per_node=0).startswith("ValueError"),
    "zero_gpus_works": "task 0" in resolve(0, gpus_per_node=0),
}
errors = {"zero_gpus": resolve(0, gpus_per_node=0)}
