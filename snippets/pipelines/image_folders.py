# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# ///
"""Images in a folder for each class: which calls split them without overlap, and which file is broken."""

# --8<-- [start:split]
import tempfile
from pathlib import Path

import keras
import tensorflow as tf

CLASSES, IMAGES = 5, 20
folder = tempfile.TemporaryDirectory()
for number in range(CLASSES * IMAGES):
    shade = tf.fill((4, 4, 3), tf.cast(number, tf.uint8))  # tells the images apart
    path = Path(folder.name, f"class{number // IMAGES}", f"{number:03}.png")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(tf.io.encode_png(shade).numpy())
keras.config.disable_interactive_logging()


def read(subset, **options):
    """Return a part of the images, or both parts."""
    return keras.utils.image_dataset_from_directory(
        folder.name,
        validation_split=0.2,
        subset=subset,
        image_size=(4, 4),
        verbose=False,
        **options,
    )


def numbers(part):
    """Return the numbers of the images, in the order of one pass."""
    return [int(image[0, 0, 0]) for images, _ in part for image in images]


train = read("training", seed=1)
splits = {
    'subset="both", seed=1': read("both", seed=1),
    "two calls, seed=1": (train, read("validation", seed=1)),
    "two calls, seed=1 and 2": (train, read("validation", seed=2)),
    "two calls, seed=1 and shuffle=False": (train, read("validation", shuffle=False)),
    "two calls, shuffle=False": (
        read("training", shuffle=False),
        read("validation", shuffle=False),
    ),
}
in_both, classes, fixed = {}, {}, {}
for name, (training, validation) in splits.items():
    first, second = numbers(validation), numbers(validation)
    in_both[name] = len({*numbers(training)} & {*first})
    classes[name] = {number // IMAGES for number in first}
    fixed[name] = first == second
    print(f"{name}: in both parts: {in_both[name]} of {len(first)}", end="; ")
    print(f"validation: classes {sorted(classes[name])}, one order: {fixed[name]}")
# --8<-- [end:split]
BOTH, SAME_SEED, TWO_SEEDS, OFF_IN_ONE, OFF = splits

# --8<-- [start:broken]
no_image = Path(folder.name, "class1", "023.png")
no_image.write_bytes(b"<html>")  # as after a failed download
cut = Path(folder.name, "class3", "064.png")
cut.write_bytes(cut.read_bytes()[:-20])

broken = []
for path in sorted(Path(folder.name).rglob("*.png")):
    try:
        tf.io.decode_image(tf.io.read_file(str(path)))
    except tf.errors.InvalidArgumentError:
        broken.append(path)
        print("broken:", path.relative_to(folder.name).as_posix())
# --8<-- [end:broken]

try:
    numbers(keras.utils.image_dataset_from_directory(folder.name, verbose=False))
    of_the_pipeline = ""
except tf.errors.InvalidArgumentError as error:
    of_the_pipeline = error.message

contents = tf.data.Dataset.from_tensor_slices([str(path) for path in broken])
contents = contents.map(tf.io.read_file)


def resized(**options):
    """Return the shape of images that are decoded and resized in a map."""
    data = contents.map(
        lambda content: tf.image.resize(tf.io.decode_image(content, **options), (2, 2))
    )
    return data.element_spec.shape


errors, refused = {}, 0
for options in ({}, {"channels": 3}):
    try:
        resized(**options)
    except ValueError as error:
        refused += 1
        # AutoGraph wraps the error in a text of its own; its last line is Python's.
        errors["no_shape"] = str(error).strip().splitlines()[-1].strip()
folder.cleanup()
claims = {
    "one_call_splits_cleanly": in_both[BOTH] == 0,
    "one_call_keeps_validation_in_order": fixed[BOTH],
    "one_seed_splits_cleanly": in_both[SAME_SEED] == 0,
    "two_calls_shuffle_validation": not fixed[SAME_SEED],
    "two_seeds_overlap": in_both[TWO_SEEDS] > 0,
    "shuffle_off_in_one_call_overlaps": in_both[OFF_IN_ONE] > IMAGES / 2,
    "shuffle_off_takes_the_last_class": classes[OFF_IN_ONE] == {CLASSES - 1},
    "shuffle_off_in_both_splits_cleanly": in_both[OFF] == 0,
    "shuffle_off_in_both_takes_the_last_class": classes[OFF] == {CLASSES - 1},
    "the_loop_finds_the_broken_files": broken == [no_image, cut],
    "the_pipeline_raises": bool(of_the_pipeline),
    "the_pipeline_names_a_file": any(path.name in of_the_pipeline for path in broken),
    "decode_image_gives_no_shape": refused == 2,
    "without_animations_it_gives_one": resized(channels=3, expand_animations=False)
    == [2, 2, 3],
}
