# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 180
# ///
"""What `fit` reports under MirroredStrategy, after an epoch and to a callback after each batch."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
replicas = strategy.num_replicas_in_sync
part, steps = 8, 4  # rows of a replica, batches of an epoch
batch = part * replicas
# In each batch the first replica gets one positive row, the others seven each.
first, other = [3, 2, 1, -1, -1, -2, -2, -3], [3, 3, 2, 2, 1, -1, -2, -3]
rows = first + (replicas - 1) * other
others = (replicas - 1) * [1, 1, 1, 1, 1, 1, 1, 0]
labels = [[*np.eye(part)[n % 3], *others] for n in range(steps)]
x = np.array(steps * rows, "float32")[:, None]
y = np.array(labels, "float32").reshape(-1, 1)


def build():
    """Return a model whose answer is sigmoid(x), which a rate of 0 keeps."""
    keras.utils.set_random_seed(1)
    with strategy.scope():
        answer = keras.layers.Dense(
            1, activation="sigmoid", use_bias=False, kernel_initializer="ones"
        )
        model = keras.Sequential([keras.Input((1,)), answer])
        metrics = ["accuracy", keras.metrics.Precision(name="precision")]
        metrics += [keras.metrics.Recall(name="recall"), keras.metrics.AUC(name="auc")]
        model.compile(keras.optimizers.SGD(0.0), "binary_crossentropy", metrics=metrics)
    return model


# --8<-- [end:setup]


# --8<-- [start:fit]
class Look(keras.callbacks.Callback):
    """Note what `fit` hands over, and what the metrics hold at that moment."""

    def __init__(self):
        super().__init__()
        self.handed, self.held, self.epochs = [], [], 0

    def on_train_batch_end(self, batch, logs=None):
        self.handed.append(logs)
        held = self.model.get_metrics_result()
        self.held.append({name: float(value) for name, value in held.items()})

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1


look = Look()
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
few_x, few_y = x[: batch + 1], y[: batch + 1]  # the last batch has one row
few = tf.data.Dataset.from_tensor_slices((few_x, few_y)).batch(batch)
model = build()
history = model.fit(data, validation_data=few, callbacks=[look], verbose=0).history
# --8<-- [end:fit]


# --8<-- [start:compare]
def in_numpy(x, y):
    """Return the same metrics over these rows."""
    p = 1 / (1 + np.exp(-x))
    said, true = p > 0.5, y > 0.5
    hits = (said & true).sum()
    over = p[true][:, None] - p[~true][None]  # each positive with each negative
    return {
        "loss": float(-np.log(np.where(true, p, 1 - p)).mean()),
        "accuracy": float((said == true).mean()),
        "precision": float(hits / said.sum()),
        "recall": float(hits / true.sum()),
        "auc": float(((over > 0) + 0.5 * (over == 0)).mean()),
    }


whole = in_numpy(x, y)
print(f"{'':10} NumPy  epoch  handed  read")
for name, value in whole.items():
    end, handed, held = history[name][0], look.handed[-1][name], look.held[-1][name]
    print(f"{name:10}{value:6.3f}{end:7.3f}{handed:8.3f}{held:6.3f}")
# --8<-- [end:compare]

validated = in_numpy(few_x, few_y)
so_far = [in_numpy(x[: n * batch], y[: n * batch]) for n in range(1, steps + 1)]
owner = np.arange(len(x)) % batch // part  # the replica that gets the row
own = [in_numpy(x[owner == r], y[owner == r]) for r in range(replicas)]
ratios, means = ("precision", "recall", "auc"), ("loss", "accuracy")


def close(some, others, names):
    return all(abs(some[name] - others[name]) < 1e-3 for name in names)


claims = {
    "the_epoch_is_numpy": all(
        abs(history[name][0] - whole[name]) < 1e-3 for name in whole
    ),
    "validation_is_numpy": all(
        abs(history[f"val_{name}"][0] - validated[name]) < 1e-3 for name in whole
    ),
    "handed_means_are_numpy": all(
        close(handed, rows, means)
        for handed, rows in zip(look.handed, so_far, strict=True)
    ),
    "handed_ratios_are_not": replicas > 1
    and all(abs(look.handed[-1][name] - whole[name]) > 1e-2 for name in ratios),
    "handed_is_the_mean_of_the_replicas": all(
        abs(look.handed[-1][name] - np.mean([rows[name] for rows in own])) < 1e-3
        for name in whole
    ),
    "read_in_the_callback_is_numpy": all(
        close(held, rows, whole) for held, rows in zip(look.held, so_far, strict=True)
    ),
    "callbacks_run_once": look.epochs == 1 and len(look.handed) == steps,
}
measures = {"replicas": replicas}
measures |= {f"handed_{name}": round(look.handed[-1][name], 3) for name in ratios}
measures |= {f"epoch_{name}": round(history[name][0], 3) for name in ratios}
