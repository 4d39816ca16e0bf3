# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# seconds = 120
# ///
"""Make two MirroredStrategy objects in one process: what breaks, what it says, and which reduction avoids it."""

# --8<-- [start:setup]
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]


def total(strategy, size):
    """Return the sum over the replicas of a vector of `size` ones, as each replica receives it."""

    def on_replica():
        return tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.SUM, tf.ones([size])
        )

    step = tf.function(lambda: strategy.run(on_replica))
    return [float(value[0]) for value in strategy.experimental_local_results(step())]


# --8<-- [end:setup]

# --8<-- [start:default]
first = tf.distribute.MirroredStrategy(names)
one_strategy = [total(first, 5), total(first, 7)]
print("one strategy, two shapes:", one_strategy)

second = tf.distribute.MirroredStrategy(names)
errors = {}
for name, strategy in {"second_strategy": second, "first_again": first}.items():
    try:
        print(f"{name}:", total(strategy, 9))
    except tf.errors.InvalidArgumentError as error:
        start = error.message.index("Collective ops is aborted by")
        reason = error.message[start:].split(" in the collective instance")[0]
        errors[name] = f"{type(error).__name__}: {reason}"
        print(f"{name}: {errors[name]}")
# --8<-- [end:default]


# --8<-- [start:one_device]
def reduced(devices, how):
    """Return a strategy that reduces as told."""
    return tf.distribute.MirroredStrategy(devices, cross_device_ops=how)


first = reduced(names, tf.distribute.ReductionToOneDevice())
second = reduced(names, tf.distribute.ReductionToOneDevice())
on_one_device = [total(first, 5), total(second, 7), total(first, 9)]
print("two strategies that reduce on one device:", on_one_device)
# --8<-- [end:one_device]

# --8<-- [start:odd]
# Take all devices, or all but one, so that their number is odd.
odd = names[: len(names) - 1 + len(names) % 2]
by_copies = total(reduced(odd, tf.distribute.HierarchicalCopyAllReduce()), 5)
print(
    f"HierarchicalCopyAllReduce over {len(odd)} devices: each adds 1, each receives {by_copies[0]}"
)
# --8<-- [end:odd]

right = [float(len(names))] * len(names)
broke = "Shape mismatch" in errors.get("second_strategy", "")
claims = {
    "one_strategy_is_safe": one_strategy == [right, right],
    "second_strategy_breaks": broke or len(names) == 1,
    "first_strategy_survives": "first_again" not in errors and len(names) > 1,
    "one_device_reduction_is_safe": on_one_device == [right, right, right],
    "hierarchical_copy_loses_a_replica_when_odd": len(odd) == 1
    or by_copies == [len(odd) - 1.0] * len(odd),
}
measures = {
    "replicas": len(names),
    "errors_seen": len(errors),
    "odd": len(odd),
    "odd_sum": by_copies[0],
}
