# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""Make a MirroredStrategy on two devices, then one on all of them, in one process: what it says."""

# --8<-- [start:run]
import re

import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]


def total(strategy):
    """Return the sum over the replicas of a one, as each replica receives it."""

    def on_replica():
        return tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.SUM, tf.ones([5])
        )

    step = tf.function(lambda: strategy.run(on_replica))
    return [float(value[0]) for value in strategy.experimental_local_results(step())]


print("two devices:", total(tf.distribute.MirroredStrategy(names[:2])))
errors = {}
try:
    print("all devices:", total(tf.distribute.MirroredStrategy(names)))
except tf.errors.InternalError as error:
    # Which device says it first is chance.
    reason = re.search(r"Device \S+ (is joining.*)", error.message)[1]
    errors["joining"] = f"InternalError: Device ... {reason}"
    print("all devices:", errors["joining"])
# --8<-- [end:run]

claims = {
    "another_number_of_devices_raises": len(names) < 3
    or "is joining a group with size" in errors["joining"]
}
