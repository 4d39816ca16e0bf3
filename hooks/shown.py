"""What a reader sees of a page's HTML, in one pass: blocks of code with their boxes, and the text around them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from hooks import links, tree
from hooks.cache import remember

if TYPE_CHECKING:
    from hooks.tree import Element

HIDDEN = frozenset({"script", "style", "template", "svg"})
# What the extension draws from records carries one of these classes: it is no block of the page's author.
GENERATED = frozenset({"guide-output", "guide-program", "guide-error", "guide-figure", "guide-table"})
# What stands in these was drawn from records, messages of TensorFlow with `{{node ...}}` among it; so was a table of
# cells, but for its caption.
DRAWN = frozenset({"guide-program", "guide-notes", "guide-stamp", "guide-data"})
CELLS = "guide-cells"
# Most of a page's markup is in its drawings, which hold no drawing themselves.
DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


@dataclass
class Code:
    """A `pre` element: its text, the attributes of its box, whether it is code, and whether a record drew it."""

    box: dict[str, str] | None
    is_code: bool = False
    generated: bool = False
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text a reader sees."""
        return "".join(self.parts)


@dataclass
class Shown:
    """The blocks of code of a page in order, its text outside them, its inline code, addresses that cannot be read."""

    codes: list[Code] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


@lru_cache(maxsize=1)  # two checks read the same page, one after the other
def read(html: str) -> Shown:
    """Return what a page shows; it is not to be changed."""
    plain = DRAWING.sub("", html)
    said = remember("shown", [plain], lambda: asdict(_seen(plain)))
    return Shown(**said | {"codes": [Code(**code) for code in said["codes"]]})


def _seen(html: str) -> Shown:
    shown = Shown()
    _look(tree.read(html), shown, (), None)
    return shown


def _look(parent: Element, shown: Shown, above: tuple[Element, ...], code: Code | None) -> None:
    """Note what an element shows.

    Args:
        parent: the element.
        shown: what is noted.
        above: the elements that hold it, itself included.
        code: the block of code that it belongs to.
    """
    for child in parent.children:
        if isinstance(child, str):
            if code is not None:
                code.parts.append(child)
            elif _drawn(above):
                pass
            elif any(one.name == "code" for one in above) and shown.inline:
                shown.inline[-1] += child
            else:
                shown.prose.append(child)
            continue
        addresses = (child.attributes.get(name, "") for name in ("href", "src"))
        shown.unreadable += [address for address in addresses if not links.readable(address)]
        inside = code
        if child.name == "pre":
            boxes = (*above, child)
            classes = {name for box in boxes for name in box.classes}
            box = next((box.attributes for box in reversed(boxes) if "highlight" in box.classes), None)
            inside = Code(box, generated=bool(classes & GENERATED))
            if "linenos" not in classes:
                shown.codes.append(inside)
        elif child.name == "code":
            if code is not None:
                code.is_code = True
            else:
                shown.inline.append("")
        elif child.name in HIDDEN and code is None:
            continue
        _look(child, shown, (*above, child), inside)


def _drawn(above: tuple[Element, ...]) -> bool:
    """Say whether what these elements hold was drawn from records."""
    if any(DRAWN.intersection(one.classes) for one in above):
        return True
    return any(CELLS in one.classes for one in above) and all(one.name != "caption" for one in above)
