"""A matplotlib renderer that writes small SVG for light and dark pages: classes instead of colours, no inline style.

A strict content security policy forbids `style` attributes, so every element carries presentation attributes and a
class; `docs/assets/figure.css` gives the classes their colours in both schemes. What is drawn names an ink; `ink` gives
it a colour that no eye sees, and the renderer turns that colour back into a class.

Source: https://matplotlib.org/stable/api/backend_bases_api.html#matplotlib.backend_bases.RendererBase
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backend_bases import FigureCanvasBase, RendererBase
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text
    from matplotlib.transforms import Transform

SERIES, LEVELS = 8, 9
INKS = [
    "text", "muted", "axis", "grid", "bg", "low", "high",
    *(f"s{n}" for n in range(1, SERIES + 1)),
    *(f"t{n}" for n in range(1, SERIES + 1)),
    *(f"h{n}" for n in range(LEVELS)),
]  # fmt: skip
BASE_SIZE = 11
LONG, THIN = 40, 2.0  # corners of an outline from which on those closer than this many units are left out
# The picture of each hatch, in a square of 6 units.
HATCHES = {
    "/": "M-1 1L1-1M0 6L6 0M5 7L7 5",
    "x": "M0 0L6 6M0 6L6 0",
    ".": "M1.5 1.5h.01M4.5 4.5h.01",
    "\\": "M-1 5L1 7M0 0L6 6M5-1L7 1",
    "|": "M3 0V6",
    "+": "M0 3H6M3 0V6",
    "-": "M0 3H6",
}


def ink(name: str) -> str:
    """Return the colour that stands for an ink until the renderer writes its class."""
    return f"#0000{INKS.index(name) + 1:02x}"


def hatch_of(index: int) -> str:
    """Return the hatch of the series or group at `index`; the first has none."""
    return ["", *HATCHES][index % (len(HATCHES) + 1)]


class SvgRenderer(RendererBase):
    """Collects a figure as SVG elements; one unit is one point."""

    def __init__(self, ident: str, width: float, height: float) -> None:
        """Start an empty drawing, whose ids start with `ident`."""
        super().__init__()
        self.ident, self.width, self.height = ident, width, height
        self.shapes: list[list[str]] = []  # attributes and path data
        self.texts: list[str] = []
        self.patterns: dict[str, str] = {}

    def flipy(self) -> bool:
        """Tell that y grows downwards."""
        return True

    def get_canvas_width_height(self) -> tuple[float, float]:
        """Return the size of the drawing."""
        return self.width, self.height

    def points_to_pixels(self, points: float) -> float:
        """Return points as units of the drawing."""
        return points

    def draw_path(self, gc: GraphicsContextBase, path: Path, transform: Transform, face: Any = None) -> None:
        """Add a line or an area."""
        area = face is not None
        clip = gc.get_clip_rectangle()
        data = self._data(path, transform, None if area or clip is None else clip.bounds, thin=area)
        if not data:
            return
        stroke = self._stroke(gc)
        if area or stroke:
            classes = " ".join([*([_fill_class(face)] if area else []), *stroke[:1]])
            self._add(" ".join([f'class="{classes}"', *stroke[1:]]), data)
        if hatch := gc.get_hatch():
            self._add(f'fill="url(#{self._pattern(hatch[0], _name(gc.get_hatch_color()))})"', data)

    def draw_markers(  # noqa: PLR0917 - matplotlib passes them by position
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        face: Any = None,
    ) -> None:
        """Add the same marker at every point of a path; a round one is the round cap of a line without length."""
        points = [p for p, _ in path.iter_segments(trans + self._flip(), simplify=False)]
        round_one = marker_path.codes is not None and Path.CURVE4 in marker_path.codes
        if round_one:
            width = _number(marker_path.get_extents(marker_trans).width)
            data = "".join(f"M{_number(x)} {_number(y)}z" for x, y in points)
            self._add(f'class="{_line_class(gc.get_rgb())}" stroke-width="{width}" stroke-linecap="round"', data)
            return
        for x, y in points:
            move = marker_trans + Affine2D().translate(x, self.height - y)
            self.draw_path(gc, marker_path, move, face)

    def draw_text(  # noqa: PLR0917 - matplotlib passes them by position
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Text | None = None,
    ) -> None:
        """Add a text, anchored as it was aligned, so that the page's font may be wider or narrower."""
        anchor = ""
        if mtext and (angle == 0 or mtext.get_rotation_mode() == "anchor"):
            ax, ay = mtext.get_transform().transform(mtext.get_unitless_position())
            turn = np.deg2rad(angle)
            down = np.array([np.sin(turn), np.cos(turn)])
            x, y = np.array([ax, self.height - ay]) + down * np.dot(down, [x - ax, y - (self.height - ay)])
            anchor = {"center": "middle", "right": "end"}.get(mtext.get_horizontalalignment(), "")
        attributes = {"x": _number(x), "y": _number(y), "text-anchor": anchor}
        if angle:
            attributes["transform"] = f"rotate({_number(-angle)} {attributes['x']} {attributes['y']})"
        if prop.get_size_in_points() != BASE_SIZE:
            attributes["font-size"] = _number(prop.get_size_in_points())
        if prop.get_weight() == "bold":
            attributes["font-weight"] = "bold"
        name = _name(gc.get_rgb())
        classes = [f"fig-on-{name}" if name in ("low", "high") else f"fig-{name}"] if name != "text" else []
        if mtext is not None and mtext.get_gid():
            classes.append(str(mtext.get_gid()))  # a halo: see figure.css
        attributes["class"] = " ".join(classes)
        said = "".join(f' {key}="{value}"' for key, value in attributes.items() if value)
        self.texts.append(f"<text{said}>{html.escape(s, quote=False)}</text>")

    def markup(self) -> str:
        """Return all elements: areas and lines in the order in which they were drawn, then the texts."""
        defs = "".join(self.patterns.values())
        parts = [f"<defs>{defs}</defs>"] if defs else []
        parts += [f'<path {attributes} d="{data}"/>' for attributes, data in self.shapes]
        if self.texts:
            parts.append(f'<g class="fig-text" fill="currentColor">{"".join(self.texts)}</g>')
        return "".join(parts)

    def _add(self, attributes: str, data: str) -> None:
        """Add a shape, to one of the last two where that looks the same: areas and their hatches take turns."""
        for shape in self.shapes[:-3:-1]:
            if shape[0] == attributes:
                shape[1] += data
                return
        self.shapes.append([attributes, data])

    def _stroke(self, gc: GraphicsContextBase) -> tuple[str, ...]:
        """Return the class of a line and its attributes; nothing where no line is drawn."""
        width = gc.get_linewidth()
        if not width or gc.get_rgb()[3] == 0:
            return ()
        attributes = [] if width == 1 else [f'stroke-width="{_number(width)}"']
        _, dashes = gc.get_dashes()
        if dashes is not None and len(dashes):
            attributes.append(f'stroke-dasharray="{" ".join(_number(d) for d in dashes)}"')
        return (_line_class(gc.get_rgb()), *attributes)

    def _pattern(self, hatch: str, name: str) -> str:
        """Return the id of a hatch in an ink."""
        ident = f"{self.ident}-{'abcdefgh'[list(HATCHES).index(hatch)]}{INKS.index(name)}"
        weight = ' stroke-width="1.6" stroke-linecap="round"' if hatch == "." else ' stroke-width=".8"'
        faint = "" if name == "bg" else ' stroke-opacity=".5"'  # texts lie on it
        self.patterns[ident] = (
            f'<pattern id="{ident}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<path class="fig-{"lbg" if name == "bg" else name}"{weight}{faint} d="{HATCHES[hatch]}"/></pattern>'
        )
        return ident

    def _flip(self) -> Affine2D:
        return Affine2D().scale(1, -1).translate(0, self.height)

    def _data(self, path: Path, transform: Transform, clip: Any, *, thin: bool) -> str:
        """Return a path as the `d` of SVG, with coordinates rounded to a tenth of a unit.

        Args:
            path: the path.
            transform: from the path to the figure.
            clip: the bounds that a line must not leave; None for any.
            thin: whether a long outline may lose corners that are close to the last one.
        """
        near = THIN if thin and len(path.vertices) > LONG else 0.0
        last = np.zeros(2)
        bounds = None
        if clip is not None:
            x, y, w, h = clip
            bounds = (x - 2, self.height - y - h - 2, x + w + 2, self.height - y + 2)
        out: list[str] = []
        here = start = ("", "")
        for points, code in path.iter_segments(transform + self._flip(), clip=bounds, simplify=None):
            if code == Path.CLOSEPOLY:
                out.append("z")
                here = start
                continue
            if code == Path.LINETO and near and np.abs(points - last).max() < near:
                continue
            last = points[-2:]
            pairs = [(_number(px), _number(py)) for px, py in points.reshape(-1, 2)]
            x_, y_ = pairs[-1]
            if code == Path.MOVETO:
                start = pairs[-1]
                out.append(f"M{x_} {y_}")
            elif code == Path.LINETO:
                if pairs[-1] == here:
                    continue
                out.append(f"H{x_}" if y_ == here[1] else f"V{y_}" if x_ == here[0] else f"L{x_} {y_}")
            else:
                letter = "Q" if code == Path.CURVE3 else "C"
                out.append(letter + " ".join(f"{px} {py}" for px, py in pairs))
            here = pairs[-1]
        return "".join(out)


