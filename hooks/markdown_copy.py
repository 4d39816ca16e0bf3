"""A page as Markdown, for programs that read: what it shows, with outputs and values, without answers to questions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from hooks import bank, tree
from hooks.cache import remember
from hooks.needs import ATTRIBUTE
from hooks.used import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hooks.tree import Element

# What only a browser needs, and the answers: elements and classes.
LEFT_OUT = {"script", "style", "button", "input", "nav"}
LEFT_OUT_CLASSES = {
    "headerlink", "term-notes", "guide-notebook", "quiz-why", "quiz-hint", "linenos", "home-picture", "md-source-file",
}  # fmt: skip
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
BLOCKS = {
    "address", "article", "aside", "blockquote", "caption", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "legend", "li", "ol", "p", "pre", "section",
    "summary", "table", "ul",
}  # fmt: skip


def convert(html: str, address: str) -> str:
    """Return a page's content as Markdown.

    Args:
        html: the content, as the site shows it.
        address: of the page, which links are made absolute with.
    """

    def make() -> str:
        page = tree.read(html)
        _leave_out(page)
        return "\n\n".join(_blocks(page, address)).strip() + "\n"

    return str(remember("copies", [html, address], make))


def _leave_out(parent: Element) -> None:
    """Take out of an element what no program reads."""
    parent.children = [
        child
        for child in parent.children
        if isinstance(child, str) or not (child.name in LEFT_OUT or LEFT_OUT_CLASSES & set(child.classes))
    ]
    for child in parent.elements:
        _leave_out(child)


def _blocks(parent: Element, address: str) -> list[str]:
    """Return the blocks in an element; text between them is a paragraph."""
    found: list[str] = []
    line: list[str] = []

    def close() -> None:
        text = " ".join("".join(line).split())
        line.clear()
        if text:
            found.append(text)

    for child in parent.children:
        if not isinstance(child, str) and (child.name in BLOCKS or any(child.named(BLOCKS))):
            close()
            found += [text for text in _block(child, address) if text.strip()]
        else:
            line.append(_inline([child], address))
    close()
    return found


def _block(element: Element, address: str) -> list[str]:
    name, classes = element.name, element.classes
    if re.fullmatch(r"h[1-6]", name):
        return [f"{'#' * int(name[1])} {_line(element, address)}"]
    if name == "pre":
        return [_code(element)]
    if name in ("ul", "ol"):
        return [_list(element, address)]
    if name == "table":
        return _table(element, address)
    if name == "hr":
        return ["---"]
    if name == "fieldset" and "quiz" in classes:
        return _question(element, address)
    if name == "summary" or "admonition-title" in classes:
        return [f"**{_line(element, address)}**"]
    if name == "dt":
        return [_line(element, address)]
    return _blocks(element, address)


def _inline(nodes: Iterable[Element | str], address: str) -> str:
    """Return running text."""
    return "".join(node if isinstance(node, str) else _span(node, address) for node in nodes)


def _span(element: Element, address: str) -> str:
    if element.name == "code":
        text = element.text
        ticks = "``" if "`" in text else "`"
        pad = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{ticks}{pad}{text}{pad}{ticks}"
    if element.name == "br":
        return " "
    if element.name == "svg":
        label = element.attributes.get("aria-label")
        return f"[Figure: {label}]" if label else ""
    if element.name == "img":
        return f"![{element.attributes.get('alt', '')}]({urljoin(address, element.attributes.get('src', ''))})"
    text = _inline(element.children, address)
    if element.name == "a" and element.attributes.get("href") and text.strip():
        return f"[{text}]({urljoin(address, element.attributes['href'])})"
    mark = MARKS.get(element.name, "") if text.strip() else ""
    return f"{mark}{text}{mark}"


def _line(element: Element, address: str) -> str:
    return " ".join(_inline(element.children, address).split())


def _code(element: Element) -> str:
    box = next((one for one in element.parents() if any("language-" in name for name in one.classes)), None)
    names = [*element.classes, *(box.classes if box else [])]
    language = next((name.removeprefix("language-") for name in names if name.startswith("language-")), "text")
    needs = box.attributes.get(ATTRIBUTE, "") if box else ""
    text = (f"{needs}\n\n" if needs else "") + element.text.strip("\n")
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{language}\n{text}\n{ticks}"


def _list(element: Element, address: str) -> str:
    lines = []
    items = [child for child in element.elements if child.name == "li"]
    for number, item in enumerate(items, start=1):
        mark = f"{number}. " if element.name == "ol" else "- "
        text = "\n\n".join(_blocks(item, address))
        lines.append(mark + text.replace("\n", "\n" + " " * len(mark)))
    return re.sub(r"(?m)^[ \t]+$", "", "\n".join(lines))


def _table(element: Element, address: str) -> list[str]:
    caption = next(element.named({"caption"}), None)
    rows = [
        [_line(cell, address).replace("|", "\\|") for cell in row.named({"th", "td"})] for row in element.named({"tr"})
    ]
    rows = [row for row in rows if row]
    if not rows:
        return []
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    shown = "\n".join(f"| {' | '.join(row)} |" for row in lines)
    return [*([_line(caption, address)] if caption else []), shown]


def _question(element: Element, address: str) -> list[str]:
    asked = next(element.of_class("quiz-question"), None)
    options = [item for listing in element.of_class("quiz-options") for item in listing.elements if item.name == "li"]
    said = [f"- ({letter}) {_line(option, address)}" for letter, option in zip(LETTERS, options, strict=False)]
    stem = [text for part in bank.stem(element) for text in _block(part, address) if text.strip()]
    return [f"**Question.** {_line(asked, address)}" if asked else "**Question.**", *stem, "\n".join(said)]
