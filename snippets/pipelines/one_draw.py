# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Random changes of images on a batch: which are drawn once for all images, and which for each."""

import keras
import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # as in a pipeline, which runs on the CPU

# --8<-- [start:draws]
keras.utils.set_random_seed(0)
ROWS = 32
ramp = tf.reshape(tf.range(64.0) / 64, (1, 8, 8, 1))
same = tf.tile(ramp, (ROWS, 1, 1, 3))  # the same image 32 times
image, layers = tf.image, keras.layers
changes = {
    "tf.image.random_brightness": lambda x: image.random_brightness(x, 0.3),
    "tf.image.random_contrast": lambda x: image.random_contrast(x, 0.3, 0.9),
    "tf.image.random_crop": lambda x: image.random_crop(x, (ROWS, 4, 4, 3)),
    "tf.image.random_flip_left_right": image.random_flip_left_right,
    "keras RandomBrightness": layers.RandomBrightness(0.3, value_range=(0, 1)),
    "keras RandomCrop": layers.RandomCrop(4, 4),
    "keras RandomFlip": layers.RandomFlip("horizontal"),
}


def different(change):
    """Return how many different images a batch of equal ones becomes."""
    data = tf.data.Dataset.from_tensors(same).map(change)
    (changed,) = data.as_numpy_iterator()
    return len({one.tobytes() for one in np.asarray(changed).round(5)})


counts = {name: different(change) for name, change in changes.items()}
for name, count in counts.items():
    print(f"{name:31}", "one draw for all" if count == 1 else "drawn for each image")
# --8<-- [end:draws]

once = {name for name, count in counts.items() if count == 1}
claims = {
    "brightness_is_drawn_once": "tf.image.random_brightness" in once,
    "contrast_is_drawn_once": "tf.image.random_contrast" in once,
    "a_crop_is_drawn_once": {"tf.image.random_crop", "keras RandomCrop"} <= once,
    "a_flip_is_drawn_for_each": "tf.image.random_flip_left_right" not in once,
    "keras_draws_brightness_for_each": "keras RandomBrightness" not in once,
}
