# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 60
# ///
"""Show that keras.distribution on the TensorFlow backend accepts a layout, trains, and cuts nothing."""

# --8<-- [start:ask]
import keras
import numpy as np
import tensorflow as tf
from tensorflow.experimental import dtensor

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [f"{d.device_type.lower()}:{i}" for i, d in enumerate(devices)]
mesh = keras.distribution.DeviceMesh(
    (1, len(devices)), ["batch", "model"], devices=names
)
layout = keras.distribution.LayoutMap(mesh)
layout[".*kernel"] = (None, "model")  # cut every kernel by columns
keras.distribution.set_distribution(
    keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")
)
print(
    "backend:",
    keras.backend.backend(),
    " distribution:",
    type(keras.distribution.distribution()).__name__,
)
# --8<-- [end:ask]

# --8<-- [start:train]
ran_on: list[str] = []


class Spy(keras.layers.Layer):
    """Pass its input on, and note the device that holds it and how many rows there are."""

    def call(self, inputs):
        """Run eagerly inside `fit`, so the tensor is real and knows its device."""
        if tf.executing_eagerly():
            ran_on.append(f"{inputs.device[-5:]} with {inputs.shape[0]} rows")
        return inputs


UNITS = 8 * len(devices)
x = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
model = keras.Sequential(
    [
        keras.Input((8,)),
        keras.layers.Dense(UNITS, name="wide"),
        Spy(),
        keras.layers.Dense(1),
    ]
)
model.compile(keras.optimizers.SGD(0.01), "mse", run_eagerly=True)
history = model.fit(x, x[:, :1], batch_size=32, epochs=2, verbose=0)
kernel = model.get_layer("wide").kernel
print("fit says nothing:", sorted(history.history))
print("kernel:", tuple(kernel.value.shape), "on", kernel.value.device[-5:])
print("every batch:", sorted(set(ran_on)))
# --8<-- [end:train]

# --8<-- [start:tell]
try:
    keras.distribution.distribute_tensor(
        keras.ops.ones((8, UNITS)), layout["wide/kernel"]
    )
    refusal = ""
except AttributeError as error:
    refusal = f"AttributeError: {error}"
print(refusal)
# --8<-- [end:tell]

# --8<-- [start:cure]
keras.distribution.set_distribution(None)
on_mesh = dtensor.create_mesh(
    [("model", len(devices))], devices=[n.upper() for n in names]
)
columns = np.split(kernel.numpy(), len(devices), axis=1)  # a part for each device
by_columns = dtensor.Layout([dtensor.UNSHARDED, "model"], on_mesh)
cut = dtensor.DVariable(dtensor.pack(columns, by_columns))
pieces = [tuple(piece.shape) for piece in dtensor.unpack(cut.read_value())]
print("with DTensor:", pieces)
# --8<-- [end:cure]

claims = {
    "fit_finished": len(history.history["loss"]) == 2,
    "loss_went_down": history.history["loss"][-1] < history.history["loss"][0],
    "kernel_whole_on_one_device": tuple(kernel.value.shape) == (8, UNITS)
    and kernel.value.device.endswith(":0"),
    "kernel_cut_over_devices": tuple(kernel.value.shape) == (8, UNITS // len(devices))
    and len(devices) > 1,
    "all_rows_on_one_device": set(ran_on)
    == {f"{devices[0].device_type}:0 with 32 rows"},
    "distribute_tensor_refuses": "has no attribute 'distribute_tensor'" in refusal,
    "dtensor_holds_the_kernel": np.array_equal(
        np.concatenate(dtensor.unpack(cut.read_value()), axis=1), kernel.numpy()
    ),
    "dtensor_cuts": pieces == [(8, UNITS // len(devices))] * len(devices),
}
errors = {"distribute_tensor": refusal}
measures = {
    "devices": len(devices),
    "kernel_columns": UNITS,
    "columns_with_dtensor": pieces[0][1],
}
