# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Averaged weights: a second fit goes on from them, and predict with SwapEMAWeights leaves them in the model."""

import keras
import numpy as np
import tensorflow as tf

# Where the averages are is the same on any device.
tf.config.set_visible_devices([], "GPU")

# --8<-- [start:fits]
random = np.random.default_rng(0)
x, y = random.random((64, 4)), random.random((64, 1))


def trained(*epochs):
    """Return a model after one call of fit for each number of epochs."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9), "mse")
    for count in epochs:
        model.fit(x, y, epochs=count, shuffle=False, verbose=0)
    return model


def alike(one, other):
    return all(np.allclose(a, b) for a, b in zip(one, other, strict=True))


once, again = trained(2).get_weights(), trained(2).get_weights()
twice = trained(1, 1).get_weights()
print("two epochs in one call, run twice: the same weights:", alike(once, again))
print("two epochs in two calls: the same weights:", alike(once, twice))
# --8<-- [end:fits]


# --8<-- [start:swap]
class Look(keras.callbacks.Callback):
    """After each epoch, evaluate or predict with the averages; note whether the weights come back."""

    def __init__(self, call):
        super().__init__()
        self.call, self.back = call, []

    def on_epoch_end(self, epoch, logs=None):
        before = self.model.get_weights()
        self.call(self.model)
        self.back.append(alike(before, self.model.get_weights()))


Swap = keras.callbacks.SwapEMAWeights
calls = {
    "evaluate": lambda model: model.evaluate(x, y, verbose=0, callbacks=[Swap()]),
    "predict": lambda model: model.predict(x, verbose=0, callbacks=[Swap()]),
}
back = {}
for name, call in calls.items():
    look = Look(call)
    trained().fit(x, y, epochs=1, verbose=0, callbacks=[look])
    back[name] = look.back == [True]
    print(f"{name} with SwapEMAWeights, the weights come back: {back[name]}")
# --8<-- [end:swap]

# Averages that are put in after a layer was frozen: the list of variables is shorter.
keras.utils.set_random_seed(0)
alike_layers = [keras.layers.Dense(4, use_bias=False) for _ in range(2)]
two = keras.Sequential([keras.Input((4,)), *alike_layers])
optimizer = keras.optimizers.SGD(0.1, use_ema=True)
built_for = two.trainable_variables
optimizer.build(built_for)
# One step that changes nothing: now the averages are the weights.
optimizer.apply([np.zeros((4, 4), "float32")] * 2, built_for)
first, second = two.get_weights()
alike_layers[0].trainable = False
optimizer.finalize_variable_values(built_for)
by_all = two.get_weights()[1]
optimizer.finalize_variable_values(two.trainable_variables)
by_fewer = two.get_weights()[1]

claims = {
    "one_call_repeats": alike(once, again),
    "a_second_fit_goes_on_from_the_averages": not alike(once, twice),
    "evaluate_puts_the_weights_back": back["evaluate"],
    "predict_leaves_the_averages": not back["predict"],
    "the_variables_it_was_built_for_get_theirs": np.array_equal(by_all, second),
    "a_shorter_list_gets_the_averages_of_others": np.array_equal(by_fewer, first),
}
