# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""Two classes: one sigmoid unit and binary cross-entropy, against the majority class; and the boundary it draws."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

features, malignant = load_breast_cancer(return_X_y=True)
malignant = 1 - malignant  # in the file, 1 is benign; the class to find should be 1
x_train, x_test, y_train, y_test = train_test_split(
    features, malignant, test_size=0.3, random_state=0, stratify=malignant
)
middle, spread = x_train.mean(axis=0), x_train.std(axis=0)
x_train, x_test = ((x - middle) / spread for x in (x_train, x_test))
print(
    f"{len(x_train)} samples to learn from, {len(x_test)} held out; {100 * malignant.mean():.0f} % are malignant"
)
# --8<-- [end:data]


# --8<-- [start:model]
def fit(seed, columns=slice(None), epochs=20):
    """Train one sigmoid unit on top of one hidden layer."""
    keras.utils.set_random_seed(seed)
    x = x_train[:, columns].astype("float32")
    model = keras.Sequential(
        [
            keras.Input(x.shape[1:]),
            keras.layers.Dense(8, "relu"),
            keras.layers.Dense(1, "sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), loss="binary_crossentropy")
    data = (
        tf.data.Dataset.from_tensor_slices((x, y_train[:, None]))
        .shuffle(400, seed=seed)
        .batch(32)
    )
    history = model.fit(data, epochs=epochs, shuffle=False, verbose=0).history["loss"]
    return model, history


runs = [fit(seed) for seed in range(3)]
probability = [model(x_test.astype("float32")).numpy()[:, 0] for model, _ in runs]
accuracies = [float(np.mean((p > 0.5) == y_test)) for p in probability]
majority = float(np.mean(y_test == 0))
logistic = float(LogisticRegression().fit(x_train, y_train).score(x_test, y_test))
print(f"always benign:       {majority:.2f} right")
print(f"logistic regression: {logistic:.2f} right")
print(
    "the network:         "
    + ", ".join(f"{value:.2f}" for value in accuracies)
    + " right (three seeds)"
)
# --8<-- [end:model]

# --8<-- [start:threshold]
found = {}
for threshold in (0.1, 0.5, 0.9):
    said = probability[0] > threshold
    found[threshold] = float(said[y_test == 1].mean()), float(said[y_test == 0].mean())
    print(
        f"above {threshold}: {found[threshold][0]:.2f} of the malignant found, ", end=""
    )
    print(f"{found[threshold][1]:.2f} of the benign called malignant")
# --8<-- [end:threshold]

# --8<-- [start:boundary]
two = [20, 21]  # worst radius and worst texture
model, _ = fit(0, columns=two, epochs=30)
side = np.linspace(-2.5, 4.0, 40)
grid = np.array([[a, b] for b in side for a in side], "float32")
surface = model(grid).numpy().reshape(len(side), len(side))
from_two = float(np.mean((model(x_test[:, two]).numpy()[:, 0] > 0.5) == y_test))
print(f"from two measurements alone: {from_two:.2f} right")
# --8<-- [end:boundary]


# --8<-- [start:splits]
def on_split(seed):
    """Return what logistic regression gets right on another split: from all columns, and from the two."""
    x, held, y, y_held = train_test_split(
        features, malignant, test_size=0.3, random_state=seed, stratify=malignant
    )
    low, wide = x.mean(axis=0), x.std(axis=0)
    x, held = (x - low) / wide, (held - low) / wide
    return [
        LogisticRegression().fit(x[:, columns], y).score(held[:, columns], y_held)
        for columns in (slice(None), two)
    ]


of_splits = np.array([on_split(seed) for seed in range(10)])
ahead = int((of_splits[:, 0] > of_splits[:, 1]).sum())
print(f"ten splits: thirty columns {of_splits[:, 0].mean():.2f} right on average,")
print(f"two columns {of_splits[:, 1].mean():.2f}; thirty are ahead on {ahead} of 10")
# --8<-- [end:splits]

of_three = [  # the share found, over all three networks
    float(np.mean([(p > threshold)[y_test == 1] for p in probability]))
    for threshold in found
]
said = probability[0] > 0.5
shares = [
    [float(np.mean(said[y_test == truth] == answer)) for answer in (0, 1)]
    for truth in (0, 1)
]
claims = {
    "beats_majority": bool(min(accuracies) > majority + 0.2),
    "outputs_between_0_and_1": bool(
        all(((p >= 0) & (p <= 1)).all() for p in probability)
    ),
    "network_gains_over_logistic_regression": bool(
        np.mean(accuracies) > logistic + 0.02
    ),
    "one_split_shows_that_thirty_are_better": bool(
        from_two < np.mean(accuracies) - 0.02
    ),
    "thirty_are_better_on_nearly_every_split": ahead >= 9,
    "majority_above_half": majority > 0.55,
    "lower_threshold_finds_more": of_three[0] > of_three[1] > of_three[2],
    "lower_threshold_alarms_strictly_more": bool(found[0.1][1] > found[0.9][1]),
}
measures = {
    "majority": round(majority, 2),
    "accuracy": round(float(np.mean(accuracies)), 2),
    "logistic": round(logistic, 2),
    "train_rows": len(x_train),
    "test_rows": len(x_test),
}
names = ["benign", "malignant"]
figures = {
    "loss": {
        "kind": "lines",
        "title": "Training loss, three seeds",
        "xlabel": "epoch",
        "ylabel": "binary cross-entropy",
        "x": list(range(1, 21)),
        "series": {
            f"seed {seed}": [float(f"{v:.3g}") for v in history]
            for seed, (_, history) in enumerate(runs)
        },
    },
    "confusion": {
        "kind": "matrix",
        "title": "Held-out samples, share of each row",
        "xlabel": "answer",
        "ylabel": "truth",
        "rows": names,
        "columns": names,
        "values": [[round(v, 2) for v in row] for row in shares],
        "text": [[f"{100 * v:.0f} %" for v in row] for row in shares],
    },
    "boundary": {
        "kind": "field",
        "title": "Probability of malignant from two measurements",
        "xlabel": "worst radius, standard deviations",
        "ylabel": "worst texture, standard deviations",
        "x": side.round(2).tolist(),
        "y": side.round(2).tolist(),
        "values": [[float(f"{v:.3g}") for v in row] for row in surface],
        "levels": [0, 0.1, 0.5, 0.9, 1],
        "points": {
            name: {
                "x": x_test[y_test == label, 20].round(2).tolist(),
                "y": x_test[y_test == label, 21].round(2).tolist(),
            }
            for label, name in enumerate(names)
        },
    },
}
