# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 2
# seconds = 60
# ///
"""A counter with aggregation SUM: what each replica may add to it, and what it may not."""

import tensorflow as tf

# --8<-- [start:counter]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
with strategy.scope():
    kind = tf.VariableAggregation.SUM
    counter = tf.Variable(10, aggregation=kind, trainable=False)

ways = {
    "assign_add of a tensor": lambda: counter.assign_add(tf.constant(1)),
    "assign of counter + 1": lambda: counter.assign(counter + 1),
    "assign_add of a number": lambda: counter.assign_add(1),
}
counted, raised = {}, {}
for way, add in ways.items():
    counter.assign(10)
    try:
        strategy.run(tf.function(add))
        counted[way] = int(counter.numpy())
        print(f"{replicas} replicas, 10 before, {way}: {counted[way]}")
    except ValueError as error:
        lines = str(error).splitlines()
        raised[way] = next(one for one in lines if "cannot be reduced" in one).strip()
        print(f"{way}: {raised[way]}")
# --8<-- [end:counter]

claims = {
    "a_tensor_adds_once_per_replica": counted["assign_add of a tensor"]
    == 10 + replicas,
    "assign_counts_the_old_value_once_per_replica": counted["assign of counter + 1"]
    == 11 * replicas,
    "a_number_raises": replicas == 1 or "assign_add of a number" in raised,
}
errors = {"number": raised.get("assign_add of a number", "nothing was raised")}
