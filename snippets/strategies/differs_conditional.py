# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 2
# seconds = 240
# ///
"""Optimizer options that put the update in a conditional raise under MirroredStrategy; what does the same."""

# --8<-- [start:fit]
import re

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
names = [device.name for device in devices]
strategy = tf.distribute.MirroredStrategy(names)
to_one = tf.distribute.ReductionToOneDevice()
reduced = tf.distribute.MirroredStrategy(names, cross_device_ops=to_one)
one = tf.distribute.get_strategy()  # outside of every scope: one device
replicas = strategy.num_replicas_in_sync
batch, rate, every, epochs = 8 * replicas, 0.1, 2, 2
rng = np.random.default_rng(0)
x = rng.normal(size=(5 * batch, 8)).astype("float32")  # an odd number of batches
y = np.sin(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)


def build(place, kind=keras.Sequential, **options):
    keras.utils.set_random_seed(1)
    with place.scope():
        model = kind([keras.Input((8,)), keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(rate, **options)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, loss="mse", metrics=["mae"])
    return model, optimizer


def fit(place, callbacks=(), **options):
    """Return the weights, or the error that `fit` raises."""
    model, _ = build(place, **options)
    try:
        model.fit(data, epochs=epochs, callbacks=list(callbacks), verbose=0)
    except (RuntimeError, ValueError) as error:
        return error
    return model.get_weights()


def apart(some, others):
    """Return the largest difference of two lists of weights."""
    pairs = zip(some, others, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


accumulate = {"gradient_accumulation_steps": every}
average = {"use_ema": True, "ema_momentum": 0.5}
overwrite = {**average, "ema_overwrite_frequency": every}
cases = {"accumulation": accumulate, "use_ema alone": average, "overwriting": overwrite}
places = {"one device": one, "MirroredStrategy": strategy, "to one device": reduced}
found = {}
for case, options in cases.items():
    for name, place in places.items():
        found[case, name] = fit(place, **options)
        error = isinstance(found[case, name], Exception)
        what = type(found[case, name]).__name__ if error else "trains"
        print(f"{case:16}{name:18}{what}")
# --8<-- [end:fit]


# --8<-- [start:accumulate]
large = every * batch


def in_parts(count):
    """Take the gradients of so many parts of a large batch; apply their sum once."""
    model, optimizer = build(strategy)

    def on_replica(features, targets):
        total = [tf.zeros_like(v) for v in model.trainable_variables]
        parts = zip(tf.split(features, count), tf.split(targets, count), strict=True)
        for part, wanted in parts:
            # One part runs after the other: otherwise several may keep their
            # activations at the same time.
            with tf.control_dependencies(total), tf.GradientTape() as tape:
                output = model(part, training=True)
                loss = tf.reduce_sum((output - wanted) ** 2) / large
            gradients = tape.gradient(loss, model.trainable_variables)
            total = [a + b for a, b in zip(total, gradients, strict=True)]
        optimizer.apply(total, model.trainable_variables)

    step = tf.function(lambda rows: strategy.run(on_replica, args=rows))
    # Each batch must split into equal parts.
    rows = data.repeat(epochs).unbatch().batch(large, drop_remainder=True)
    for part in strategy.experimental_distribute_dataset(rows):
        step(part)
    graph = step.get_concrete_function(part).graph
    sums = [node for node in graph.get_operations() if "CollectiveReduce" in node.type]
    summed = sum(node.inputs[0].shape.num_elements() for node in sums) // replicas
    return model.get_weights(), summed


weights, summed = in_parts(every)
summed_at_once = in_parts(1)[1]
accumulated = apart(found["accumulation", "one device"], weights)
print(f"accumulated in the loop: {accumulated:.4f} from one device")
print(f"a large batch in {every} parts: {summed} numbers summed")
print(f"a large batch at once:    {summed_at_once} numbers summed")
# --8<-- [end:accumulate]


# --8<-- [start:train_step]
class InParts(keras.Sequential):
    """A model that `fit` gives large batches: it takes them in parts and applies once."""

    def train_step(self, data):
        features, targets = data
        variables = self.trainable_variables
        total = [tf.zeros_like(v) for v in variables]
        (tracker,) = [metric for metric in self.metrics if metric.name == "loss"]
        parts = zip(tf.split(features, every), tf.split(targets, every), strict=True)
        for part, wanted in parts:
            with tf.control_dependencies(total), tf.GradientTape() as tape:
                output = self(part, training=True)
                # `compute_loss` has already divided by the number of replicas.
                loss = self.compute_loss(part, wanted, output)
                # Under mixed_float16 `apply` divides by this scale. Otherwise
                # `scale_loss` changes nothing.
                share = self.optimizer.scale_loss(loss / every)
            gradients = tape.gradient(share, variables)
            total = [a + b for a, b in zip(total, gradients, strict=True)]
            context = tf.distribute.get_replica_context()
            tracker.update_state(loss * context.num_replicas_in_sync)
            # Part by part: the parts' outputs, joined, would have no mask.
            logs = self.compute_metrics(part, wanted, output)
        self.update(total)
        return logs

    def update(self, total):
        self.optimizer.apply(total, self.trainable_variables)


def fit_large(place, kind):
    """Train on large batches; return weights, what `fit` reports, and steps seen."""
    model, _ = build(place, kind)
    seen = []
    each = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda step, logs: seen.append(step)
    )
    rows, targets = np.tile(x, (epochs, 1)), np.tile(y, (epochs, 1))
    history = model.fit(
        rows,
        targets,
        large,
        shuffle=False,
        validation_data=(x, y),
        callbacks=[each],
        verbose=0,
    ).history
    return model.get_weights(), history, len(seen)


in_fit, reported, seen = fit_large(strategy, InParts)
_, expected, _ = fit_large(one, keras.Sequential)
by_train_step = apart(found["accumulation", "one device"], in_fit)
print(f"accumulated in train_step: {by_train_step:.4f} from one device, {seen} steps")
for name, values in reported.items():
    print(f"{name:9}{values[0]:.4f}, one device {expected[name][0]:.4f}")
# --8<-- [end:train_step]


# --8<-- [start:float16]
class Summed(InParts):
    """Sum before `apply`: then each replica sees the overflow of any other, at the price of a second exchange."""

    def update(self, total):
        context = tf.distribute.get_replica_context()
        total = context.all_reduce("SUM", total)
        total = [gradient / context.num_replicas_in_sync for gradient in total]
        self.optimizer.apply(total, self.trainable_variables)


def overflow(place, kind):
    """Train under mixed_float16; the last row, on the last replica, overflows at first."""
    keras.config.set_dtype_policy("mixed_float16")
    model, _ = build(place, kind)
    keras.config.set_dtype_policy("float32")
    rows, targets = np.tile(x[:large], (6, 1)), np.tile(y[:large], (6, 1))
    targets[large - 1 :: large] = 50
    model.fit(rows, targets, large, shuffle=False, verbose=0)
    return model.get_weights()


alone = overflow(one, InParts)
finite, near = {}, {}
for name, kind in {"InParts": InParts, "Summed": Summed}.items():
    after = overflow(strategy, kind)
    finite[name] = all(np.isfinite(weight).all() for weight in after)
    near[name] = finite[name] and apart(alone, after) < 1e-2
    print(f"{name}: finite {finite[name]}, as on one device {near[name]}")
# --8<-- [end:float16]


# --8<-- [start:overwrite]
class Overwrite(keras.callbacks.Callback):
    """Put the averages into the weights after every few steps of the optimizer."""

    def on_train_batch_end(self, batch, logs=None):
        optimizer = self.model.optimizer
        done = int(optimizer.iterations.numpy())
        # After a first step that float16 skips it is 0, and there is no average yet.
        if done and done % every == 0:
            with strategy.scope():
                optimizer.finalize_variable_values(self.model.trainable_variables)


averaged = apart(
    found["use_ema alone", "one device"], found["use_ema alone", "MirroredStrategy"]
)
overwritten = apart(
    found["overwriting", "one device"], fit(strategy, [Overwrite()], **average)
)
matters = apart(
    found["use_ema alone", "one device"], found["overwriting", "one device"]
)
print(f"use_ema alone:            {averaged:.4f} from one device")
print(f"overwritten by callback:  {overwritten:.4f} from one device")
# --8<-- [end:overwrite]


def masked(place, kind):
    """Return the training metrics of a model whose rows are three quarters padding."""
    with place.scope():
        table = keras.layers.Embedding(3, 2, mask_zero=True)
        last = keras.layers.Dense(1, kernel_initializer="zeros")
        model = kind([keras.Input((4,)), table, last])
        model.compile(keras.optimizers.SGD(0.0), loss="mse", metrics=["mae"])
    words, wanted = [[1, 0, 0, 0]] * large, [[[1.0], [0.0], [0.0], [0.0]]] * large
    return model.fit(np.array(words), np.array(wanted), large, verbose=0).history


def after_a_skipped_step(*callbacks):
    """Return the weights after two steps, the first of which overflows."""
    with strategy.scope():
        layer = keras.layers.Dense(1, kernel_initializer="ones")
        model = keras.Sequential([keras.Input((2,)), layer])
        inner = keras.optimizers.SGD(rate, **average)
        model.compile(keras.optimizers.LossScaleOptimizer(inner), loss="mse")
    rows, targets = np.ones((2 * replicas, 2)), np.ones((2 * replicas, 1))
    targets[:replicas] = 1e36
    one_each = {"batch_size": replicas, "shuffle": False, "verbose": 0}
    model.fit(rows, targets, callbacks=list(callbacks), **one_each)
    return model.get_weights()


def merge_call(case, name):
    """Return the error of `merge_call`, without colours; nothing where `fit` trains."""
    error = found[case, name]
    if not isinstance(error, RuntimeError):
        return ""
    text = re.sub(r"\x1b\[\d+m", "", f"RuntimeError: {error}")
    return text.partition("a tf.function.")[0] + "a tf.function."


both = ("MirroredStrategy", "to one device")
several, parameters = replicas > 1, sum(weight.size for weight in weights)
claims = {
    "accumulation_raises": all(merge_call("accumulation", name) for name in both),
    "overwriting_raises": all(merge_call("overwriting", name) for name in both),
    "both_raise_the_same": len(
        {
            merge_call(case, name)
            for case in ("accumulation", "overwriting")
            for name in both
        }
    )
    == 1,
    "use_ema_trains": not any(merge_call("use_ema alone", name) for name in both),
    "accumulating_in_the_loop_cures": accumulated < 1e-5,
    "parts_are_summed_once": summed == summed_at_once == several * parameters,
    "accumulating_in_train_step_cures": by_train_step < 1e-5,
    "float16_needs_the_sum_first": finite["InParts"] is (replicas == 1)
    and finite["Summed"],
    "train_step_keeps_reports": set(reported) == set(expected)
    and all(
        np.allclose(reported[name], expected[name], rtol=1e-4) for name in expected
    ),
    "metrics_are_masked": masked(strategy, InParts)["mae"]
    == masked(one, keras.Sequential)["mae"]
    == [1.0],
    "a_skipped_first_step_overwrites_nothing": apart(
        after_a_skipped_step(), after_a_skipped_step(Overwrite())
    )
    == 0.0,
    "callbacks_see_large_batches": seen == epochs * len(data) // every,
    "use_ema_is_one_device": averaged < 1e-5,
    "the_callback_cures": overwritten < 1e-5 and matters > 1e-3,
}
measures = {"replicas": replicas, "every": every}
measures |= {"accumulated": round(accumulated, 4)}
measures |= {"summed": summed, "overwritten": round(overwritten, 4)}
errors = {"merge_call": merge_call("accumulation", "MirroredStrategy")}
