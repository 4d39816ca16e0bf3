# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# ///
"""One training step by hand: the loss, its gradient by the chain rule, and the update of SGD, momentum and Adam."""

# --8<-- [start:setup]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes

features, target = load_diabetes(return_X_y=True)
# Body mass, blood pressure and triglycerides; each with deviation 1.
x = features[:, [2, 3, 8]] * np.sqrt(len(features))
y = ((target - target.mean()) / target.std())[:, None]
x, y = x.astype("float32"), y.astype("float32")

rng = np.random.default_rng(0)
start = [
    rng.normal(size=(3, 4)) / 2,
    np.zeros(4),
    rng.normal(size=(4, 1)) / 2,
    np.zeros(1),
]
# --8<-- [end:setup]


# --8<-- [start:chain_rule]
def loss_and_gradients(weights, x, y):
    """Return the mean squared error of a network with one hidden layer, and its gradients, with NumPy alone."""
    w1, b1, w2, b2 = weights
    hidden = np.tanh(x @ w1 + b1)
    error = hidden @ w2 + b2 - y
    d_output = 2 * error / len(x)  # slope of the loss for each output
    d_hidden = d_output @ w2.T * (1 - hidden**2)  # carried back through tanh
    return np.mean(error**2), [
        x.T @ d_hidden,
        d_hidden.sum(0),
        hidden.T @ d_output,
        d_output.sum(0),
    ]


loss, gradients = loss_and_gradients(start, x, y)
print(f"loss {loss:.3f}")
print(
    "slopes of the output layer",
    gradients[2].ravel().round(3),
    "and its bias",
    gradients[3].round(3),
)
# --8<-- [end:chain_rule]


# --8<-- [start:tape]
def build():
    """Return the same network in Keras, with the same first weights."""
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4, activation="tanh"),
            keras.layers.Dense(1),
        ]
    )
    model.set_weights(start)
    return model


model = build()
with tf.GradientTape() as tape:
    keras_loss = keras.losses.MeanSquaredError()(y, model(x))
keras_gradients = tape.gradient(keras_loss, model.trainable_variables)
gradients_equal = all(
    np.allclose(a, b, atol=1e-5)
    for a, b in zip(gradients, keras_gradients, strict=True)
)
print("the tape finds the same gradients:", gradients_equal)
# --8<-- [end:tape]

# --8<-- [start:one_step]
rate = 0.1
by_hand = [
    weight - rate * gradient for weight, gradient in zip(start, gradients, strict=True)
]
keras.optimizers.SGD(rate).apply_gradients(
    zip(keras_gradients, model.trainable_variables, strict=True)
)
step_equal = all(
    np.allclose(a, b, atol=1e-5)
    for a, b in zip(by_hand, model.get_weights(), strict=True)
)
after_one_step = loss_and_gradients(by_hand, x, y)[0]
print("the optimizer takes the same step:", step_equal)
print(f"loss {loss:.3f} before, {after_one_step:.3f} after")
# --8<-- [end:one_step]


# --8<-- [start:rules]
def sgd(w, g, state, t):
    """Step against the slope."""
    return w - 0.1 * g, state


def momentum(w, g, state, t):
    """Keep a velocity: 0.9 of the last step, plus a step against the slope (Polyak, 1964)."""
    velocity = 0.9 * state.get("velocity", 0) - 0.1 * g
    return w + velocity, {"velocity": velocity}


def adam(w, g, state, t):
    """Divide a running mean of the slope by the root of a running mean of its square (Kingma and Ba, 2014)."""
    mean = 0.9 * state.get("mean", 0) + 0.1 * g
    square = 0.999 * state.get("square", 0) + 0.001 * g**2
    unbiased_mean, unbiased_square = mean / (1 - 0.9**t), square / (1 - 0.999**t)
    # Keras adds 1e-7 before the bias is out, Algorithm 1 of the paper after that.
    epsilon = 1e-7 / np.sqrt(1 - 0.999**t)
    step = 0.1 * unbiased_mean / (np.sqrt(unbiased_square) + epsilon)
    return w - step, {"mean": mean, "square": square}


# --8<-- [end:rules]

