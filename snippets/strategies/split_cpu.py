# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Split the CPU into four logical devices, so that a laptop has four replicas."""

# --8<-- [start:split]
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
four = [tf.config.LogicalDeviceConfiguration()] * 4
tf.config.set_logical_device_configuration(cpu, four)
# --8<-- [end:split]

# --8<-- [start:use]
names = [device.name for device in tf.config.list_logical_devices("CPU")]
strategy = tf.distribute.MirroredStrategy(names)
print("replicas:", strategy.num_replicas_in_sync)
# --8<-- [end:use]

# --8<-- [start:late]
errors = {}
try:
    tf.config.set_logical_device_configuration(cpu, four[:2])
except RuntimeError as error:
    errors["late"] = f"RuntimeError: {error}"
    print(errors["late"])
# --8<-- [end:late]

claims = {
    "one_cpu_gives_four_replicas": strategy.num_replicas_in_sync == 4
    and len(tf.config.list_physical_devices("CPU")) == 1,
    "too_late_raises": "late" in errors,
    "too_late_changes_the_number": len(tf.config.list_logical_devices("CPU")) == 2,
}
measures = {"replicas": strategy.num_replicas_in_sync}
