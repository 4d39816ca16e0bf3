# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""The mean AUC of several labels, where one label is in no row: it counts as 0."""

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # a metric counts alike on any device

# --8<-- [start:absent]
truth = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]])
perfect = np.where(truth == 1, 0.9, 0.1)  # no row carries the last label


def auc(truth, answers, **options):
    metric = keras.metrics.AUC(**options)
    metric.update_state(truth, answers)
    return float(metric.result())


several = {"multi_label": True, "num_labels": 4}
mean = auc(truth, perfect, **several)
without = auc(truth, perfect, **several, label_weights=[1, 1, 1, 0])
print(f"perfect answers: {mean:.2f}")
print(f"the absent label left out: {without:.2f}")
# --8<-- [end:absent]

one = {"no row": [0, 0, 0], "every row": [1, 1, 1]}
alone = [auc(rows, [0.1, 0.5, 0.9]) for rows in one.values()]
claims = {
    "an_absent_label_counts_as_zero": abs(mean - 0.75) < 1e-6,
    "a_weight_of_zero_leaves_it_out": abs(without - 1) < 1e-6,
    "alone_it_is_zero_either_way": alone == [0, 0],
}
