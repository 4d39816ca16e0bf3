# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*", "scikit-learn>=1.6"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# tolerance = 0.05
# ///
"""A rare class: what accuracy hides, what AUC says, what class weights do, and how near a lower threshold comes."""

# --8<-- [start:data]
import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

images, digit = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(
    (images / 16).astype("float32"),
    (digit == 8).astype("float32"),
    test_size=0.5,
    random_state=0,
    stratify=digit == 8,
)
share = float(y_test.mean())
print(f"{100 * share:.0f} % of the images are an 8; always no: {1 - share:.2f} right")
# --8<-- [end:data]


# --8<-- [start:fit]
def fit(weight, seed=0):
    """Train one sigmoid unit; a row with an 8 counts `weight` times. Return held-out outputs and their AUC."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(1, "sigmoid")])
    model.compile(
        keras.optimizers.Adam(0.02),
        "binary_crossentropy",
        metrics=[keras.metrics.AUC()],
    )
    model.fit(
        x_train,
        y_train[:, None],
        batch_size=64,
        epochs=40,
        class_weight={0: 1, 1: weight},
        verbose=0,
    )
    _, auc = model.evaluate(x_test, y_test[:, None], verbose=0)
    return model(x_test).numpy()[:, 0], auc


def found(output, threshold):
    """Return the share of the 8s that are found, and of the others that are called an 8."""
    said = output > threshold
    return float(said[y_test == 1].mean()), float(said[y_test == 0].mean())


WEIGHT = 9  # there are about nine other images for each 8
(plain, plain_auc), (weighted, weighted_auc) = fit(1), fit(WEIGHT)
cases = {
    "no weights, above 0.5": (plain, 0.5),
    "class_weight 9, above 0.5": (weighted, 0.5),
    "no weights, above 0.1": (plain, 1 / (1 + WEIGHT)),
}
shares = {name: found(*case) for name, case in cases.items()}
right = float(np.mean((plain > 0.5) == y_test))
print(f"no weights, above 0.5: {right:.2f} right")
print(f"AUC: {plain_auc:.2f}, with class_weight {weighted_auc:.2f}")
print(f"mean output: {plain.mean():.2f}, with class_weight {weighted.mean():.2f}")
for name, (eights, others) in shares.items():
    print(
        f"{name}: {eights:.2f} of the 8s found, {others:.2f} of the others called an 8"
    )
# --8<-- [end:fit]


# --8<-- [start:equal]
def alarms(output, share_found):
    """Return the share of the others that is called an 8 at the threshold that finds this share of the 8s."""
    threshold = np.quantile(output[y_test == 1], 1 - share_found, method="lower")
    return float(np.mean(output[y_test == 0] >= threshold))


runs = [(plain, weighted)]
runs += [(fit(1, seed)[0], fit(WEIGHT, seed)[0]) for seed in (1, 2)]
called = {
    share_found: np.array([[alarms(o, share_found) for o in pair] for pair in runs])
    for share_found in (0.8, 0.9)
}
for share_found, others in called.items():
    none, nine = others.mean(axis=0)
    print(
        f"{share_found} of the 8s found, mean of three seeds: {none:.2f} of the others "
        f"called an 8 without weights, {nine:.2f} with class_weight"
    )
# --8<-- [end:equal]

# This computes by hand what class_weight weighs, and what AUC counts.
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(1, "sigmoid")])
output = model(x_train).numpy()[:, 0]
of_rows = -np.where(y_train == 1, WEIGHT * np.log(output), np.log(1 - output))
model.compile("sgd", "binary_crossentropy")
first = model.fit(
    x_train,
    y_train[:, None],
    batch_size=len(x_train),
    class_weight={0: 1, 1: WEIGHT},
    verbose=0,
)
pairs = plain[y_test == 1][:, None] > plain[y_test == 0]
by_weight = shares["class_weight 9, above 0.5"]
alarm = weighted > 0.5
claims = {
    "about_four_alarms_in_ten_are_false": bool(0.3 < np.mean(y_test[alarm] == 0) < 0.5),
    "more_than_a_quarter_is_missed": shares["no weights, above 0.5"][0] < 0.75,
    "accuracy_gains_little_over_never": right < 1 - share + 0.1,
    "auc_is_the_share_of_pairs_in_order": bool(abs(pairs.mean() - plain_auc) < 0.01),
    "class_weight_weighs_the_losses_of_rows": bool(
        np.isclose(first.history["loss"][0], of_rows.mean(), rtol=1e-3)
    ),
    "mean_output_is_the_share": bool(abs(plain.mean() - share) < 0.02),
    "weighted_mean_output_is_the_share": bool(abs(weighted.mean() - share) < 0.02),
    "weights_find_more": by_weight[0] > shares["no weights, above 0.5"][0] + 0.15,
    "weights_raise_more_false_alarms": by_weight[1]
    > shares["no weights, above 0.5"][1] + 0.03,
    "weights_cost_fewer_alarms_at_nine_in_ten_found": bool(
        (called[0.9][:, 1] < 0.85 * called[0.9][:, 0]).all()
    ),
    "as_many_alarms_at_eight_in_ten_found": bool(
        abs(np.subtract(*called[0.8].mean(axis=0))) < 0.15 * called[0.8].mean()
    ),
    "weights_rank_far_better": weighted_auc > plain_auc + 0.03,
}
measures = {
    "share": round(share, 2),
    "never_right": round(1 - share, 2),
    "right": round(right, 2),
    "found_at_half": round(shares["no weights, above 0.5"][0], 2),
    "weight": WEIGHT,
    "called_with_weights": round(by_weight[1], 2),
    "false_of_ten": round(10 * float(np.mean(y_test[alarm] == 0))),
    "alarms_of_threshold": round(float(called[0.9][:, 0].mean()), 2),
    "alarms_of_weights": round(float(called[0.9][:, 1].mean()), 2),
    "mean_weighted": round(float(weighted.mean()), 2),
}
