# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""A new schedule for the learning rate after a fit: the step keeps the old one until compile is called again."""

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # a traced step keeps it on any device

# --8<-- [start:kept]
Decay = keras.optimizers.schedules.ExponentialDecay
keras.utils.set_random_seed(0)
x, y = np.ones((8, 2)), np.ones((8, 1))
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(Decay(0.1, decay_steps=1, decay_rate=1))
model.compile(optimizer, "mse")
model.fit(x, y, verbose=0)
optimizer.learning_rate = Decay(0.0, decay_steps=1, decay_rate=1)  # never moves


def moves():
    """Fit once more; tell whether the weights move."""
    before = model.get_weights()
    model.fit(x, y, verbose=0)
    return any(np.any(a != b) for a, b in zip(before, model.get_weights(), strict=True))


shown = float(optimizer.learning_rate)
still_moves = moves()
model.compile(optimizer, "mse")
moves_compiled = moves()
print("learning rate that the optimizer shows:", shown)
print("the weights move all the same:", still_moves)
print("after a new compile, they move:", moves_compiled)
# --8<-- [end:kept]

claims = {
    "the_optimizer_shows_the_new_schedule": shown == 0,
    "the_step_keeps_the_old_schedule": still_moves,
    "a_new_compile_takes_it": not moves_compiled,
}