# --8<-- [start:many_steps]
rules = {
    "SGD": (sgd, keras.optimizers.SGD(0.1)),
    "Momentum": (momentum, keras.optimizers.SGD(0.1, momentum=0.9)),
    "Adam": (adam, keras.optimizers.Adam(0.1)),
}
losses, equal = {}, {}
for name, (rule, optimizer) in rules.items():
    weights, states, model = list(start), [{} for _ in start], build()
    losses[name] = []
    for t in range(1, 41):
        # The four mini-batches of 110 patients take turns.
        first = (t - 1) % 4 * 110
        rows = slice(first, first + 110)
        _, gradients = loss_and_gradients(weights, x[rows], y[rows])
        for i, gradient in enumerate(gradients):
            weights[i], states[i] = rule(weights[i], gradient, states[i], t)
        losses[name].append(float(loss_and_gradients(weights, x, y)[0]))
        with tf.GradientTape() as tape:
            batch_loss = keras.losses.MeanSquaredError()(y[rows], model(x[rows]))
        optimizer.apply(
            tape.gradient(batch_loss, model.trainable_variables),
            model.trainable_variables,
        )
    equal[name] = all(
        np.allclose(a, b, atol=1e-3)
        for a, b in zip(weights, model.get_weights(), strict=True)
    )
    print(
        f"{name:9} loss {loss:.2f} to {losses[name][-1]:.2f}; 40 steps equal Keras: {equal[name]}"
    )
# --8<-- [end:many_steps]


# --8<-- [start:first_step]
def first_step(optimizer):
    """Return the change that one step makes in every weight, on the same rows."""
    model = build()
    optimizer.apply(keras_gradients, model.trainable_variables)
    moves = zip(start, model.get_weights(), strict=True)
    return np.concatenate([(after - before).ravel() for before, after in moves])


plain = first_step(keras.optimizers.SGD(0.1))
with_momentum = first_step(keras.optimizers.SGD(0.1, momentum=0.9))
with_adam = first_step(keras.optimizers.Adam(0.1))
momentum_starts_as_sgd = bool(np.allclose(with_momentum, plain, atol=1e-6))
print("first step of momentum equals that of SGD:", momentum_starts_as_sgd)
for name, step in {"SGD": plain, "Adam": with_adam}.items():
    lengths = np.abs(step)
    print(f"{name} moves a weight by {lengths.min():.3f} to {lengths.max():.3f}")
# --8<-- [end:first_step]

along = plain @ with_adam / np.linalg.norm(plain) / np.linalg.norm(with_adam)

# So small a slope tells where the 1e-7 is added.
tiny, moved = 1e-6, keras.Variable(0.0)
keras.optimizers.Adam(0.1).apply([keras.ops.convert_to_tensor(tiny)], [moved])
tiny_step, paper_step = -float(moved), 0.1 * tiny / (tiny + 1e-7)
tiny_by_hand = -adam(0.0, tiny, {}, 1)[0]

claims = {
    "gradients_equal": gradients_equal,
    "step_equal": step_equal,
    "step_lowers_loss": bool(after_one_step < loss),
    "sgd_equal": equal["SGD"],
    "momentum_equal": equal["Momentum"],
    "adam_equal": equal["Adam"],
    "adam_equal_for_a_tiny_gradient": bool(
        np.isclose(tiny_step, tiny_by_hand, rtol=1e-3)
    ),
    "adam_adds_epsilon_as_algorithm_1": bool(
        np.isclose(tiny_step, paper_step, rtol=0.1)
    ),
    "bias_has_gradient": bool(np.abs(gradients[3]).max() > 0),
    "first_step_of_momentum_is_that_of_sgd": momentum_starts_as_sgd,
    "first_step_of_adam_is_that_of_sgd": bool(np.allclose(with_adam, plain, atol=1e-3)),
    "first_step_of_adam_has_the_direction_of_sgd": bool(along > 0.95),
    "adam_first_moves_every_weight_equally_far": bool(np.ptp(lengths) < 1e-3),
}
measures = {
    "loss_before": round(float(loss), 3),
    "loss_after_one_step": round(float(after_one_step), 3),
}
figures = {
    "losses": {
        "kind": "lines",
        "title": "The same network, three update rules",
        "xlabel": "step",
        "ylabel": "mean squared error, all rows",
        "x": list(range(41)),
        "series": {
            name: [round(float(v), 4) for v in (loss, *curve)]
            for name, curve in losses.items()
        },
    }
}
