# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# tolerance = 0.05
# ///
"""Counts: one exponential unit with Poisson loss, its closed form, and what a linear unit says instead."""

# --8<-- [start:data]
import keras
import numpy as np

rng = np.random.default_rng(0)


def draw(rows):
    """Draw counts: each feature changes the rate by a factor. Return also the rate."""
    x = rng.normal(size=(rows, 3)).astype("float32")
    rate = np.exp(0.5 + x @ np.array([0.8, -0.6, 0.3]))[:, None]
    return x, rng.poisson(rate).astype("float32"), rate


x_train, y_train, _ = draw(5000)
x_test, y_test, rate_test = draw(5000)
print("the first counts:", y_train[:12, 0].astype(int))
# --8<-- [end:data]


# --8<-- [start:fit]
def fit(activation, loss, x=x_train, epochs=30):
    """Train one unit; return the model."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(1, activation, kernel_initializer="zeros"),
        ]
    )
    falling = keras.optimizers.schedules.CosineDecay(0.03, epochs * len(x) // 250)
    model.compile(keras.optimizers.Adam(falling), loss)
    model.fit(x, y_train, batch_size=250, epochs=epochs, verbose=0)
    return model


outputs = {
    "exponential, Poisson": fit("exponential", "poisson")(x_test).numpy(),
    "linear, squared error": fit("linear", "mse")(x_test).numpy(),
}
off = {name: float(np.abs(o - rate_test).mean()) for name, o in outputs.items()}
for name, output in outputs.items():
    print(f"{name:22} {off[name]:.2f} from the true rate, lowest {output.min():.2f}")
# --8<-- [end:fit]

# --8<-- [start:constant]
blind = fit("exponential", "poisson", x=np.zeros_like(x_train))  # only the bias is left
rate = float(blind(np.zeros((1, 3), "float32"))[0, 0])
print(f"without features: rate {rate:.3f}, mean of the counts {y_train.mean():.3f}")
# --8<-- [end:constant]


# --8<-- [start:float16]
LOGIT = 12.03


def rate_of(*layers):
    """Return the rate that a head says for that logit."""
    model = keras.Sequential([keras.Input((1,)), *layers])
    layers[0].set_weights([np.zeros((1, 1)), np.array([LOGIT])])
    return float(model(np.zeros((1, 1)))[0, 0])


half = rate_of(keras.layers.Dense(1, "exponential", dtype="mixed_float16"))
split = rate_of(
    keras.layers.Dense(1, dtype="mixed_bfloat16"),
    keras.layers.Activation("exponential", dtype="float32"),
)
single = rate_of(keras.layers.Dense(1, "exponential", dtype="float32"))
print(f"the rate for a logit of {LOGIT}: {np.exp(LOGIT):.0f}")
print(f"a unit in float16: {half:.0f}")
print(f"a unit in bfloat16, its activation in float32: {split:.0f}")
print(f"a unit in float32: {single:.0f}")
# --8<-- [end:float16]

poisson = keras.losses.Poisson()
output = np.array([[0.5], [1.0], [4.0]])
count = np.array([[0.0], [2.0], [3.0]])
by_hand = np.mean(output - count * np.log(output))
claims = {
    "constant_is_the_mean": bool(np.isclose(rate, y_train.mean(), rtol=0.01)),
    "loss_is_the_formula": bool(
        np.isclose(float(poisson(count, output)), by_hand, rtol=1e-4)
    ),
    "exponential_overflows_in_float16": half == float("inf"),
    "a_float32_activation_alone_is_low": bool(0.965 < split / np.exp(LOGIT) < 0.975),
    "a_float32_unit_is_right": bool(np.isclose(single, np.exp(LOGIT), rtol=1e-4)),
    "exponential_never_below_zero": bool(outputs["exponential, Poisson"].min() > 0),
    "linear_never_below_zero": bool(outputs["linear, squared error"].min() >= 0),
    "poisson_is_nearer": off["exponential, Poisson"] < off["linear, squared error"] / 3,
    "rate_is_the_true_one": off["exponential, Poisson"] < 0.1 * float(rate_test.mean()),
}
measures = {
    "poisson_off": round(off["exponential, Poisson"], 2),
    "linear_off": round(off["linear, squared error"], 2),
    "mean": round(float(y_train.mean()), 2),
    "below": round(100 * float((outputs["linear, squared error"] < 0).mean())),
}
