# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "ray[train]>=2.52", "psutil"]
#
# [tool.guide]
# devices = 0
# processes = 12
# seconds = 480
# ///
"""Run the same training function under Ray Train, in two workers that Ray starts and configures."""

import json
import os
import secrets
import shutil
import signal
import tempfile
import time
from pathlib import Path

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # else Ray reports its use to its makers
os.environ["RAY_AUTH_MODE"] = "token"  # read when Ray is imported
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "1"  # num_gpus=0 hides the GPUs
os.environ["RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S"] = "600"  # else a minute
os.environ |= {"RAY_gcs_server_port_wait_time_s": "600"}  # else half a minute
import numpy as np
import psutil
import ray
import ray.train
import ray.train.tensorflow
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
def work():
    """Run in each Ray worker. Ray Train has set TF_CONFIG."""
    held = train(tf.distribute.MultiWorkerMirroredStrategy())
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    with tempfile.TemporaryDirectory() as folder:  # Ray copies what is in it
        checkpoint = None
        if ray.train.get_context().get_world_rank() == 0:
            np.save(f"{folder}/held.npy", held)
            checkpoint = ray.train.Checkpoint.from_directory(folder)
        said = {"task": f"{task['type']} {task['index']}"}
        ray.train.report(said, checkpoint=checkpoint)


# --8<-- [end:worker]


# --8<-- [start:launch]
def too_late(*_):
    raise TimeoutError("Ray did not come to an end")


def alive(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


signal.signal(signal.SIGALRM, too_late)
signal.alarm(1800)
# A token guards the cluster. Without one here, Ray leaves its own in the home folder.
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())
# Ray's sockets will lie below this folder, and their paths must be short.
folder = tempfile.mkdtemp(dir="/tmp")
try:
    ray.init(
        num_cpus=2,
        num_gpus=0,
        include_dashboard=False,
        log_to_driver=False,
        _temp_dir=folder,
    )
    trainer = ray.train.tensorflow.TensorflowTrainer(
        work,
        scaling_config=ray.train.ScalingConfig(
            num_workers=2, resources_per_worker={"CPU": 1}
        ),
        run_config=ray.train.RunConfig(storage_path=f"{folder}/results", name="run"),
    )
    result = trainer.fit()
    with result.checkpoint.as_directory() as saved:
        held = np.load(Path(saved, "held.npy"))
finally:
    processes = psutil.Process().children(recursive=True)
    ray.shutdown()
    for _ in range(1200):
        left = [process for process in processes if alive(process)]
        if not left:
            break
        time.sleep(0.1)
    for process in left:
        process.kill()
    shutil.rmtree(folder, ignore_errors=True)
    signal.alarm(0)
# --8<-- [end:launch]

# --8<-- [start:compare]
away = float(np.abs(held - numpy_sgd()).max())
print("reported by", result.metrics["task"])
print("weights of workers 0 and 1, as worker 0 sees them:")
print(held.round(4))
print(f"away from NumPy: {away:.5f}")
print("processes that Ray left behind:", len(left))
# --8<-- [end:compare]

claims = {
    "two_workers": held.shape == (4, 2),
    "workers_hold_equal_weights": bool(np.array_equal(held[:, 0], held[:, 1])),
    "equal_to_numpy": away < 1e-5,
    "ray_sets_tf_config": result.metrics["task"] == "worker 0",
    "no_process_is_left": not left,
}
