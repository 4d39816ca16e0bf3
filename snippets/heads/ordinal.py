# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 240
# tolerance = 0.05
# ///
"""Classes in an order, such as stars from 1 to 5: one score and four steps, against a softmax over five classes."""

# --8<-- [start:data]
import keras
import numpy as np

CLASSES, FEATURES = 5, 8
STEPS = np.array([-2.0, -0.5, 1.0, 2.5])  # where one class ends and the next begins


def draw(seed, rows):
    """Draw rows whose class says between which steps a hidden score lies, noise included."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, FEATURES)).astype("float32")
    score = x @ np.linspace(1.2, -0.6, FEATURES) + rng.logistic(size=rows)
    return x, (score[:, None] > STEPS).sum(axis=1)


# --8<-- [end:data]


# --8<-- [start:head]
class Steps(keras.layers.Layer):
    """Add a bias for each step between two classes to one score."""

    def build(self, shape):
        start = keras.initializers.Constant(np.linspace(1, -1, CLASSES - 1))
        self.bias = self.add_weight(shape=(CLASSES - 1,), initializer=start)

    def call(self, score):
        return keras.ops.sigmoid(score + self.bias)


def fit(head, loss, x, y):
    """Train a head for 200 steps; return its outputs for the held-out rows."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((FEATURES,)), *head])
    falling = keras.optimizers.schedules.CosineDecay(0.05, 200)
    model.compile(keras.optimizers.Adam(falling), loss)
    model.fit(x, y, batch_size=len(x) // 5, epochs=40, verbose=0)
    return model(x_test).numpy()


def above(y):
    """Return for each row four questions: is the class above 0, above 1, and so on?"""
    return (y[:, None] > np.arange(CLASSES - 1)).astype("float32")


x_test, y_test = draw(100, 10_000)
answers, off = [], {}
for rows in (150, 5000):
    for seed in range(2):
        x, y = draw(seed, rows)
        one_score = [keras.layers.Dense(1, use_bias=False), Steps()]
        steps = fit(one_score, "binary_crossentropy", x, above(y))
        softmax = [keras.layers.Dense(CLASSES, "softmax")]
        shares = fit(softmax, "sparse_categorical_crossentropy", x, y)
        said = {
            "one score, four steps": (steps > 0.5).sum(axis=1),
            "softmax, the largest": shares.argmax(axis=1),
            "softmax, the middle": (shares.cumsum(axis=1) < 0.5).sum(axis=1),
        }
        for name, classes in said.items():
            error = float(np.abs(classes - y_test).mean())
            off.setdefault((rows, name), []).append(error)
        answers.append(steps)
for (rows, name), missed in off.items():
    print(f"{rows:4} rows, {name:22}", *(f"{error:.2f}" for error in missed))
# --8<-- [end:head]

mean = {key: float(np.mean(missed)) for key, missed in off.items()}
one, largest, middle = said
by_layer = Steps()(np.array([[0.5]], "float32")).numpy()[0]
by_hand = 1 / (1 + np.exp(-(0.5 + np.linspace(1, -1, CLASSES - 1))))
order = [np.diff(answer, axis=1) <= 0 for answer in answers]
claims = {
    "steps_add_a_bias_each": bool(np.allclose(by_layer, by_hand, atol=1e-5)),
    "answers_in_order": all(bool(o.all()) for o in order),
    "all_classes_occur": bool((np.bincount(y_test, minlength=CLASSES) > 0).all()),
    "beats_the_largest_share": all(
        mean[rows, one] < mean[rows, largest] - 0.03 for rows in (150, 5000)
    ),
    "few_rows_beats_the_middle": mean[150, one] < mean[150, middle] - 0.01,
    "many_rows_far_better_than_the_middle": mean[5000, one] < mean[5000, middle] - 0.03,
    "middle_beats_the_largest_share": all(
        mean[rows, middle] < mean[rows, largest] - 0.03 for rows in (150, 5000)
    ),
}
measures = {
    "few_steps": round(mean[150, one], 2),
    "few_largest": round(mean[150, largest], 2),
    "few_middle": round(mean[150, middle], 2),
    "many_steps": round(mean[5000, one], 2),
    "many_largest": round(mean[5000, largest], 2),
    "many_middle": round(mean[5000, middle], 2),
}
