"""Lay a figure out and write it as SVG: title, legend and label of the vertical axis above, the plot below.

Everything is measured with matplotlib's own font, which is wider than what pages use: what fits here fits there.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from hooks.plot_cells import CELLS
from hooks.plot_kinds import KINDS
from hooks.plot_parts import LINE, Plan, text_width, wrap
from hooks.plot_svg import BASE_SIZE, SvgCanvas, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROW, WIDE = 380.0, 700.0  # units: a phone's page at about one unit a pixel, a desktop's text column
ACROSS = {1: NARROW, 2: 340.0, 3: 240.0}  # how wide a panel is, by how many stand side by side
GAP = 6.0
RC = {
    "axes.axisbelow": True,
    "axes.edgecolor": ink("axis"),
    "axes.facecolor": "none",
    "axes.labelcolor": ink("text"),
    "axes.linewidth": 1.0,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": BASE_SIZE,
    "grid.color": ink("grid"),
    "grid.linewidth": 1.0,
    "hatch.color": ink("text"),
    "legend.fontsize": BASE_SIZE,
    "legend.frameon": False,
    "lines.scale_dashes": False,
    "patch.edgecolor": ink("axis"),
    "path.simplify_threshold": 0.25,
    "text.color": ink("text"),
    "text.parse_math": False,
    "xtick.color": ink("axis"),
    "xtick.labelcolor": ink("text"),
    "xtick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.color": ink("axis"),
    "ytick.labelcolor": ink("text"),
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}


@dataclass
class Drawing:
    """A finished picture: SVG elements and their size."""

    body: str
    width: float
    height: float
    plan: Plan


def draw(data: dict[str, Any], ident: str) -> str:
    """Return a figure as one SVG element, panels as a `div` of several, which phones show one below the other.

    Args:
        data: a figure as CONTRIBUTING.md describes, already checked by `hooks.shapes`.
        ident: what all ids in it start with.

    Raises:
        ValueError: the data cannot be drawn.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        return _panels(data, ident) if data["kind"] == "panels" else _element(_roomy(data, ident))


def _element(drawing: Drawing) -> str:
    """Return a picture as an SVG element."""
    wide = " fig-wide" if drawing.width > NARROW else ""
    size = f"0 0 {math.ceil(drawing.width)} {math.ceil(drawing.height)}"
    return f'<svg class="fig{wide}" viewBox="{size}" fill="none" font-size="{BASE_SIZE}">{drawing.body}</svg>'


def _roomy(data: dict[str, Any], ident: str, looks: dict[str, int] | None = None, *, legend: bool = True) -> Drawing:
    """Draw a plot for a phone's width, or wider where its texts fit only there; readers then scroll."""
    drawing = _plot(data, ident, NARROW, looks, legend=legend)
    if drawing.plan.cramped:
        wide = _plot(data, ident, WIDE, looks, legend=legend)
        if not wide.plan.cramped:
            return wide
    return drawing


def _panels(data: dict[str, Any], ident: str) -> str:
    """Draw small multiples; those of one kind share their looks and one legend."""
    panels = data["panels"]
    across = int(data.get("columns", min(2, len(panels))))
    if across not in ACROSS or any(panel["kind"] == "panels" for panel in panels):
        raise ValueError(f"panels stand in {min(ACROSS)} to {max(ACROSS)} columns and hold no panels")
    shared = len({panel["kind"] for panel in panels}) == 1
    looks = _looks(*panels) if shared else None
    drawn = []
    for n, panel in enumerate(panels):
        own = f"{ident}-{n}"
        if across == 1:
            drawn.append(_roomy(panel, own, looks, legend=not shared))
        else:
            drawn.append(_plot(panel, own, ACROSS[across], looks, legend=not shared))
    entries = {label: handle for drawing in drawn for handle, label in drawing.plan.legend}
    ordered = sorted(entries, key=lambda label: list(looks or entries).index(label))
    parts = [f'<p class="fig-title">{html.escape(str(data["title"]))}</p>'] if data.get("title") else []
    if shared and entries:
        parts.append(_element(_key([(entries[label], label) for label in ordered], f"{ident}-key")))
    parts.append(f'<div class="fig-across-{across}">{"".join(_element(drawing) for drawing in drawn)}</div>')
    return f'<div class="fig-panels">{"".join(parts)}</div>'


def _looks(*figures: dict[str, Any]) -> dict[str, int]:
    """Return the number of each series or group in order of appearance: it decides colour, dash, marker and hatch."""
    labels: list[str] = []
    for figure in figures:
        match figure["kind"]:
            case "lines" | "bars" | "scatter":
                labels += [str(label) for label in figure["series"]]
            case "timeline":
                labels += [str(span.get("group", "")) for span in figure["spans"]]
            case "grid":
                labels += [str(cell) for row in figure["group"] for cell in row if str(cell)]
    return {label: n for n, label in enumerate(dict.fromkeys(labels))}


