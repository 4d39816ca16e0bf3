# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Record the order of the calls that set up a TPU: in four lines of user code, and in TensorFlow's own shortcut."""

from unittest import mock

import tensorflow as tf

# Not public: it may move with any version of TensorFlow.
from tensorflow.python.distribute.cluster_resolver.tpu import (
    tpu_cluster_resolver as source,
)

# --8<-- [start:ours]
calls = mock.Mock()  # stands in for the TPU: it notes each call and its arguments
with (
    mock.patch.object(
        tf.distribute.cluster_resolver, "TPUClusterResolver", calls.TPUClusterResolver
    ),
    mock.patch.object(
        tf.config, "experimental_connect_to_cluster", calls.connect_to_cluster
    ),
    mock.patch.object(
        tf.tpu.experimental, "initialize_tpu_system", calls.initialize_tpu_system
    ),
    mock.patch.object(tf.distribute, "TPUStrategy", calls.TPUStrategy),
):
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
ours = [name for name, _, _ in calls.mock_calls]
same_resolver = all(
    arguments == (resolver,) for _, arguments, _ in calls.mock_calls[1:]
)
print("four lines:", " -> ".join(ours))
# --8<-- [end:ours]

# --8<-- [start:shortcut]
calls = mock.Mock()
with (
    mock.patch.object(source, "TPUClusterResolver", calls.TPUClusterResolver),
    mock.patch.object(source.remote, "connect_to_cluster", calls.connect_to_cluster),
    mock.patch.object(
        source.tpu_strategy_util,
        "initialize_tpu_system_impl",
        calls.initialize_tpu_system,
    ),
):
    tf.distribute.cluster_resolver.TPUClusterResolver.connect("local")
shortcut = [name for name, _, _ in calls.mock_calls]
print("TPUClusterResolver.connect:", " -> ".join(shortcut))
# --8<-- [end:shortcut]

# --8<-- [start:early]
# There is no TPU here, so this raises in any order.
try:
    tf.distribute.TPUStrategy(
        tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
    )
    early = "no error"
except Exception as error:
    early = f"{type(error).__name__}: {error}"
print("strategy first:", early)
# --8<-- [end:early]

claims = {
    "order_is_resolve_connect_initialize_strategy": ours
    == [
        "TPUClusterResolver",
        "connect_to_cluster",
        "initialize_tpu_system",
        "TPUStrategy",
    ],
    "initialize_comes_before_connect": shortcut.index("initialize_tpu_system")
    < shortcut.index("connect_to_cluster"),
    "tensorflow_does_the_same": shortcut == ours[:3],
    "all_get_the_same_resolver": same_resolver,
    "strategy_without_a_tpu_raises": early != "no error",
}
errors = {"strategy_first": early}
