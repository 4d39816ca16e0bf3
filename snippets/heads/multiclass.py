# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# tolerance = 0.05
# ///
"""One of several classes: softmax and sparse categorical cross-entropy on handwritten digits, against the majority."""

# --8<-- [start:data]
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

images, digit = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(
    (images / 16).astype("float32"),
    digit,
    test_size=0.3,
    random_state=0,
    stratify=digit,
)
rows = tf.data.Dataset.from_tensor_slices((x_train, y_train))
print(
    f"{len(x_train)} images to learn from, {len(x_test)} held out, labels {y_train[:8]} ..."
)
# --8<-- [end:data]


# --8<-- [start:model]
def fit(seed):
    """Train ten softmax units on top of one hidden layer."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(32, "relu"),
            keras.layers.Dense(10, "softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.005), loss="sparse_categorical_crossentropy")
    history = model.fit(
        rows.shuffle(2000, seed=seed).batch(64), epochs=15, shuffle=False, verbose=0
    ).history["loss"]
    return model, history


runs = [fit(seed) for seed in range(3)]
probabilities = [model(x_test).numpy() for model, _ in runs]
accuracies = [float(np.mean(p.argmax(axis=1) == y_test)) for p in probabilities]
majority = float(np.mean(y_test == np.bincount(y_train).argmax()))
print(f"always the most frequent digit: {majority:.2f} right")
print(
    "the network:                    "
    + ", ".join(f"{a:.2f}" for a in accuracies)
    + " right (three seeds)"
)
# --8<-- [end:model]

# --8<-- [start:answer]
surest = int(probabilities[0].max(axis=1).argmax())
doubtful = int(probabilities[0].max(axis=1).argmin())
for which, i in (("surest", surest), ("most doubtful", doubtful)):
    p = probabilities[0][i]
    print(
        f"{which} image: p = {p.max():.1f} for one digit; the ten probabilities sum to {p.sum():.2f}"
    )
# --8<-- [end:answer]

said = probabilities[0].argmax(axis=1)
confusion = [
    [float(np.mean(said[y_test == truth] == answer)) for answer in range(10)]
    for truth in range(10)
]
claims = {
    "beats_majority": bool(min(accuracies) > majority + 0.6),
    "rows_sum_to_one": bool(
        all(np.allclose(p.sum(axis=1), 1, atol=1e-4) for p in probabilities)
    ),
    "one_label_per_image": bool(digit.shape == (len(images),)),
    "majority_near_one_tenth": bool(abs(majority - 0.1) < 0.02),
    "two_answers_above_half": bool(
        any((p > 0.5).sum(axis=1).max() > 1 for p in probabilities)
    ),
}
measures = {
    "majority": round(majority, 2),
    "accuracy": round(float(np.mean(accuracies)), 2),
    "train_rows": len(x_train),
    "test_rows": len(x_test),
}
figures = {
    "loss": {
        "kind": "lines",
        "title": "Training loss, three seeds",
        "xlabel": "epoch",
        "ylabel": "cross-entropy",
        "x": list(range(1, 16)),
        "series": {
            f"seed {seed}": [float(f"{v:.3g}") for v in history]
            for seed, (_, history) in enumerate(runs)
        },
    },
    "confusion": {
        "kind": "matrix",
        "title": "Held-out digits, share of each row",
        "xlabel": "answer",
        "ylabel": "truth",
        "rows": [str(d) for d in range(10)],
        "columns": [str(d) for d in range(10)],
        "values": [[round(v, 2) for v in row] for row in confusion],
        "text": [
            [f"{100 * v:.0f}" if v >= 0.005 else "" for v in row] for row in confusion
        ],
    },
}
