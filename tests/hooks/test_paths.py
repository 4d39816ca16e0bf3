"""Paths of drawings: shorter, and every point where it was."""

from __future__ import annotations

import re

import pytest

from hooks.paths import relative, shorter


def points(data: str) -> list[tuple[float, float]]:
    """Return the corners and control points of a path, absolute, read by the rules of SVG."""
    x = y = 0.0
    start, found = (0.0, 0.0), []
    for command, text in re.findall(r"([MLHVCQzmlhvcq])([^MLHVCQzmlhvcq]*)", data):
        values = [float(value) for value in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", text)]
        if command == "z":
            x, y = start
            continue
        base = (x, y) if command.islower() else (0.0, 0.0)
        if command in "Hh":
            pairs = [(values[0] + base[0], y)]
        elif command in "Vv":
            pairs = [(x, values[0] + base[1])]
        else:
            pairs = [(a + base[0], b + base[1]) for a, b in zip(values[::2], values[1::2], strict=True)]
        x, y = pairs[-1]
        if command in "Mm":
            start = pairs[-1]
        found += pairs
    return [(round(a, 6), round(b, 6)) for a, b in found]


@pytest.mark.parametrize(
    "data",
    [
        "M10 10L12.5 9.9L-3 .5z",
        "M90.1 26.9H111.1V45.1H90.1zM166.3 26.9H190.8V45.1H166.3z",
        "M0 0C1 2 3.3 4 5 6.1Q7 8 9 9.9zL1 1",
        "M-1 1L1-1M0 6L6 0M5 7L7 5",
        "M" + "L".join(f"{at * 0.1:.1f} {at * at % 97 / 10:.1f}" for at in range(500)),
    ],
)
def test_every_point_stays(data: str) -> None:
    assert points(relative(data)) == points(data)


def test_numbers_are_as_short_as_they_can_be() -> None:
    assert relative("M10 10L10.5 9.5H10.5V9.5L0 0z") == "m10 10l.5-.5h0v0l-10.5-9.5z"


def test_other_drawings_are_left_alone() -> None:
    icon = '<svg><path d="M13 20h-2V8l-5.5 5.5"/><path d="M1.25 2L3 4"/><path id="d" fill="none"/></svg>'
    assert shorter(icon) == icon
    assert shorter('<path class="a" d="M1 2L3 4"/>') == '<path class="a" d="m1 2l2 2"/>'


@pytest.mark.parametrize("data", ["M0 0L5 5z 10 10", "M0 0L5", "M0 0H", "M0 0L5z", "M0 0C1 2 3 4 5", "M0 0Q1 2 3M4 5"])
def test_a_path_that_cannot_be_read_is_left_alone(data: str) -> None:
    assert relative(data) == data
