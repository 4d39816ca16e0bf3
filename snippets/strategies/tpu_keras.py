# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# ///
"""Train a Keras model with `fit` on the TPU of this machine, or, where there is none, on its GPUs or CPUs."""

import os
import tempfile
from unittest import mock

import keras
import numpy as np
import tensorflow as tf


def find_strategy():
    """Return a TPUStrategy where a TPU answers, else one for the GPUs or CPUs."""
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=os.environ.get("TPU_NAME", "local")
        )
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, OSError, tf.errors.NotFoundError) as reason:
        if "TPU_NAME" in os.environ:  # a TPU was ordered: nothing else will do
            raise
        print("no TPU:", type(reason).__name__)
        devices = tf.config.list_logical_devices("GPU")
        devices = devices or tf.config.list_logical_devices("CPU")
        # The default reduction cannot run several steps in one call of `fit`.
        return tf.distribute.MirroredStrategy(
            [device.name for device in devices],
            cross_device_ops=tf.distribute.ReductionToOneDevice(),
        )


strategy = find_strategy()

# --8<-- [start:data]
print(f"{type(strategy).__name__} with {strategy.num_replicas_in_sync} replica(s)")
PER_REPLICA, STEPS, EPOCHS = 16, 8, 3
BATCH = PER_REPLICA * strategy.num_replicas_in_sync
random = np.random.default_rng(0)
x = random.normal(size=(STEPS * BATCH + 5, 8)).astype("float32")
y = np.sin(x).sum(axis=1, keepdims=True)
rows = tf.data.Dataset.from_tensor_slices((x, y))
rows = rows.batch(BATCH, drop_remainder=True)  # five rows are left out
rows = rows.prefetch(tf.data.AUTOTUNE)
print("shape of every batch:", rows.element_spec[0].shape)
# --8<-- [end:data]


# --8<-- [start:model]
def build(policy, **compiled):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(32, "relu", dtype=policy),
            keras.layers.Dense(1, dtype="float32"),  # the loss stays in float32
        ]
    )
    model.compile(keras.optimizers.SGD(0.02), loss="mse", **compiled)
    return model


with strategy.scope():  # build and compile
    model = build("mixed_bfloat16", steps_per_execution=STEPS)
# --8<-- [end:model]

# --8<-- [start:fit]
calls = []
count = keras.callbacks.LambdaCallback(
    on_train_batch_end=lambda batch, logs: calls.append(batch)
)
history = model.fit(rows, epochs=EPOCHS, verbose=0, callbacks=[count])
losses = history.history["loss"]
print("losses:", [round(loss, 1) for loss in losses])
print(f"{EPOCHS * STEPS} steps in {len(calls)} calls")
# --8<-- [end:fit]

# --8<-- [start:save]
with tempfile.TemporaryDirectory() as folder:  # for a slice: a folder in gs://
    model.save(f"{folder}/model.keras")
    with strategy.scope():
        again = keras.models.load_model(f"{folder}/model.keras")
truth = model.evaluate(rows, verbose=0)
restored = again.evaluate(rows, verbose=0)
print("restored, the same loss:", abs(restored - truth) < 1e-3 * truth)
# --8<-- [end:save]

# --8<-- [start:compare]
# One device, float32. Outside the scope, on a machine with a TPU, XLA must be off.
alone = build("float32", jit_compile=False)
expected = alone.fit(rows, epochs=EPOCHS, verbose=0).history["loss"]
away = max(abs(a / b - 1) for a, b in zip(losses, expected, strict=True))
print("losses of one device in float32, within 2 %:", away < 0.02)
# --8<-- [end:compare]

# --8<-- [start:auto]
pretended = [tf.config.PhysicalDevice("/physical_device:TPU:0", "TPU")]
with mock.patch.object(tf.config, "list_physical_devices", return_value=pretended):
    outside = build("float32").jit_compile
    with strategy.scope():
        inside = build("float32").jit_compile
print("a TPU in sight: XLA outside the scope:", outside, "inside:", inside)
# --8<-- [end:auto]

kernel, computed = model.layers[0].kernel, model.layers[0](x[:1])
claims = {
    "every_batch_has_one_fixed_shape": rows.element_spec[0].shape.is_fully_defined(),
    "one_call_runs_all_steps_of_an_epoch": len(calls) == EPOCHS,
    "computes_in_bfloat16": computed.dtype == "bfloat16",
    "keeps_its_weights_in_bfloat16": kernel.dtype != "float32",
    "losses_of_one_device_in_float32": away < 0.02,
    "loss_falls": losses[-1] < 0.8 * losses[0],
    "restores": abs(restored - truth) < 1e-3 * truth,
    "outside_the_scope_auto_asks_for_xla": outside,
    "in_the_scope_auto_asks_for_xla": inside,
}
