# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Two heads on one network: a dictionary of losses, their weighted sum, and weights for the rows of one of them."""

# --8<-- [start:model]
import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(512, 4)).astype("float32")
price = (x.sum(axis=1, keepdims=True) + rng.normal(size=(512, 1))).astype("float32")
sold = (x[:, :1] + rng.normal(size=(512, 1)) > 1).astype("float32")
targets = {"price": price, "sold": sold}

keras.utils.set_random_seed(0)
inputs = keras.Input((4,))
hidden = keras.layers.Dense(16, "relu")(inputs)
heads = {
    "price": keras.layers.Dense(1)(hidden),
    "sold": keras.layers.Dense(1, "sigmoid")(hidden),
}
model = keras.Model(inputs, heads)
model.compile(
    keras.optimizers.Adam(0.01),
    loss={"price": "mse", "sold": "binary_crossentropy"},
    loss_weights={"price": 0.2, "sold": 1.0},
    metrics={"sold": [keras.metrics.AUC(name="auc")]},
)
model.fit(x, targets, batch_size=64, epochs=5, verbose=0)
reported = model.evaluate(x, targets, verbose=0, return_dict=True)
for name, value in reported.items():
    print(f"{name:10} {value:.3f}")
# --8<-- [end:model]

# --8<-- [start:weights]
of_rows = {
    "price": np.ones(len(x), "float32"),
    "sold": np.where(sold == 1, 3.0, 1.0)[:, 0].astype("float32"),
}
weighed = model.evaluate(x, targets, sample_weight=of_rows, verbose=0, return_dict=True)
print(f"a sale counts three times: sold_loss {weighed['sold_loss']:.3f}")
# --8<-- [end:weights]

said = {name: output.numpy() for name, output in model(x).items()}
right = np.where(sold == 1, said["sold"], 1 - said["sold"])[:, 0]
squares = float(np.mean((said["price"] - price) ** 2))
entropy = -np.mean(np.log(right))
weighed_entropy = -np.mean(of_rows["sold"] * np.log(right))
errors = {}
try:
    model.fit(x, targets, class_weight={0: 1, 1: 3}, verbose=0)
except ValueError as error:
    errors["class_weight"] = f"ValueError: {error}"


# --8<-- [start:metrics]
def reported_with(metrics, model=model):
    """Return what `evaluate` reports with these metrics, apart from the losses."""
    model.compile(
        "sgd", {"price": "mse", "sold": "binary_crossentropy"}, metrics=metrics
    )
    values = model.evaluate(x, targets, verbose=0, return_dict=True)
    return {name: value for name, value in values.items() if "loss" not in name}


two = reported_with(["mae", "accuracy"])
each = reported_with({"price": ["mae"], "sold": ["accuracy", "mae"]})
sold_first = keras.Model(inputs, {name: heads[name] for name in ("sold", "price")})
also_two = reported_with(["mae", "accuracy"], sold_first)
print("a list of two:", *two)
print('the same, "sold" written first:', *also_two)
print("a list for each head:", *each)
try:
    reported_with(["accuracy"])
except ValueError as error:
    errors["one_metric"] = f"ValueError: {str(error).splitlines()[1]}"
# --8<-- [end:metrics]


def near(some, other):
    return bool(np.isclose(some, other, rtol=1e-3))


total = 0.2 * reported["price_loss"] + reported["sold_loss"]
claims = {
    "each_loss_is_that_of_its_head": near(reported["price_loss"], squares)
    and near(reported["sold_loss"], entropy),
    "total_is_the_weighted_sum": near(reported["loss"], total),
    "total_is_the_plain_sum": near(
        reported["loss"], reported["price_loss"] + reported["sold_loss"]
    ),
    "total_is_the_mean": near(reported["loss"], total / 2),
    "class_weight_raises": "class_weight" in errors,
    "a_list_of_two_is_one_for_each_head": set(two) == {"price_mae", "sold_accuracy"},
    "the_alphabet_decides_which_is_whose": set(also_two) == set(two),
    "a_list_of_two_is_two_for_each_head": len(two) == 4,
    "a_dictionary_names_each_head": set(each) == set(two) | {"sold_mae"}
    and near(each["price_mae"], np.mean(np.abs(said["price"] - price)))
    and near(each["sold_mae"], np.mean(np.abs(said["sold"] - sold))),
    "one_metric_in_a_list_raises": "one_metric" in errors,
    "row_weights_reach_one_head": near(weighed["sold_loss"], weighed_entropy)
    and near(weighed["price_loss"], reported["price_loss"])
    and not near(weighed["sold_loss"], reported["sold_loss"]),
}
