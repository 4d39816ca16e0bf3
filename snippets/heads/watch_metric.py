# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Stop on a metric: which name it has, and for which metrics Keras knows whether higher is better."""

# --8<-- [start:names]
import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 4)).astype("float32")
yes = (x[:, :1] + rng.normal(size=(64, 1)) > 0).astype("float32")


def network(metrics, heads=("yes",)):
    """Return a compiled model with one sigmoid unit for each head."""
    inputs = keras.Input((4,))
    units = [keras.layers.Dense(1, "sigmoid", name=name)(inputs) for name in heads]
    model = keras.Model(inputs, units if len(heads) > 1 else units[0])
    model.compile("sgd", "binary_crossentropy", metrics=metrics)
    return model


def fit(model, *callbacks):
    """Train for two epochs and return what a callback may watch in the validation rows."""
    y = [yes] * len(model.outputs) if len(model.outputs) > 1 else yes
    data = {"validation_data": (x, y), "batch_size": 32}
    history = model.fit(x, y, epochs=2, verbose=0, callbacks=list(callbacks), **data)
    return {name for name in history.history if name.startswith("val_")} - {"val_loss"}


named = fit(network([keras.metrics.AUC(name="auc")]))
first = fit(network([keras.metrics.AUC()]))
second = fit(network([keras.metrics.AUC()]))
print("AUC(name='auc'):", *named)
print("AUC():", *first, "and in the next model", *second)
# --8<-- [end:names]


# --8<-- [start:direction]
def hits(y, chance):
    """Return the share of right answers: a metric function of your own."""
    return keras.ops.mean(keras.ops.equal(y, chance > 0.5), axis=-1)


auc = keras.metrics.AUC
two = ("sold", "returned")
tries = {  # what to watch, with which mode, in which model
    "auc": ("val_auc", "auto", network([auc(name="auc")])),
    "no such name": ("val_acc", "auto", network(["accuracy"])),
    "own": ("val_hits", "auto", network([hits])),
    "own, mode='max'": ("val_hits", "max", network([hits])),
    "head": ("val_sold_auc", "auto", network([[auc(name="auc")], []], two)),
    "head, mode='max'": ("val_sold_auc", "max", network([[auc(name="auc")], []], two)),
}
errors, steps = {}, {}
for name, (monitor, mode, model) in tries.items():
    try:
        fit(model, keras.callbacks.EarlyStopping(monitor=monitor, mode=mode))
        print(f"{name:16} trains")
    except ValueError as error:
        errors[name], steps[name] = (
            f"ValueError: {error}",
            int(model.optimizer.iterations),
        )
        print(f"{name:16} raises after {steps[name]} steps")
# --8<-- [end:direction]

claims = {
    "named_auc_is_val_auc": named == {"val_auc"},
    "a_second_unnamed_auc_has_the_name_of_the_first": first == second,
    "unnamed_names_carry_a_number": first == {"val_auc"} and second == {"val_auc_1"},
    "keras_knows_auc": "auc" not in errors,
    "a_wrong_name_gives_the_error_of_a_direction": errors["no such name"].replace(
        "val_acc", "val_hits"
    )
    == errors["own"],
    "keras_knows_a_function_of_your_own": "own" not in errors,
    "keras_knows_the_metric_of_one_head": "head" not in errors,
    "mode_helps": not any("mode" in name for name in errors),
    # 64 rows in batches of 32 are two steps.
    "raises_when_the_first_epoch_ends": set(steps.values()) == {2},
}
