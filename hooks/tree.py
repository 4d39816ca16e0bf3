"""HTML as a tree of elements and texts, read by one pattern: ten times as fast as the standard library's parser.

The build reads what it wrote itself, so this is no parser for any HTML: it knows elements without content, scripts and
styles, quoted attributes and comments, and closes what an end tag leaves open. `tests/site/test_build.py` compares what
it reads of every page with what the standard library's parser does.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
_SAID = r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+"""
# Text between tags is what the pattern does not match. A script's or style's text is no markup.
TOKEN = re.compile(
    rf"<(?P<raw>script|style)\b(?P<rawsaid>{_SAID})>(?P<text>.*?)</(?P=raw)\s*>"
    rf"|<(?P<name>[a-zA-Z][^\s/>]*+)(?P<said>{_SAID})>"
    r"|</(?P<close>[a-zA-Z][^\s>]*+)[^>]*+>|<!--.*?-->|<[!?][^>]*+>",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?""")


def attributes(said: str) -> dict[str, str]:
    """Return the attributes of a tag; one without a value has the empty string.

    Args:
        said: what stands in the tag after its name.
    """
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(said):
        value = double or single or bare
        found.setdefault(name.lower(), unescape(value) if "&" in value else value)
    return found


class Element:
    """An element: its name, its attributes, its content in order, and the element that holds it."""

    __slots__ = ("_attributes", "_said", "children", "name", "parent")

    def __init__(self, name: str, said: str, parent: Element | None) -> None:
        self.name, self.parent = name, parent
        self.children: list[Element | str] = []
        self._said = said
        self._attributes: dict[str, str] | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """Its attributes, read when first asked for."""
        if self._attributes is None:
            self._attributes = attributes(self._said)
        return self._attributes

    @property
    def classes(self) -> list[str]:
        """Its classes in order."""
        return self.attributes.get("class", "").split() if "class" in self._said else []

    @property
    def elements(self) -> list[Element]:
        """The elements directly in it."""
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def inner(self) -> str:
        """What is in it as HTML."""
        return "".join(markup(child) for child in self.children)

    @property
    def text(self) -> str:
        """All text in it, without that of scripts and styles."""
        return "".join(self.texts())

    def texts(self) -> Iterator[str]:
        """Yield the texts in it, in order."""
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.name not in ("script", "style"):
                yield from child.texts()

    def walk(self) -> Iterator[Element]:
        """Yield every element in it, each before what it holds."""
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.walk()

    def parents(self) -> Iterator[Element]:
        """Yield the elements that hold it, the nearest first."""
        above = self.parent
        while above and above.name:
            yield above
            above = above.parent

    def named(self, names: Container[str]) -> Iterator[Element]:
        """Yield every element in it that bears one of the names."""
        return (element for element in self.walk() if element.name in names)

    def of_class(self, name: str) -> Iterator[Element]:
        """Yield every element in it that has the class."""
        return (element for element in self.walk() if name in element.classes)


def markup(node: Element | str) -> str:
    """Return an element or a text as HTML, written as Beautiful Soup writes it."""
    if isinstance(node, str):
        return escape(node, quote=False)
    said = "".join(
        f' {name}="{escape(value, quote=False).replace(chr(34), "&quot;")}"' for name, value in node.attributes.items()
    )
    return f"<{node.name}{said}/>" if node.name in VOID else f"<{node.name}{said}>{node.inner}</{node.name}>"


def read(html: str) -> Element:
    """Return an element without a name that holds a piece of HTML."""
    here = root = Element("", "", None)
    opened = [""]  # the names of `here` and of all that hold it
    end = 0
    for found in TOKEN.finditer(html):
        start = found.start()
        if start > end:
            text = html[end:start]
            here.children.append(unescape(text) if "&" in text else text)
        end = found.end()
        kind = found.lastgroup
        if kind == "said":
            name, said = found["name"].lower(), found["said"]
            element = Element(name, said, here)
            here.children.append(element)
            if name not in VOID and not said.endswith("/"):
                here = element
                opened.append(name)
        elif kind == "close":
            name = found["close"].lower()
            if name in opened:
                while opened.pop() != name:
                    here = here.parent or root
                here = here.parent or root
        elif kind == "text":
            element = Element(found["raw"].lower(), found["rawsaid"], here)
            here.children.append(element)
            if found["text"]:
                element.children.append(found["text"])
    if end < len(html):
        here.children.append(unescape(html[end:]))
    return root
