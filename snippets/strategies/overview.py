# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""One training script under four strategies for one machine: where each keeps a variable; the result is the same."""

import keras
import numpy as np
import tensorflow as tf

# --8<-- [start:strategies]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]
strategies = {
    "default": tf.distribute.get_strategy(),
    "OneDeviceStrategy": tf.distribute.OneDeviceStrategy(names[0]),
    "MirroredStrategy": tf.distribute.MirroredStrategy(names),
    "CentralStorageStrategy": tf.distribute.experimental.CentralStorageStrategy(
        names, "/cpu:0"
    ),
}
# --8<-- [end:strategies]

batch = 4 * len(names)
rng = np.random.default_rng(0)
x = rng.normal(size=(4 * batch, 3)).astype("float32")
y = (x @ [[1.0], [-2.0], [0.5]]).astype("float32")
reference = np.zeros((3, 1))  # the same steps in NumPy
for start in range(0, len(x), batch):
    rows = slice(start, start + batch)
    reference -= 0.05 * 2 / batch * x[rows].T @ (x[rows] @ reference - y[rows])


# --8<-- [start:train]
def train(strategy):
    """Train a linear model under any strategy for one machine; return the model."""
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
    with strategy.scope():  # the only line that a strategy adds
        model = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"),
            ]
        )
        model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
    model.fit(data, verbose=0)
    return model


# --8<-- [end:train]

# --8<-- [start:run]
found = {}
for name, strategy in strategies.items():
    model = train(strategy)
    copies = strategy.experimental_local_results(model.layers[0].kernel.value)
    equal = bool(np.allclose(model.get_weights()[0], reference, atol=1e-5))
    found[name] = {
        "replicas": strategy.num_replicas_in_sync,
        "copies": len(copies),
        "equal": equal,
    }
    print(f"{name:23}", found[name])
# --8<-- [end:run]

tables = {
    "strategies": {
        "columns": [
            "strategy",
            "replicas",
            "copies of a variable",
            "weights equal to NumPy's",
        ],
        "rows": [[name, *facts.values()] for name, facts in found.items()],
    }
}
claims = {
    "one_script_for_all": all(facts["equal"] for facts in found.values()),
    "mirrored_copies_variables": found["MirroredStrategy"]["copies"] == len(names),
    "central_storage_keeps_one": found["CentralStorageStrategy"]["copies"] == 1,
    "both_use_every_device": {
        found[n]["replicas"] for n in ("MirroredStrategy", "CentralStorageStrategy")
    }
    == {len(names)},
    "default_uses_every_device": len(names) > 1
    and found["default"]["replicas"] == len(names),
}
measures = {"devices": len(names)}
