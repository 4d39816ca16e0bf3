# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Show that under synchronous training every replica reads the same version of the weights, step after step."""

# --8<-- [start:train]
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([d.name for d in devices])
with strategy.scope():
    weight = tf.Variable(5.0, aggregation=tf.VariableAggregation.SUM)
    version = tf.Variable(
        0, dtype=tf.int64, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
    )


@tf.function
def step():
    """Return the version and the weight that this replica read; then move both together with the others."""
    read_version, read_weight = tf.identity(version), tf.identity(weight)
    # This replica's share of the gradient of weight ** 2.
    gradient = 2 * read_weight / strategy.num_replicas_in_sync
    # SUM waits for every replica; then each applies the sum.
    weight.assign_sub(0.1 * gradient)
    version.assign_add(1)
    return read_version, read_weight


versions, weights = [], []
for _ in range(5):
    seen = strategy.run(step)
    versions.append([int(v) for v in strategy.experimental_local_results(seen[0])])
    weights.append(
        [round(float(w), 4) for w in strategy.experimental_local_results(seen[1])]
    )
    print("versions read:", versions[-1], " weights read:", weights[-1])
# --8<-- [end:train]

expected = [5.0 * 0.8**i for i in range(5)]  # one device: weight - 0.1 * 2 * weight
claims = {
    "same_version_on_every_replica": all(len(set(row)) == 1 for row in versions),
    "versions_differ_between_replicas": any(len(set(row)) > 1 for row in versions),
    "one_version_per_step": [row[0] for row in versions] == list(range(5)),
    "version_counts_replicas_times": len(devices) > 1
    and [row[0] for row in versions] == [len(devices) * i for i in range(5)],
    "same_weights_on_every_replica": all(len(set(row)) == 1 for row in weights),
    "equals_one_device": all(
        abs(row[0] - e) < 1e-3 for row, e in zip(weights, expected, strict=True)
    ),
}
measures = {
    "replicas": len(devices),
    "staleness": max(max(row) - min(row) for row in versions),
}
