# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Random changes of images on a batch: which are drawn once for all images, and which for each."""

import random
from unittest import mock

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
    "keras RandomContrast": layers.RandomContrast(0.3, value_range=(0, 1)),
    "keras RandomCrop": layers.RandomCrop(4, 4),
    "keras RandomFlip": layers.RandomFlip("horizontal"),
    "keras RandomRotation": layers.RandomRotation(0.2),
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


# --8<-- [start:parts]
def drawn(layer, part):
    """Return how many values of this part of a change are drawn for the 32 images."""
    layer.build(same.shape)
    return tuple(layer.get_random_transformation(same)[part].shape)


operations = layers.RandAugment(value_range=(0, 1))
blur = layers.RandomGaussianBlur(value_range=(0, 1))
elastic = layers.RandomElasticTransform(value_range=(0, 1))
shapes = {
    "RandomContrast, its factor": drawn(layers.RandomContrast(0.3), "contrast_factor"),
    "RandAugment, which operations": drawn(operations, "layer_idxes"),
    "RandomGaussianBlur, its sigma": drawn(blur, "blur_factor"),
    "RandomElasticTransform, its strength": drawn(elastic, "distortion_factor"),
}
for name, shape in shapes.items():
    print(f"{name:36}", shape)
singles = tf.data.Dataset.from_tensors(same[0]).repeat(ROWS)
sets = singles.map(lambda x: operations.get_random_transformation(x)["layer_idxes"])
single_sets = {tuple(one) for one in sets.as_numpy_iterator()}
print("RandAugment before `batch`, one set for all images:", len(single_sets) == 1)
# --8<-- [end:parts]

# --8<-- [start:traced]
BATCHES = 20
data = tf.data.Dataset.from_tensors(same).repeat(BATCHES)
augment = layers.AugMix(value_range=(0, 1))
parts = [keras.Input(same.shape[1:]), layers.AugMix(value_range=(0, 1))]
model = keras.Sequential([*parts, layers.Flatten(), layers.Dense(3)])
model.compile("sgd", "mse")
runs = {
    "called on each batch": lambda: [augment(batch) for batch in data],
    "in a map": lambda: list(data.map(augment)),
    "in the model": lambda: model.fit(data.map(lambda x: (x, x[:, 0, 0])), verbose=0),
}
choices = {}
for name, run in runs.items():
    with mock.patch("random.choice", wraps=random.choice) as choice:
        run()
    choices[name] = choice.call_count
    print(f"AugMix {name + ':':21} {choices[name]} choices in {BATCHES} batches")
# --8<-- [end:traced]

images = tf.random.stateless_uniform((8, 4, 4, 3), seed=(1, 2))
rows = tf.data.Dataset.from_tensor_slices({"images": images, "labels": tf.eye(8)})
mixed = {}
for kind in (layers.MixUp, layers.CutMix):
    mix = kind(seed=1)
    before = next(iter(rows.map(mix).batch(8)))
    after = next(iter(rows.batch(8, drop_remainder=True).map(mix)))
    alone = mix(images, training=True)
    mixed[kind.__name__] = [
        not np.allclose(a, b, atol=1e-5)
        for a, b in (
            (before["images"], images),
            (before["labels"], tf.eye(8)),
            (after["images"], images),
            (after["labels"], tf.eye(8)),
            (alone, images),
        )
    ]

once = {name for name, count in counts.items() if count == 1}
claims = {
    "brightness_is_drawn_once": "tf.image.random_brightness" in once,
    "contrast_is_drawn_once": "tf.image.random_contrast" in once,
    "a_crop_is_drawn_once": {"tf.image.random_crop", "keras RandomCrop"} <= once,
    "a_flip_is_drawn_for_each": "tf.image.random_flip_left_right" not in once,
    "keras_draws_brightness_for_each": "keras RandomBrightness" not in once,
    "keras_draws_contrast_flips_and_rotations_for_each": once.isdisjoint(
        {"keras RandomContrast", "keras RandomFlip", "keras RandomRotation"}
    ),
    "rand_augment_draws_its_operations_once": ROWS
    not in shapes["RandAugment, which operations"],
    "a_sigma_of_blur_is_drawn_once": ROWS
    not in shapes["RandomGaussianBlur, its sigma"],
    "an_elastic_strength_is_drawn_once": ROWS
    not in shapes["RandomElasticTransform, its strength"],
    "a_factor_of_contrast_is_drawn_for_each": ROWS
    in shapes["RandomContrast, its factor"],
    "before_batch_rand_augment_draws_for_each": len(single_sets) > 1,
    "aug_mix_chooses_for_each_batch_outside_a_graph": choices["called on each batch"]
    == 9 * BATCHES,
    "before_batch_mixing_does_nothing": not any(
        changed for found in mixed.values() for changed in found[:2]
    ),
    "after_it_images_and_labels_are_mixed": all(
        changed for found in mixed.values() for changed in found[2:4]
    ),
    "images_alone_are_mixed_without_labels": all(found[4] for found in mixed.values()),
    "aug_mix_chooses_once_in_a_map": choices["in a map"] == 9,
    "aug_mix_chooses_once_in_a_model": choices["in the model"] == 9,
}