class SvgCanvas(FigureCanvasBase):
    """A canvas whose figure is measured and drawn by `SvgRenderer`."""

    def __init__(self, figure: Figure, ident: str) -> None:
        """Take the figure's size, one unit a point."""
        super().__init__(figure)
        self.ident = ident

    def get_renderer(self) -> SvgRenderer:
        """Return an empty drawing of the figure's present size."""
        width, height = self.figure.get_size_inches() * self.figure.dpi
        return SvgRenderer(self.ident, float(width), float(height))


def _number(value: float) -> str:
    """Return a number of the drawing as short as a tenth of a unit allows."""
    text = f"{value:.1f}"
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _name(rgb: Any) -> str:
    """Return the ink that a colour stands for."""
    if rgb[0] or rgb[1] or not 1 <= round(rgb[2] * 255) <= len(INKS):
        raise AssertionError(f"matplotlib drew in a colour of its own: {rgb}")
    return INKS[round(rgb[2] * 255) - 1]


def _line_class(rgb: Any) -> str:
    """Return the class of a line; lines in the inks of areas and texts are rare and have names of their own."""
    name = _name(rgb)
    return f"fig-{name}" if name[0] == "s" or name in ("axis", "grid") else f"fig-l{name}"


def _fill_class(rgb: Any) -> str:
    """Return the class of an area; that of a series is `b` (body), as `s` is its line."""
    name = _name(rgb)
    return f"fig-b{name[1:]}" if name[0] == "s" else f"fig-{name}"
