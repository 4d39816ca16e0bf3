"""The kinds of figures made of cells and levels: matrix, grid, field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import MaxNLocator

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
    wrap,
)
from hooks.plot_svg import LEVELS, hatch_of, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST_DARK = 5  # from this level on, texts are light on a light page and dark on a dark one
CELL = 26.0


def matrix(ax: Axes, data: dict[str, Any], width: float, looks: dict[str, int]) -> Plan:
    """Draw values as cells whose colour shows the value, with the value or a text in each where it fits."""
    rows = [numbers(row, "`values`") for row in data["values"]]
    _some(data)
    found = known([value for row in rows for value in row])
    low, high = min(found), max(found)
    texts = data.get("text") or [[short(float(f"{v:.3g}")) if v == v else "" for v in row] for row in rows]  # noqa: PLR0124
    wide, fits = _cells(ax, data, width, texts)
    levels = [[-1] * len(row) for row in rows]
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            if value != value:  # noqa: PLR0124 - a gap
                continue
            level = _level(value, low, high)
            levels[y][x] = level
            if fits:
                colour = ink("high" if level >= FIRST_DARK else "low")
                ax.text(x, y, str(texts[y][x]), ha="center", va="center_baseline", color=colour)
    edge: dict[str, Any] = {"edgecolor": ink("bg"), "linewidth": 1.0 if fits else 0.0}
    for level in range(LEVELS):
        for y, row_levels in enumerate(levels):
            for x, long in _runs(row_levels, level, joined=not fits):
                look: dict[str, Any] = {"facecolor": ink(f"h{level}"), **edge}
                ax.add_artist(Rectangle((x - 0.5, y - 0.5), long, 1, clip_on=False, **look))
    plan = Plan(len(rows) * (CELL if fits else min(CELL, max(wide, 4.0))), cramped=not fits)
    if not fits and high > low:
        edges = [low + (high - low) * n / LEVELS for n in range(LEVELS + 1)]
        plan.bar = [(ink(f"h{n}") if n < LEVELS else "", short(float(f"{edge:.2g}"))) for n, edge in enumerate(edges)]
    return plan


def grid(ax: Axes, data: dict[str, Any], width: float, looks: dict[str, int]) -> Plan:
    """Draw cells whose group is their colour, their hatch and an entry of the legend, with a text in each."""
    _some(data)
    groups = {str(cell) for row in data["group"] for cell in row}
    wide, fits = _cells(ax, data, width, data["text"])
    legend = []
    for group, index in looks.items():
        if group not in groups:
            continue
        look: dict[str, Any] = {
            "facecolor": tint(index),
            "edgecolor": series_ink(index),
            "hatchcolor": series_ink(index),
        }
        for y, row in enumerate(data["group"]):
            for x in (x for x, cell in enumerate(row) if str(cell) == group):
                patch = Rectangle((x - 0.46, y - 0.45), 0.92, 0.9, hatch=hatch_of(index), clip_on=False, **look)
                ax.add_artist(patch)
                if fits and str(data["text"][y][x]):
                    halo = f"fig-halo{index + 1}"
                    ax.text(x, y, str(data["text"][y][x]), ha="center", va="center_baseline", gid=halo)
        legend.append((Patch(hatch=hatch_of(index), **look), group))
    for y, row in enumerate(data["group"]):
        for x in (x for x, cell in enumerate(row) if not str(cell) and fits and str(data["text"][y][x])):
            ax.text(x, y, str(data["text"][y][x]), ha="center", va="center_baseline")
    return Plan(len(data["rows"]) * (CELL if fits else min(CELL, max(wide, 6.0))), legend, cramped=not fits)


def field(ax: Axes, data: dict[str, Any], width: float, looks: dict[str, int]) -> Plan:
    """Draw values over a plane as bands of levels, with points and paths on it."""
    x, y = numbers(data["x"], "`x`"), numbers(data["y"], "`y`")
    values = np.array([numbers(row, "`values`") for row in data["values"]])
    edges = _edges(data.get("levels", 8), values)
    bands = len(edges) - 1
    inks = [ink(f"h{round(n * (LEVELS - 1) / max(bands - 1, 1))}") for n in range(bands)]
    ground = Rectangle((min(x), min(y)), max(x) - min(x), max(y) - min(y), facecolor=inks[0], linewidth=0, zorder=0)
    ax.add_artist(ground)
    top = [max(edges[-1], float(np.nanmax(values))) + 1]
    for edge, colour in zip(edges[1:-1], inks[1:], strict=True):  # each band lies on the one below: no seams
        if (values >= edge).any():
            ax.contourf(x, y, values, levels=[edge, *top], colors=[colour], zorder=0.5)
    legend = []
    around = [Stroke(linewidth=4.4, foreground=ink("bg")), Normal()]
    styles = [("paths", True), ("points", False)]
    marks = 0
    for part, line in styles:
        for index, (label, points) in enumerate((data.get(part) or {}).items()):
            px, py = (points[a] if isinstance(points[a], list) else [points[a]] for a in ("x", "y"))
            look: dict[str, Any] = {"color": ink("text"), "linewidth": 1.8, "markersize": 6, "markeredgewidth": 0}
            look |= {"linestyle": dash(index), "marker": ""} if line else {"linestyle": "", "marker": marker(marks)}
            marks += not line
            if not line:  # a rim, so that a point is seen on every level
                ax.plot(numbers(px, label), numbers(py, label), **look | {"color": ink("bg"), "markersize": 8})
            ax.plot(numbers(px, label), numbers(py, label), path_effects=around if line else None, **look)
            legend.append((Line2D([], [], **look), str(label)))
    ax.set_xlim(min(x), max(x))
    ax.set_ylim(min(y), max(y))
    scale(ax, ax.xaxis, data.get("xscale", "linear"), x)
    scale(ax, ax.yaxis, data.get("yscale", "linear"), y)
    bar = [(inks[n] if n < bands else "", short(float(f"{edge:.3g}"))) for n, edge in enumerate(edges)]
    return Plan(0.7 * width, legend, bar)


def _some(data: dict[str, Any]) -> None:
    """Raise `ValueError` for a figure without cells."""
    if not data["rows"] or not data["columns"]:
        raise ValueError("it has no rows or no columns")


def _cells(ax: Axes, data: dict[str, Any], width: float, texts: list[list[Any]]) -> tuple[float, bool]:
    """Set up axes of cells; return the width of one, and whether all texts fit into theirs."""
    rows, columns = [str(name) for name in data["rows"]], [str(name) for name in data["columns"]]
    wide = (width - max(text_width(name) for name in rows) - 12) / len(columns)
    fits = all(text_width(str(text)) + 3 <= wide for row in texts for text in row)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.spines[:].set_visible(False)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    crowd = max(1, int(np.ceil((max(text_width(name) for name in columns) + 4) / wide)))
    words = max((text_width(word) for name in columns for word in name.split()), default=0.0)
    if crowd > 1 and words + 4 <= wide:
        ax.set_xticks([])
        for x, name in enumerate(columns):
            for up, row in enumerate(reversed(wrap(name, wide - 4))):
                at: dict[str, Any] = {
                    "xytext": (0, 4 + up * LINE),
                    "textcoords": "offset points",
                    "annotation_clip": False,
                }
                ax.annotate(row, (x, -0.5), ha="center", va="bottom", **at)
    elif crowd > 1 and wide >= LINE:
        ax.set_xticks(range(len(columns)), columns, rotation=40, ha="left", rotation_mode="anchor")
    else:
        ax.set_xticks(range(0, len(columns), crowd), columns[::crowd])
    thin = max(1, int(np.ceil(LINE / CELL if fits else LINE / min(CELL, max(wide, 4.0)))))
    ax.set_yticks(range(0, len(rows), thin), rows[::thin])
    return wide, fits


def _runs(row: list[int], level: int, *, joined: bool) -> list[tuple[int, int]]:
    """Return where cells of a level start in a row and how many follow each other; one by one unless `joined`."""
    found: list[tuple[int, int]] = []
    for x in (x for x, cell in enumerate(row) if cell == level):
        if joined and found and sum(found[-1]) == x:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((x, 1))
    return found


def _level(value: float, low: float, high: float) -> int:
    """Return the level of heat of a value between two others."""
    if high == low:
        return FIRST_DARK - 1
    return min(LEVELS - 1, int((value - low) / (high - low) * LEVELS))


def _edges(levels: Any, values: np.ndarray) -> list[float]:
    """Return the edges between the bands of a field.

    Raises:
        ValueError: they are too many, too few or not rising.
    """
    if isinstance(levels, list):
        edges = numbers(levels, "`levels`")
    else:
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        if low == high:
            raise ValueError("all its values are the same")
        edges = [float(edge) for edge in MaxNLocator(max(2, min(int(levels), LEVELS - 1))).tick_values(low, high)]
    if not 2 <= len(edges) <= LEVELS + 1 or edges != sorted(set(edges)):
        raise ValueError(f"`levels` are to be 2 to {LEVELS + 1} rising numbers")
    return edges


CELLS = {"matrix": matrix, "grid": grid, "field": field}
