# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "scikit-learn>=1.6", "statsmodels>=0.14"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""The data sets of this section: all come with scikit-learn or statsmodels, so nothing is downloaded."""

# --8<-- [start:load]
import numpy as np
import statsmodels.api as sm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import LogisticRegression

diabetes, cancer, wine, digits = (
    f() for f in (load_diabetes, load_breast_cancer, load_wine, load_digits)
)
sunspots = sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"]
co2 = sm.datasets.co2.load_pandas().data["co2"]
sets = {
    "diabetes": (
        *diabetes.data.shape,
        f"a number from {diabetes.target.min():.0f} to {diabetes.target.max():.0f}",
    ),
    "breast cancer": (
        *cancer.data.shape,
        f"2 classes, {np.mean(cancer.target == 0):.3f} of them malignant",
    ),
    "wine": (*wine.data.shape, f"{len(wine.target_names)} classes"),
    "digits": (
        *digits.data.shape,
        f"{len(digits.target_names)} classes, images of 8 by 8 pixels",
    ),
    "sunspots": (len(sunspots), 1, "one number for each year"),
    "carbon dioxide": (
        len(co2),
        1,
        f"one number for each week, {int(co2.isna().sum())} of them missing",
    ),
}
for name, (rows, columns, target) in sets.items():
    print(f"{name:15} {rows:5} rows, {columns:2} columns; {target}")
# --8<-- [end:load]


# --8<-- [start:groups]
def right(held_out):
    """Train logistic regression on the other digits; return what it gets right on these."""
    x, y = digits.data / 16, digits.target
    model = LogisticRegression(max_iter=1000).fit(x[~held_out], y[~held_out])
    return float(model.score(x[held_out], y[held_out]))


count = len(digits.target)
size = 3 * count // 10
stretches = [np.arange(count) // size == part for part in range(3)]
rng = np.random.default_rng(0)
by_rows = [right(rng.permutation(stretch)) for stretch in stretches]
by_stretches = [right(stretch) for stretch in stretches]
print("rows drawn at random:  ", *(f"{share:.2f}" for share in by_rows), "right")
print("stretches of the file: ", *(f"{share:.2f}" for share in by_stretches), "right")
# --8<-- [end:groups]

claims = {
    "stretches_are_harder_than_rows": max(by_stretches) < min(by_rows),
    "random_rows_are_the_harder_ones": min(by_stretches) > max(by_rows),
    "nothing_missing_but_co2": not any(
        np.isnan(s.data).any() for s in (diabetes, cancer, wine, digits)
    ),
    "classes_of_digits_even": bool(
        np.bincount(digits.target).min() > 0.9 * np.bincount(digits.target).max()
    ),
}
measures = {name.replace(" ", "_"): rows for name, (rows, _, _) in sets.items()}
