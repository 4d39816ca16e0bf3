# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# seconds = 240
# tolerance = 0.6
# ///
"""How often `fit` traces its step: by optimizer, with the optimizer built first, and on several replicas."""

# --8<-- [start:model]
import time

import keras
import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
BATCH = 12 * len(devices)  # `fit` wants equal parts
x = np.random.default_rng(0).normal(size=(4 * BATCH, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)


class Counted(keras.Model):
    """A model that counts how often Python runs its training step."""

    traces = 0

    def train_step(self, data):
        self.traces += 1
        return super().train_step(data)


def build(optimizer="adam", depth=2):
    keras.utils.set_random_seed(0)
    inputs = outputs = keras.Input((8,))
    for _ in range(depth):
        outputs = keras.layers.Dense(16, "relu")(outputs)
    model = Counted(inputs, keras.layers.Dense(1)(outputs))
    model.compile(optimizer, "mse")
    return model


def fit(model, epochs=3):
    """Train for four steps an epoch; return how often the step was traced meanwhile."""
    before = model.traces
    model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0)
    return model.traces - before


# --8<-- [end:model]

# --8<-- [start:alone]
model = build()
traced = {"Adam": fit(model), "the same model, fit again": fit(model)}
model.compile("adam", "mse")
traced["compiled again"] = fit(model)
traced["SGD"] = fit(build("sgd"))
traced["SGD with momentum"] = fit(build(keras.optimizers.SGD(momentum=0.9)))
model = build()
model.optimizer.build(model.trainable_variables)
traced["Adam, built first"] = fit(model)
for name, times in traced.items():
    print(f"{name:24} traces in 12 steps: {times}")
# --8<-- [end:alone]


# --8<-- [start:seconds]
def first_step(built):
    """Train a network of 12 layers for one step; return the processor's seconds for it, and the weights."""
    model = build(depth=12)
    start = time.process_time()
    if built:
        model.optimizer.build(model.trainable_variables)
    model.fit(x[:12], y[:12], verbose=0)
    return time.process_time() - start, model.get_weights()


turns = [(first_step(False), first_step(True)) for _ in range(3)]
as_it_is = min(plain[0] for plain, _ in turns)
ratio = as_it_is / min(built[0] for _, built in turns)
(_, weights), (_, weights_of_built) = turns[0]
same = all(map(np.array_equal, weights, weights_of_built))
print("built first, the first step takes less:", ratio > 1.2)
print("the same weights after it:", same)
# --8<-- [end:seconds]

# --8<-- [start:replicas]
by_replicas = {}
for count in sorted({1, len(devices)}):
    names = [device.name for device in devices[:count]]
    with tf.distribute.MirroredStrategy(names).scope():
        model = build()
    by_replicas[count] = fit(model)
for count, times in by_replicas.items():
    print(f"replicas: {count}, traces: {times}")
# --8<-- [end:replicas]

claims = {
    "adam_is_traced_twice": traced["Adam"] == 2,
    "a_second_fit_traces_again": traced["the same model, fit again"] > 0,
    "compile_traces_again": traced["compiled again"] == 2,
    "sgd_is_traced_once": traced["SGD"] == 1,
    "momentum_is_traced_twice": traced["SGD with momentum"] == 2,
    "built_first_it_is_traced_once": traced["Adam, built first"] == 1,
    "built_first_it_takes_less": ratio > 1.2,
    "building_first_changes_the_weights": not same,
    "each_replica_is_traced": all(n == times for n, times in by_replicas.items()),
    "once_for_all_replicas": len(set(by_replicas.values())) == 1,
}
measures = {"ratio": round(ratio, 1)}
