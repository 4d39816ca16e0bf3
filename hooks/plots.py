"""Figures as SVG, drawn once: an unchanged figure comes from the cache and matplotlib is not even imported."""

from __future__ import annotations

import functools
import html
import json
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hooks import shapes
from hooks.cache import cached
from hooks.reference import Missing

SOURCES = ("plot_svg.py", "plot_parts.py", "plot_layout.py", "plot_kinds.py", "plot_cells.py")
DRAW = ("matplotlib", "contourpy", "numpy")


def svg(data: dict[str, Any], *, ident: str, alt: str, name: str) -> str:
    """Return a figure as an SVG element, or panels as a `div` of them.

    Args:
        data: the figure as a program wrote it, see CONTRIBUTING.md.
        ident: the id of the figure on its page; ids inside the drawing start with it.
        alt: what a reader would see.
        name: how to call the figure in a message.

    Raises:
        Missing: the data is not a figure.
    """
    why = shapes.wrong_figures({name: data})
    if why:
        raise Missing(why, "correct the program's `figures` and record it")
    text = json.dumps(data, sort_keys=False, ensure_ascii=False)
    drawing = cached("figures", [_drawer(), ident, text], lambda: _draw(data, ident, name))
    name_it = f' role="img" aria-label="{html.escape(alt)}" class="fig'
    return drawing.replace(' class="fig', name_it, 1)


def _draw(data: dict[str, Any], ident: str, name: str) -> str:
    """Draw with matplotlib, which is imported here and nowhere earlier."""
    from hooks import plot_layout  # noqa: PLC0415

    try:
        return plot_layout.draw(data, ident)
    except (TypeError, ValueError, LookupError) as error:
        cause = f"the figure `{name}` cannot be drawn: {error}"
        raise Missing(cause, "correct the program's `figures` and record it") from error


@functools.cache
def _drawer() -> str:
    """Return what a drawing depends on besides its data: this package's drawing modules, and the packages that draw."""
    here = Path(__file__).parent
    text = "".join((here / source).read_text("utf-8") for source in SOURCES)
    return " ".join([sha256(text.encode()).hexdigest(), *(f"{name} {version(name)}" for name in DRAW)])
