# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Print every word of distributed training from a live strategy."""

# --8<-- [start:devices]
import json
import os

import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
host = tf.config.list_logical_devices("CPU")[0]
print("devices:", [d.name[-5:] for d in devices])
print("host:   ", host.name[-5:])
# --8<-- [end:devices]

# --8<-- [start:replicas]
strategy = tf.distribute.MirroredStrategy([d.name for d in devices])
per_replica_batch = 8
global_batch = per_replica_batch * strategy.num_replicas_in_sync
print("replicas in sync:", strategy.num_replicas_in_sync)
print(
    "global batch:",
    global_batch,
    "= per-replica batch",
    per_replica_batch,
    "x",
    strategy.num_replicas_in_sync,
)
# --8<-- [end:replicas]

# --8<-- [start:values]
with strategy.scope():
    mirrored = tf.Variable([1.0, 2.0])
copies = strategy.experimental_local_results(mirrored)
print("mirrored variable:", [(c.device[-5:], c.numpy().tolist()) for c in copies])


@tf.function
def number() -> tf.Tensor:
    """Run on every replica: each gives its own number."""
    return tf.identity(tf.distribute.get_replica_context().replica_id_in_sync_group)


per_replica = strategy.run(number)
numbers = [int(v) for v in strategy.experimental_local_results(per_replica)]
print("per-replica value:", numbers)
print("reduced to one value:", int(strategy.reduce("SUM", per_replica, axis=None)))
# --8<-- [end:values]

# --8<-- [start:worker]
pipelines = []


def dataset_of_worker(context: tf.distribute.InputContext) -> tf.data.Dataset:
    """Make the input pipeline of one worker; the strategy calls it once for each worker."""
    pipelines.append(
        (
            context.input_pipeline_id,
            context.num_input_pipelines,
            context.num_replicas_in_sync,
        )
    )
    rows = tf.data.Dataset.range(4 * global_batch)
    rows = rows.shard(context.num_input_pipelines, context.input_pipeline_id)
    return rows.batch(context.get_per_replica_batch_size(global_batch))


batch = next(iter(strategy.distribute_datasets_from_function(dataset_of_worker)))
shapes = [tuple(part.shape) for part in strategy.experimental_local_results(batch)]
print(
    "workers:",
    pipelines[0][1],
    " replicas:",
    pipelines[0][2],
    " rows for each replica:",
    [s[0] for s in shapes],
)
# --8<-- [end:worker]

# --8<-- [start:tasks]
os.environ["TF_CONFIG"] = json.dumps(
    {
        "cluster": {
            "chief": ["host0.example:2222"],
            "worker": ["host1.example:2222", "host2.example:2222"],
            "ps": ["host3.example:2222"],
        },
        "task": {"type": "worker", "index": 1},
    }
)
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
spec = resolver.cluster_spec()
print("this process:", resolver.task_type, resolver.task_id)
print("jobs:", {job: spec.num_tasks(job) for job in sorted(spec.jobs)})
del os.environ["TF_CONFIG"]
# --8<-- [end:tasks]

replicas = strategy.num_replicas_in_sync
claims = {
    "one_replica_per_device": replicas == len(devices),
    "one_worker_holds_all_replicas": len(pipelines) == 1
    and pipelines[0][1:] == (1, replicas),
    "one_worker_per_device": pipelines[0][1] == replicas and replicas > 1,
    "host_is_a_cpu": next(iter(tf.data.Dataset.range(1))).device.endswith(host.name),
    "mirrored_copies_equal": len(copies) == replicas
    and all((c.numpy() == copies[0].numpy()).all() for c in copies)
    and len({c.device for c in copies}) == replicas,
    "mirrored_copies_differ": any(
        (c.numpy() != copies[0].numpy()).any() for c in copies
    ),
    "per_replica_values_differ": numbers == list(range(replicas)),
    "rows_are_per_replica_batch": all(
        shape == (per_replica_batch,) for shape in shapes
    ),
    "rows_are_global_batch": all(shape == (global_batch,) for shape in shapes)
    and replicas > 1,
    "chief_is_its_own_task": spec.num_tasks("chief") == 1
    and spec.num_tasks("worker") == 2,
    "parameter_server_is_a_job": spec.num_tasks("ps") == 1,
}
measures = {
    "replicas": replicas,
    "global_batch": global_batch,
    "workers": pipelines[0][1],
}