def _key(entries: list[tuple[Any, str]], ident: str) -> Drawing:
    """Draw a legend alone."""
    figure = Figure(figsize=(NARROW / 72, 1), dpi=72)
    canvas = SvgCanvas(figure, ident)
    legend = _legend(figure, entries, NARROW)
    height = math.ceil(legend.get_window_extent(canvas.get_renderer()).height)
    figure.set_size_inches(NARROW / 72, height / 72)
    return Drawing(_written(figure, canvas), NARROW, height, Plan(height))


def _plot(
    data: dict[str, Any], ident: str, width: float, looks: dict[str, int] | None = None, *, legend: bool = True
) -> Drawing:
    """Draw one plot in its width; its height follows."""
    figure = Figure(figsize=(width / 72, 4), dpi=72)
    canvas = SvgCanvas(figure, ident)
    ax = figure.add_axes((0.12, 0.2, 0.85, 0.6))
    plan = (KINDS | CELLS)[data["kind"]](ax, data, width, looks or _looks(data))
    for inside in [*ax.patches, *ax.collections, *(text for text in ax.texts if not isinstance(text, Annotation))]:
        inside.set_in_layout(False)  # what lies inside the axes needs no room of its own, and measuring takes time
    below, beside = data.get("xlabel"), data.get("ylabel")
    if plan.turned:
        below, beside = beside, below
    if below:
        ax.set_xlabel(wrap(str(below), width, lines=1)[0], labelpad=3)
    title = wrap(str(data["title"]), width, bold=True) if data.get("title") else []
    key = _legend(figure, plan.legend, width) if plan.legend and legend else None
    key_height = key.get_window_extent(canvas.get_renderer()).height + GAP / 2 if key else 0.0
    label = wrap(str(beside), width) if beside else []
    bar = 2 * LINE + GAP if plan.bar else 0.0
    head = len(title) * LINE + (len(title) > 0) * GAP / 2 + key_height + bar + len(label) * LINE + GAP
    height = _fit(figure, canvas, ax, head=head, width=width, plan=plan)
    down = 0.0
    for row in title:
        figure.text(0, 1 - down / height, row, va="top", weight="bold")
        down += LINE
    down += (len(title) > 0) * GAP / 2
    if key:
        key.set_bbox_to_anchor((0, 1 - down / height), figure.transFigure)
        down += key_height
    if plan.bar:
        _bar(figure, plan.bar, down=down, width=width, height=height)
        down += bar
    for row in label:
        figure.text(0, 1 - down / height, row, va="top", color=ink("muted"))
        down += LINE
    return Drawing(_written(figure, canvas), width, height, plan)


def _fit(figure: Figure, canvas: SvgCanvas, ax: Axes, *, head: float, width: float, plan: Plan) -> float:
    """Give the axes the place that their labels leave, and the figure the height that they need; return it."""
    left, right, above, below = 30.0, 4.0, 4.0, 30.0
    height = 0.0
    for _ in range(3):
        height = head + above + plan.height + below
        figure.set_size_inches(width / 72, height / 72)
        box = (left / width, below / height, max(20.0, width - left - right) / width, plan.height / height)
        ax.set_position(box)
        needed, plot = ax.get_tightbbox(canvas.get_renderer()), ax.get_window_extent()
        if needed is None:
            raise ValueError("it shows nothing")
        left, right = max(plot.x0 - needed.x0 + 2, 2.0), max(needed.x1 - plot.x1 + 2, 2.0)
        above, below = max(needed.y1 - plot.y1, 0.0), max(plot.y0 - needed.y0 + 2, 2.0)
    return height


def _legend(figure: Figure, entries: list[tuple[Any, str]], width: float) -> Any:
    """Add a legend with as many columns as fit."""
    handles, labels = zip(*entries, strict=True)
    cell = max(text_width(label) for label in labels) + 42
    columns = max(1, min(len(labels), int((width + 14) // cell)))
    return figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        borderaxespad=0,
        borderpad=0.1,
        columnspacing=1.2,
        handlelength=2.2,
        handletextpad=0.5,
        labelspacing=0.3,
    )


def _bar(figure: Figure, bar: list[tuple[str, str]], *, down: float, width: float, height: float) -> None:
    """Draw the colours of the levels in a row, with the values at their edges below."""
    step = min(40.0, width / (len(bar)))
    free = 0.0
    for n, (colour, label) in enumerate(bar):
        x = n * step
        if colour:
            place = (x / width, 1 - (down + 10) / height)
            patch = Rectangle(place, step / width, 10 / height, facecolor=colour, edgecolor=ink("axis"), linewidth=0.5)
            patch.set_transform(figure.transFigure)
            figure.add_artist(patch)
        start = x if n == 0 else x - text_width(label) / 2
        if start >= free:
            figure.text(x / width, 1 - (down + 13) / height, label, va="top", ha="left" if n == 0 else "center")
            free = start + text_width(label) + 5


def _written(figure: Figure, canvas: SvgCanvas) -> str:
    """Return what a figure draws, as SVG elements."""
    figure.patch.set_visible(False)
    renderer = canvas.get_renderer()
    figure.draw(renderer)
    return renderer.markup()
