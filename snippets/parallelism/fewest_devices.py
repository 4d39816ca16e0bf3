# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = []
#
# [tool.guide]
# devices = 0
# ///
"""The fewest devices that hold a model: its state in equal parts, and activations on each device."""

# --8<-- [start:fewest]
import math


def fewest(state: float, device: float, activations: float) -> int:
    """Return into how few equal parts `state` can be cut, so that each device holds one part and its activations.

    All three are sizes in one unit. ValueError: the activations alone fill the device.
    """
    room = device - activations
    if room <= 0:
        raise ValueError(f"activations of {activations} fill a device of {device}")
    return math.ceil(state / room)


STATE, DEVICE = 2800, 40  # GB: GPT-3 with Adam in float32, one A100
counts = {activations: fewest(STATE, DEVICE, activations) for activations in (0, 5, 20)}
for activations, count in counts.items():
    print(f"{activations:2} GB of activations on each: {count} devices")
# --8<-- [end:fewest]


def holds(count: int) -> bool:
    """Return whether so many devices of 8 GB hold a state of 16 GB, beside 3 GB of activations on each."""
    return 16 / count + 3 <= 8


claims = {
    "state_alone_fills_its_devices": counts[0] * DEVICE == STATE,
    "activations_need_more_devices": counts[0] < counts[5] < counts[20],
    "two_hold_16_gb_beside_3": holds(2),
    "three_hold_16_gb_beside_3": holds(3),
    "four_hold_16_gb_beside_3": holds(4) and fewest(16, 8, 3) == 4,
}
measures = {"with_20": counts[20]}
