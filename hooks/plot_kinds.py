"""The kinds of figures with axes of numbers: lines, bars, scatter, timeline."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from hooks.plot_parts import (
    LINE,
    Plan,
    dash,
    known,
    marker,
    numbers,
    scale,
    series_ink,
    short,
    text_width,
    tint,
)
from hooks.plot_svg import hatch_of, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

FEW_POINTS, FEW_BARS = 12, 14


def lines(ax: Axes, data: dict[str, Any], width: float, looks: dict[str, int]) -> Plan:
    """Draw series over common places; each has its own colour, dash and marker."""
    words = any(isinstance(place, str) for place in data["x"])
    x = [float(n) for n in range(len(data["x"]))] if words else numbers(data["x"], "`x`")
    values: list[float] = []
    legend = []
    for label, series in data["series"].items():
        index = looks[str(label)]
        y = numbers(series, f"series `{label}`")
        values += known(y)
        marked = data.get("markers", len(x) <= FEW_POINTS)
        look: dict[str, Any] = {
            "color": series_ink(index),
            "linestyle": dash(index),
            "linewidth": 1.8,
            "marker": marker(index) if marked else "",
            "markersize": 5,
            "markeredgewidth": 0,
        }
        ax.plot(x, y, solid_capstyle="round", clip_on=False, **look)
        legend.append((Line2D([], [], **look), str(label)))
    scale(ax, ax.yaxis, data.get("yscale", "linear"), values)
    if words:
        ax.set_xticks(x, [str(place) for place in data["x"]])
    else:
        scale(ax, ax.xaxis, data.get("xscale", "linear"), known(x))
    if data.get("yscale", "linear") == "linear" and min(values) >= 0 and min(values) < 0.4 * max(values):
        ax.set_ylim(bottom=0)
    ax.grid(axis="y")
    return Plan(0.5 * width, legend if len(looks) > 1 or not data.get("ylabel") else [])


def bars(ax: Axes, data: dict[str, Any], width: float, looks: dict[str, int]) -> Plan:
    """Draw bars beside or on each other; they lie down where their names would not fit below them.

    The labels of bars that lie down by themselves are those of standing ones.
    """
    names = [str(name) for name in data["categories"]]
    series = {str(label): numbers(values, f"series `{label}`") for label, values in data["series"].items()}
    stacked = bool(data.get("stacked"))
    slot = (width - 40) / max(len(names), 1)
    flat = bool(data.get("horizontal", any(text_width(name) > slot - 4 for name in names)))
    count = 1 if stacked else len(series)
    thick = 0.8 / count
    base = [0.0] * len(names)
    everything: list[float] = []
    legend = []
    rows: list[BarContainer] = []
    direct = not stacked and len(names) * count <= FEW_BARS
    for n, (label, values) in enumerate(series.items()):
        index = looks[label]
        look: dict[str, Any] = {
            "facecolor": series_ink(index),
            "edgecolor": ink("bg"),
            "hatchcolor": ink("bg"),
            "linewidth": 0.5,
        }
        at = [place if stacked else place - 0.4 + thick * (n + 0.5) for place in range(len(names))]
        make = ax.barh if flat else ax.bar
        start: dict[str, Any] = {"left" if flat else "bottom": base} if stacked else {}
        drawn = make(at, values, thick * 0.94, hatch=hatch_of(index), clip_on=False, **look, **start)
        rows.append(drawn)
        if direct:
            ax.bar_label(drawn, ["" if math.isnan(v) else short(float(f"{v:.3g}")) for v in values], padding=2)
        ends = [a + b for a, b in zip(base, values, strict=True)] if stacked else values
        everything += known(ends)
        if stacked:  # above a gap the next bar begins where the one before the gap ends
            base = [a if math.isnan(end) else end for a, end in zip(base, ends, strict=True)]
        legend.append((Patch(hatch=hatch_of(index), **look), label))
    long, across = (ax.xaxis, ax.yaxis) if flat else (ax.yaxis, ax.xaxis)
    scale(ax, long, data.get("yscale", "linear"), everything)
    if data.get("yscale", "linear") != "linear":
        _stand(ax, rows, everything, flat=flat)
    across.set_ticks(range(len(names)), names)
    ax.set_xmargin(0.02)
    if flat:
        ax.invert_yaxis()
    ax.grid(axis="x" if flat else "y")
    height = len(names) * max(22.0, 15.0 * count + 8) if flat else 0.5 * width
    return Plan(height, legend if len(looks) > 1 else [], turned=flat and "horizontal" not in data)


def _stand(ax: Axes, rows: list[BarContainer], values: list[float], *, flat: bool) -> None:
    """Let bars on a logarithmic axis begin where the axis does; it has no zero to begin at.

    Args:
        ax: the axes, with their scale set.
        rows: the bars of each series.
        values: where they end, all above zero.
        flat: they lie.
    """
    # The shortest bar is to be seen too.
    low = min(values) / (max(values) / min(values) * 10) ** 0.1
    (ax.set_xlim if flat else ax.set_ylim)(low, None)
    for bar in (bar for row in rows for bar in row):
        if flat and bar.get_x() <= 0:
            bar.set(x=low, width=bar.get_width() - low)
        elif not flat and bar.get_y() <= 0:
            bar.set(y=low, height=bar.get_height() - low)


def scatter(ax: Axes, data: dict[str, Any], width: float, looks: dict[str, int]) -> Plan:
    """Draw points; each series has its own colour and marker."""
    xs: list[float] = []
    ys: list[float] = []
    legend = []
    for label, points in data["series"].items():
        index = looks[str(label)]
        x, y = numbers(points["x"], f"series `{label}`"), numbers(points["y"], f"series `{label}`")
        xs, ys = xs + known(x), ys + known(y)
        look: dict[str, Any] = {"linestyle": "", "marker": marker(index), "markersize": 5, "markeredgewidth": 0}
        look["color"] = series_ink(index)
        ax.plot(x, y, clip_on=False, **look)
        legend.append((Line2D([], [], **look), str(label)))
    scale(ax, ax.xaxis, data.get("xscale", "linear"), xs)
    scale(ax, ax.yaxis, data.get("yscale", "linear"), ys)
    ax.grid(axis="both")
    return Plan(0.6 * width, legend if len(looks) > 1 else [])


def timeline(ax: Axes, data: dict[str, Any], width: float, looks: dict[str, int]) -> Plan:
    """Draw spans in lanes; the group of a span is its colour, its hatch and its place in the legend."""
    lanes, spans = [str(lane) for lane in data["lanes"]], data["spans"]
    if not spans:
        raise ValueError("it has no spans")
    groups = {str(span.get("group", "")) for span in spans}
    first, last = min(span["start"] for span in spans), max(span["end"] for span in spans)
    ax.set_xlim(first, last if last > first else first + 1)
    ax.set_ylim(len(lanes) - 0.5, -0.5)
    unit = (width - max(text_width(lane) for lane in lanes) - 12) / ((last - first) or 1)
    tall, cramped = 0.76, False
    legend = []
    for group, index in looks.items():
        if group not in groups:
            continue
        look: dict[str, Any] = {
            "facecolor": tint(index),
            "edgecolor": series_ink(index),
            "hatchcolor": series_ink(index),
        }
        for span in spans:
            if str(span.get("group", "")) != group:
                continue
            start, lane, long = span["start"], span["lane"], span["end"] - span["start"]
            place = (start, lane - tall / 2)
            ax.add_artist(Rectangle(place, long, tall, hatch=hatch_of(index), clip_on=False, **look))
            label = str(span.get("label", ""))
            if label and text_width(label) + 3 > long * unit:
                cramped = True
            elif label:
                middle = start + long / 2
                ax.text(middle, lane, label, ha="center", va="center_baseline", gid=f"fig-halo{index + 1}")
        legend.append((Patch(hatch=hatch_of(index), **look), group))
    scale(ax, ax.xaxis, "linear", [first, last])
    ax.set_yticks(range(len(lanes)), lanes)
    ax.grid(axis="x")
    return Plan(len(lanes) * (LINE + 9), legend if len(looks) > 1 else [], cramped=cramped)


KINDS = {"lines": lines, "bars": bars, "scatter": scatter, "timeline": timeline}
