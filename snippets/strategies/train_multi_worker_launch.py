# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 480
# files = ["train_multi_worker.py"]
# ///
"""Start the training script twice, as on two machines; stop it, tell one to leave, start it again, and compare."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import train_multi_worker as script

tf.config.set_visible_devices([], "GPU")  # as the tasks do

# --8<-- [start:setup]
TOTAL, FIRST = script.EPOCHS * script.STEPS, script.STEPS + 3
SCRIPT = str(Path(__file__).with_name("train_multi_worker.py"))
# --8<-- [end:setup]


# --8<-- [start:launch]
held = contextlib.ExitStack()  # of sockets, until the last run has ended


def hold(port=0):
    """Return a free port, or this one, that no other program gets until the end."""
    holder = held.enter_context(socket.socket())
    holder.bind(("127.0.0.1", port))  # an OSError if it is taken or held
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port = holder.getsockname()[1]
    if sys.platform != "linux":  # elsewhere no task could bind it
        holder.close()
    return port


def tf_config(**jobs):
    """Return the environment of each task of a cluster with so many tasks of each job."""
    cluster = {
        job: [f"127.0.0.1:{hold()}" for _ in range(count)]
        for job, count in jobs.items()
    }
    tasks = [(job, index) for job, count in jobs.items() for index in range(count)]
    return [
        {
            "TF_CONFIG": json.dumps(
                {"cluster": cluster, "task": {"type": job, "index": index}}
            )
        }
        for job, index in tasks
    ]


def slurm():
    """Return what `srun` sets for two tasks on this machine, as far as it is read."""
    while True:  # the resolver counts ports upwards: hold two in a row
        port = hold()
        with contextlib.suppress(OSError):  # the next one is taken: try again
            hold(port + 1)
            break
    both = {
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_STEP_TASKS_PER_NODE": "2",
        "SLURMD_NODENAME": "localhost",
        "TRAIN_PORT": str(port),
    }
    return [both | {"SLURM_PROCID": str(rank)} for rank in range(2)]


# --8<-- [end:launch]


# --8<-- [start:run]
def run(environments, folders, *options, tell=None):
    """Run the script once for each environment.

    Send SIGTERM to task `tell` as soon as task 0 trains. Return for each task the lines
    that it printed, those it logged, and its exit code.
    """
    with contextlib.ExitStack() as stack:
        tasks = []
        for index, variables in enumerate(environments):
            out, log = (
                stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)
            )
            command = [sys.executable, SCRIPT, f"{folders[index]}/kept"]
            command += ["--scratch", f"{folders[0]}/scratch-{index}"]
            command += ["--replicas", "2", *options]
            environment = os.environ | variables | {"CUDA_VISIBLE_DEVICES": "-1"}
            task = subprocess.Popen(command, env=environment, stdout=out, stderr=log)
            stack.callback(task.wait)  # the last callback runs first: kill, then wait
            stack.callback(task.kill)
            tasks.append((task, out, log))
        if tell is not None:
            first, out, _ = tasks[0]
            while first.poll() is None and not os.fstat(out.fileno()).st_size:
                time.sleep(0.1)
            tasks[tell][0].send_signal(signal.SIGTERM)
        ended = []
        for task, *files in tasks:
            code = task.wait()
            for file in files:
                file.seek(0)
            ended.append((*(file.read().splitlines() for file in files), code))
        return ended


def saved(path):
    return keras.models.load_model(f"{path}/model.keras").get_weights()


with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    first = run(tf_config(worker=2), [one, one], "--stop", str(FIRST))
    # Again, now with a job that is called chief: the files stay with that task.
    second = run(tf_config(chief=1, worker=1), [one, one])
    weights = [saved(f"{one}/{place}") for place in ("kept", "scratch-1")]
    written = sorted(path.name for path in Path(one).iterdir())
    # The finished job once more: node 1 is new, its disk has no scratch folder.
    shutil.rmtree(f"{one}/scratch-1")
    finished = run(tf_config(worker=2), [one, one])
    kept = saved(f"{one}/kept")
    # And as Slurm starts it, where worker 1 does not see the folder of worker 0.
    third = run(slurm(), [one, other])

for title, ended in {
    f"to step {FIRST}": first,
    "started again": second,
    "finished, and started again": finished,
    "two folders": third,
}.items():
    print(f"{title}:")
    for index, (printed, logged, code) in enumerate(ended):
        for line in printed or ["nothing"]:
            print(f"  task {index} prints: {line}")
        said = [line for line in logged if line.startswith("the workers")]
        print(f"  task {index} ends", "with an error:" if code else "well", *said)
# --8<-- [end:run]

# --8<-- [start:compare]
alone, optimizer = script.build()
loss = keras.losses.BinaryCrossentropy(from_logits=True)
alone.compile(optimizer=optimizer, loss=loss)
started = alone.get_weights()
expected = []
for epoch in range(script.EPOCHS):
    fitted = alone.fit(
        script.rows_of(epoch), validation_data=script.rows_of_validation(), verbose=0
    )
    expected.append([fitted.history[key][0] for key in ("loss", "val_loss")])


def furthest(some, others):
    return max(float(np.max(np.abs(a - b))) for a, b in zip(some, others, strict=True))


lines = [line for ended in (first, second) for line in ended[0][0]]
reported = [re.findall(r"loss ([\d.]+)", line) for line in lines]
reported = np.array([pair for pair in reported if pair], dtype=float)
between = furthest(*weights)
away = furthest(weights[0], alone.get_weights())
moved = furthest(weights[0], started)
print(f"weights: moved by up to {moved:.3f}, the workers differ by {between:.5f}")
print("equal to `fit` in one process:", away < 1e-4 < moved)
losses_agree = bool(
    reported.shape == np.shape(expected) and np.abs(reported - expected).max() < 2e-4
)
print("so are the losses:", losses_agree)
# --8<-- [end:compare]

# --8<-- [start:told]
with tempfile.TemporaryDirectory() as both:
    told = run(tf_config(worker=2), [both, both], "--stop", "1000000", tell=1)
    newest = [tf.train.latest_checkpoint(f"{both}/{p}") for p in ("kept", "scratch-1")]
    name = "done/.ATTRIBUTES/VARIABLE_VALUE"
    at = [int(tf.train.load_variable(path, name)) for path in newest]
held.close()
last = told[0][0][-1]
print("SIGTERM to task 1. Exit codes:", *(code for *_, code in told))
print("task 0 prints last:", last.replace(str(at[0]), "N"))
print("both saved after step N:", at[0] == at[1])
# --8<-- [end:told]

claims = {
    "every_task_ended_well": all(task[2] == 0 for task in first + second),
    "workers_hold_equal_weights": between == 0.0,
    "equal_to_one_process": away < 1e-4 < moved,
    "losses_equal_to_one_process": losses_agree,
    "resumes_at_the_saved_step": second[0][0][0].endswith(f"after step {FIRST}"),
    "a_finished_job_can_be_started_again": all(task[2] == 0 for task in finished)
    and finished[0][0][0].endswith(f"after step {TOTAL}")
    and furthest(weights[0], kept) == 0.0,
    "starts_again_from_zero": second[0][0][0].endswith("after step 0"),
    "one_task_prints": all(
        len(ended[0][0]) > 1 and not ended[1][0] for ended in (first, second)
    ),
    "worker_0_of_a_cluster_with_a_chief_keeps_nothing": written
    == ["kept", "scratch-1"],
    "one_told_and_all_leave": [code for *_, code in told] == [42, 42],
    "only_the_told_worker_leaves": told[0][2] != 42,
    "all_saved_at_one_step": last.endswith(f"saved after step {at[0]}")
    and at[0] == at[1] > 0,
    "two_folders_end_all": all(
        code and any("different checkpoints" in line for line in logged)
        for _, logged, code in third
    ),
    "two_folders_train_on": not any(code for *_, code in third),
}
measures = {"stopped_at": FIRST, "total": TOTAL, "epoch_steps": script.STEPS}
