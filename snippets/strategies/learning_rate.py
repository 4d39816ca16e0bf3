# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 2
# seconds = 120
# ///
"""Make the global batch eight times larger: keep the learning rate, multiply it by eight, or warm it up to that."""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

# --8<-- [start:setup]
devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
small, factor, rate, epochs = 16, 8, 0.02, 8
images, digits = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
train, test = slice(0, 1437), slice(1437, None)


def build(scope, gain):
    """Return a compiled model; its first weights are `gain` times as large as is usual for ReLU."""
    keras.utils.set_random_seed(0)
    start = keras.initializers.VarianceScaling(2 * gain**2, mode="fan_in")
    with scope:
        hidden = [
            keras.layers.Dense(64, activation="relu", kernel_initializer=start)
            for _ in range(3)
        ]
        model = keras.Sequential(
            [
                keras.Input((64,)),
                *hidden,
                keras.layers.Dense(10, kernel_initializer=start),
            ]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(rate), loss)
    return model


class Rate(keras.callbacks.Callback):
    """Set the learning rate before each step to what `at(step)` returns."""

    def __init__(self, at):
        """Keep the function."""
        super().__init__()
        self.at, self.step = at, 0

    def on_train_batch_begin(self, batch, logs=None):
        """Set the rate of the step that comes."""
        self.model.optimizer.learning_rate = self.at(self.step)
        self.step += 1


def fit(model, batch, rate_at):
    """Train from the model's first weights; return each epoch's loss and the share of unseen digits it gets right."""
    first = model.get_weights()
    data = tf.data.Dataset.from_tensor_slices((images[train], digits[train]))
    data = data.shuffle(1437, seed=1).batch(batch, drop_remainder=True).repeat()
    history = model.fit(
        data,
        epochs=epochs,
        steps_per_epoch=1437 // batch,
        callbacks=[Rate(rate_at)],
        verbose=0,
    ).history
    right = np.asarray(model(images[test])).argmax(axis=1) == digits[test]
    model.set_weights(first)
    return history["loss"], float(right.mean())


# --8<-- [end:setup]

# --8<-- [start:run]
large = factor * small
large -= large % strategy.num_replicas_in_sync  # Keras wants batches that divide evenly
warm_up = 2 * (1437 // large)  # the steps of two epochs


def ramp(step):
    return rate * min(factor, 1 + (factor - 1) * step / warm_up)


one = build(tf.distribute.get_strategy().scope(), gain=3)
many = build(strategy.scope(), gain=3)
runs = {
    f"batch {small}, rate 0.02": fit(one, small, lambda step: rate),
    f"batch {large}, rate 0.02": fit(many, large, lambda step: rate),
    f"batch {large}, rate 0.16": fit(many, large, lambda step: factor * rate),
    f"batch {large}, warm-up to 0.16": fit(many, large, ramp),
}
many.set_weights(
    [weights / 3 if weights.ndim == 2 else weights for weights in many.get_weights()]
)
runs[f"batch {large}, rate 0.16, usual start"] = fit(
    many, large, lambda step: factor * rate
)
for name, (losses, accuracy) in runs.items():
    print(f"{name:34} loss {losses[-1]:.2f}, unseen digits {accuracy:.0%}")
# --8<-- [end:run]

# --8<-- [start:schedule]
schedule = keras.optimizers.schedules.CosineDecay(
    rate,
    decay_steps=epochs * (1437 // large) - warm_up,
    warmup_target=factor * rate,
    warmup_steps=warm_up,
)


def start_again(learning_rate, *callbacks):
    """Train four steps, save; return the model, and what another process would load."""
    with strategy.scope():
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        many.compile(keras.optimizers.SGD(learning_rate), loss)
    few = slice(0, 4 * large)
    many.fit(
        images[few], digits[few], batch_size=large, callbacks=[*callbacks], verbose=0
    )
    with tempfile.TemporaryDirectory() as folder:
        many.save(Path(folder) / "model.keras")
        with strategy.scope():  # outside of it, the copy would train on one device
            return many, keras.models.load_model(Path(folder) / "model.keras")


rates = [float(model.optimizer.learning_rate) for model in start_again(schedule)]
print(f"steps 0 to 4: {', '.join(f'{float(schedule(step)):.4f}' for step in range(5))}")
print(f"rate after 4 steps {rates[0]:.4f}, after a restart {rates[1]:.4f}")
_, again = start_again(rate, Rate(ramp))
again.fit(
    images[:large], digits[:large], batch_size=large, callbacks=[Rate(ramp)], verbose=0
)
restarted = float(again.optimizer.learning_rate.numpy())
print(f"callback: step 4 has {ramp(4):.4f}, after a restart {restarted:.4f}")
# --8<-- [end:schedule]

final = [losses[-1] for losses, _ in runs.values()]
base, same, scaled, warmed, usual = final
_, right_same, right_scaled, right_warmed, _ = (
    accuracy for _, accuracy in runs.values()
)
claims = {
    "same_rate_learns_more_slowly": same > 3 * base,
    "scaled_rate_fails_without_warm_up": scaled > 1.0 and right_scaled < 0.5,
    "warm_up_recovers": warmed < same / 2 and right_warmed > right_same,
    "usual_start_needs_no_warm_up": usual < same,
    "schedule_warms_up_alike": all(
        abs(float(schedule(step)) - rate * (1 + (factor - 1) * step / warm_up)) < 1e-6
        for step in range(warm_up)
    ),
    "schedule_goes_on_after_a_restart": rates[0] > 1.1 * rate
    and abs(rates[1] - rates[0]) < 1e-6,
    "callback_goes_on_after_a_restart": abs(restarted - ramp(4)) < 1e-6,
    "fewer_steps_in_an_epoch": 1437 // large < 1437 // small,
}
measures = {
    "factor": factor,
    "steps_small": 1437 // small,
    "steps_large": 1437 // large,
    **dict(
        zip(
            ("loss_base", "loss_same", "loss_scaled", "loss_warmed", "loss_usual"),
            final,
            strict=True,
        )
    ),
}
figures = {
    "losses": {
        "kind": "lines",
        "title": "Loss of each epoch",
        "xlabel": "epoch",
        "ylabel": "training loss",
        "yscale": "log",
        "markers": True,
        "x": list(range(1, epochs + 1)),
        "series": {name: losses for name, (losses, _) in list(runs.items())[:4]},
    }
}
