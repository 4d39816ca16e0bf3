"""What the kinds of figures share: short numbers, texts that fit, the looks of a series, the plan of a plot."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from hooks.plain import is_number
from hooks.plot_svg import BASE_SIZE, SERIES, SvgRenderer, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

LINE = 15.0  # the height of a line of text
DASHES: list[Any] = [
    "-",
    (0, (6, 2)),
    (0, (2, 2)),
    (0, (8, 2, 2, 2)),
    (0, (4, 1, 1, 1)),
    (0, (10, 3)),
    (0, (1, 3)),
    (0, (3, 3)),
]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<"]
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_TICKS = 9


@dataclass
class Plan:
    """What a kind asks of the layout: the height of its axes, legend entries, and a bar of levels (colour, label).

    `cramped` says that a text did not fit into its shape, `turned` that the axes, and so their labels, changed places.
    """

    height: float
    legend: list[tuple[Any, str]] = field(default_factory=list)
    bar: list[tuple[str, str]] = field(default_factory=list)
    cramped: bool = False
    turned: bool = False


def short(value: float, _position: Any = None) -> str:
    """Return a number as a reader of a figure wants it: few digits, thousands apart, powers as powers."""
    size = abs(value)
    if not size:
        return "0"
    if 1e-3 <= size < 1e6:
        text = f"{value:,.0f}" if size >= 1e4 else f"{value:.6g}"
        return text.replace("-", "\u2212")
    digits, _, power = f"{value:.4e}".partition("e")
    digits = digits.rstrip("0").rstrip(".")
    raised = f"10{str(int(power)).translate(SUPERSCRIPT)}"
    return raised if digits == "1" else f"{digits}\u00d7{raised}".replace("-", "\u2212", 1)


@functools.lru_cache(maxsize=2048)
def text_width(text: str, *, bold: bool = False) -> float:
    """Return the width of a text in units."""
    if not text.strip():
        return 0.0
    look = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=BASE_SIZE)
    return float(SvgRenderer("", 1, 1).get_text_width_height_descent(text, look, False)[0])


def wrap(text: str, width: float, *, bold: bool = False, lines: int = 4) -> list[str]:
    """Return a text in lines that are no wider than `width`.

    Raises:
        ValueError: it needs more than `lines`.
    """
    rows = [""]
    for word in text.split():
        longer = f"{rows[-1]} {word}".strip()
        if rows[-1] and text_width(longer, bold=bold) > width:
            rows.append(word)
        else:
            rows[-1] = longer
    if len(rows) > lines:
        raise ValueError(f"the text `{text}` is too long for the figure")
    return rows


def series_ink(index: int) -> str:
    """Return the colour of the series at `index`.

    Raises:
        ValueError: there are more series than colours that can be told apart.
    """
    if index >= SERIES:
        raise ValueError(f"it has more than {SERIES} series or groups")
    return ink(f"s{index + 1}")


def dash(index: int) -> Any:
    """Return the dashes of the line at `index`; there are as many as colours."""
    series_ink(index)
    return DASHES[index]


def marker(index: int) -> str:
    """Return the mark of the points at `index`; there are as many as colours."""
    series_ink(index)
    return MARKERS[index]


def tint(index: int) -> str:
    """Return the pale ground that belongs to the series at `index`."""
    series_ink(index)
    return ink(f"t{index + 1}")


def scale(ax: Axes, axis: Axis, kind: str, values: list[float]) -> None:
    """Set the scale of an axis and few, round ticks.

    Raises:
        ValueError: the scale is unknown, or values do not suit it.
    """
    name = "x" if axis is ax.xaxis else "y"
    if kind in ("log", "log2"):
        if any(value <= 0 for value in values):
            raise ValueError(f"`{name}scale: {kind}` with a value that is not positive")
        base = 2 if kind == "log2" else 10
        getattr(ax, f"set_{name}scale")("log", base=base)
        exact = sorted(set(values))
        if kind == "log2" and name == "x" and len(exact) <= MOST_TICKS:
            axis.set_major_locator(FixedLocator(exact))
        else:
            few = max(values) / min(values) < base**3
            subs = (1.0, 2.0, 5.0) if few and base != 2 else (1.0,)
            axis.set_major_locator(LogLocator(base=base, subs=subs, numticks=7))
        axis.set_minor_locator(NullLocator())
    elif kind == "linear":
        whole = all(float(value).is_integer() for value in values)
        axis.set_major_locator(MaxNLocator(6, integer=whole and name == "x", steps=[1, 2, 2.5, 5, 10]))
    else:
        raise ValueError(f"`{name}scale: {kind}` is not linear, log or log2")
    axis.set_major_formatter(FuncFormatter(short))


def numbers(values: list[Any], what: str) -> list[float]:
    """Return values as floats, `None` as a gap.

    Raises:
        ValueError: one is not a number.
    """
    for value in values:
        if value is not None and not is_number(value):
            raise ValueError(f"{what} holds {value!r}, which is not a number")
    return [float("nan") if value is None else float(value) for value in values]


def known(values: list[float]) -> list[float]:
    """Return the values without gaps.

    Raises:
        ValueError: none is left.
    """
    found = [value for value in values if value == value]  # noqa: PLR0124 - nan is not equal to itself
    if not found:
        raise ValueError("it holds no number")
    return found
