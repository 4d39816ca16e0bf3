# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["keras==3.15.*", "tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 90
# ///
"""Predict scaling efficiency from the bytes of the gradients, the link and the time of a step; check it with a ring."""

# --8<-- [start:model]
import math

import keras
import numpy as np

model = keras.applications.ResNet50(weights=None)
GRADIENTS = sum(4 * math.prod(w.shape) for w in model.trainable_weights)  # float32
LINKS = {"NVLink": 300e9, "100 Gb Ethernet": 100e9 / 8}  # bytes per second, one way
FIXED, ROW = 0.004, 0.001  # seconds on one device: each step, and each row of it


def compute(rows):
    """Return the seconds in which one device computes a step."""
    return FIXED + ROW * rows


def communicate(n, speed):
    """Return the seconds in which a ring of n devices sums the gradients."""
    return 2 * (n - 1) / n * GRADIENTS / speed


def efficiency(n, rows, speed, rows_of_one, overlap=False):
    """Compare n devices with n times one; with `overlap` they send while they compute."""
    parts = compute(rows), communicate(n, speed)
    rate = n * rows / (max(parts) if overlap else sum(parts))
    return rate / (n * rows_of_one / compute(rows_of_one))


print(f"gradients of ResNet-50: {GRADIENTS / 1e6:.1f} MB")
for link, speed in LINKS.items():
    sent = 1000 * communicate(8, speed)
    print(f"8 devices sum them over {link:15} in {sent:4.1f} milliseconds")
# --8<-- [end:model]

# --8<-- [start:weak]
weak = {
    (link, rows): [efficiency(8, rows, speed, rows, overlap) for overlap in (0, 1)]
    for link, speed in LINKS.items()
    for rows in (8, 32, 128)
}
for (link, rows), (without, full) in weak.items():
    print(f"{link:15} {rows:3} rows each: {without:4.0%}, overlapped {full:4.0%}")
# --8<-- [end:weak]


# --8<-- [start:strong]
def speed_up(n, speed, batch=256):
    """Return how many times as fast n devices train the same global batch."""
    return n * efficiency(n, batch / n, speed, batch)


for link, speed in LINKS.items():
    for n in (2, 8, 32, 128):
        times = speed_up(n, speed)
        print(f"{link:15} {n:3} devices: {times:4.1f} times, {times / n:4.0%}")
limits = {
    link: compute(256) / (FIXED + 2 * GRADIENTS / speed)
    for link, speed in LINKS.items()
}
for link, limit in limits.items():
    print(f"{link}: no number of devices is {limit:.1f} times as fast")
small = speed_up(2, LINKS["100 Gb Ethernet"], batch=8)
print(f"8 rows in all, 100 Gb Ethernet, 2 devices: {small:.2f} times")
# --8<-- [end:strong]


# --8<-- [start:check]
def ring_seconds(n, speed):
    """Sum real arrays in a ring; in each step the largest packet decides the time."""
    arrays = np.random.default_rng(n).integers(0, 100, (n, 1000))
    held = [np.array_split(array, n) for array in arrays]
    seconds = 0.0
    for step in range(2 * (n - 1)):
        chosen = [(rank - step) % n for rank in range(n)]
        packets = [held[rank][i].copy() for rank, i in enumerate(chosen)]
        for rank, (i, packet) in enumerate(zip(chosen, packets, strict=True)):
            neighbour = held[(rank + 1) % n]
            neighbour[i] = packet + (neighbour[i] if step < n - 1 else 0)
        seconds += max(map(len, packets)) / 1000 * GRADIENTS / speed
    total = arrays.sum(axis=0)
    assert all(np.array_equal(np.concatenate(parts), total) for parts in held)
    return seconds


def amdahl(n, serial):
    """Return the speed-up of n devices when this part of the work is not divided."""
    return 1 / (serial + (1 - serial) / n)


rings = [
    (ring_seconds(n, speed), communicate(n, speed))
    for n in (2, 4, 5, 8, 10)  # they divide the 1000 numbers
    for speed in LINKS.values()
]
laws = [
    (amdahl(n, FIXED / compute(256)), speed_up(n, math.inf)) for n in (2, 8, 32, 128)
]
print("a simulated ring takes as long:", np.allclose(*np.transpose(rings)))
print("with a free link it is Amdahl's law:", np.allclose(*np.transpose(laws)))
# --8<-- [end:check]

COUNTS = [2**i for i in range(9)]
ethernet = LINKS["100 Gb Ethernet"]
by_count = {
    f"{link}, {rows} rows each": [efficiency(n, rows, speed, rows) for n in COUNTS]
    for link, speed in LINKS.items()
    for rows in (8, 128)
}
strong = {
    link: [speed_up(n, speed) / n for n in COUNTS] for link, speed in LINKS.items()
}
fast, sent = compute(8), communicate(8, ethernet)
as_it_is, twice_as_slow = (times * fast / (times * fast + sent) for times in (1, 2))
claims = {
    "a_slower_step_scales_better": twice_as_slow > as_it_is
    and math.isclose(as_it_is, weak["100 Gb Ethernet", 8][0]),
    "ring_takes_as_long_as_the_formula": bool(np.allclose(*np.transpose(rings))),
    "free_link_is_amdahls_law": bool(np.allclose(*np.transpose(laws))),
    "weak_is_perfect_with_a_free_link": all(
        math.isclose(efficiency(n, rows, math.inf, rows), 1)
        for n in COUNTS
        for rows in (8, 128)
    ),
    "never_above_one": all(
        part <= 1 + 1e-12
        for parts in (*weak.values(), *by_count.values(), *strong.values())
        for part in parts
    ),
    "more_rows_each_raise_it": all(
        weak[link, 8][0] < weak[link, 32][0] < weak[link, 128][0] for link in LINKS
    ),
    "overlap_never_lowers_it": all(without <= full for without, full in weak.values()),
    "weak_falls_at_first_and_then_hardly": by_count["100 Gb Ethernet, 8 rows each"][3]
    < 0.6
    and by_count["100 Gb Ethernet, 8 rows each"][-1]
    > 0.85 * by_count["100 Gb Ethernet, 8 rows each"][3],
    "strong_falls_with_every_doubling": all(
        parts == sorted(set(parts), reverse=True) for parts in strong.values()
    ),
    "strong_computes_less_and_sends_more": compute(256 / 8) < compute(256 / 2)
    and ring_seconds(8, ethernet) > ring_seconds(2, ethernet),
    "strong_sends_in_proportion_to_devices": ring_seconds(8, ethernet)
    >= 4 * ring_seconds(2, ethernet),
    "speed_up_stays_below_the_limit": all(
        speed_up(n, speed) < limits[link]
        for link, speed in LINKS.items()
        for n in (*COUNTS, 10**6)
    ),
    "two_can_be_slower_than_one": small < 1,
}
measures = {
    "gradients_mb": GRADIENTS / 1e6,
    "fixed": int(1000 * FIXED),
    "row": int(1000 * ROW),
    "limit_nvlink": limits["NVLink"],
    "limit_ethernet": limits["100 Gb Ethernet"],
    "small": small,
    "eight_rows": as_it_is,
    "eight_rows_slower": twice_as_slow,
}
figures = {
    name: {
        "kind": "lines",
        "title": title,
        "xlabel": "devices",
        "ylabel": "efficiency",
        "xscale": "log2",
        "markers": True,
        "x": COUNTS,
        "series": series,
    }
    for name, title, series in (
        ("weak", "Weak scaling: the same rows for each device", by_count),
        ("strong", "Strong scaling: 256 rows in all", strong),
    )
}
