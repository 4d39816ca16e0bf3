"""What a reader sees of a page's HTML, in one pass: blocks of code with their boxes, and the text around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
HIDDEN = frozenset({"script", "style", "template", "svg"})
# What the extension draws from records carries one of these classes: it is no block of the page's author.
GENERATED = frozenset({"guide-output", "guide-program", "guide-error", "guide-figure", "guide-table", "guide-quiz"})
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
    """The blocks of code of a page in order, its text outside them, and its inline code."""

    codes: list[Code] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)


@lru_cache(maxsize=1)  # two checks read the same page, one after the other
def read(html: str) -> Shown:
    """Return what a page shows; it is not to be changed."""
    reader = _Reader()
    reader.feed(DRAWING.sub("", html))
    reader.close()
    return reader.shown


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown = Shown()
        self.open: list[tuple[str, frozenset[str], dict[str, str]]] = []
        self.code: Code | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        values = {key: value or "" for key, value in attrs}
        self.open.append((tag, frozenset(values.get("class", "").split()), values))
        if tag == "pre":
            classes = frozenset().union(*(names for _, names, _ in self.open))
            box = next((said for _, names, said in reversed(self.open) if "highlight" in names), None)
            self.code = Code(box, generated=bool(classes & GENERATED))
            if "linenos" not in classes:
                self.shown.codes.append(self.code)
        elif tag == "code":
            if self.code is not None:
                self.code.is_code = True
            else:
                self.shown.inline.append("")

    def handle_endtag(self, tag: str) -> None:
        if not any(name == tag for name, *_ in self.open):
            return
        while self.open.pop()[0] != tag:
            pass
        if tag == "pre":
            self.code = None

    def handle_data(self, data: str) -> None:
        tags = {tag for tag, *_ in self.open}
        if self.code is not None:
            self.code.parts.append(data)
        elif tags & HIDDEN:
            return
        elif "code" in tags and self.shown.inline:
            self.shown.inline[-1] += data
        else:
            self.shown.prose.append(data)
