# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 4
# ///
"""Where CentralStorageStrategy keeps its variables if you do not say so: with several compute devices, and with one."""

# --8<-- [start:default]
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name.split("device:")[-1] for device in devices]

where = {}
for compute in (names, names[-2:], names[-1:]):  # the last two are without CPU:0
    strategy = tf.distribute.experimental.CentralStorageStrategy(compute)
    with strategy.scope():
        variable = tf.Variable(1.0)
    where[len(compute)] = variable.device.split("device:")[-1]
    print(f"computes on {', '.join(compute)}: the variable is on {where[len(compute)]}")
# --8<-- [end:default]

claims = {
    "several_keep_it_on_the_cpu": all(
        place == "CPU:0" for count, place in where.items() if count > 1
    ),
    "a_single_one_keeps_it": where[1] == names[-1],
}
measures = {"devices": len(names)}
