# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "keras==3.15.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Which scale of pixels each network of keras.applications expects: some scale inside, others do not."""

# --8<-- [start:scale]
import keras
import numpy as np

apps = keras.applications
networks = {  # a small network of each kind, and the module that has its preprocess_input
    "EfficientNetB0": (apps.EfficientNetB0, apps.efficientnet),
    "MobileNetV3Small": (apps.MobileNetV3Small, apps.mobilenet_v3),
    "MobileNetV2": (apps.MobileNetV2, apps.mobilenet_v2),
    "ResNet50": (apps.ResNet50, apps.resnet),
    "VGG16": (apps.VGG16, apps.vgg16),
}
black_and_white = np.zeros((1, 2, 1, 3), "float32")
black_and_white[0, 1] = 255
inside, ranges = {}, {}
for name, (build, module) in networks.items():
    model = build(weights=None, include_top=False, input_shape=(32, 32, 3))
    kinds = [type(layer).__name__ for layer in model.layers]
    inside[name] = "Rescaling" in kinds
    # The function may change the array that it is given.
    given = module.preprocess_input(black_and_white.copy())
    ranges[name] = float(given.min()), float(given.max())
    print(f"{name:16} scales inside: {inside[name]!s:5}", end=" ")
    print("preprocess_input: {:.0f} to {:.0f}".format(*ranges[name]))
# --8<-- [end:scale]

claims = {
    "some_scale_inside": inside["EfficientNetB0"] and inside["MobileNetV3Small"],
    "others_do_not": not any(inside[n] for n in ("MobileNetV2", "ResNet50", "VGG16")),
    "preprocess_input_changes_nothing_where_the_network_scales": all(
        ranges[name] == (0, 255) for name in networks if inside[name]
    ),
    "all_need_zero_to_one": all(r == (0, 1) for r in ranges.values()),
    "mobilenet_v2_needs_minus_one_to_one": ranges["MobileNetV2"] == (-1, 1),
    # Its three channel means are 103.939, 116.779 and 123.68, and are subtracted.
    "resnet_and_vgg_need_the_mean_subtracted": bool(
        np.allclose([ranges["ResNet50"], ranges["VGG16"]], (-123.68, 255 - 103.939))
    ),
}
