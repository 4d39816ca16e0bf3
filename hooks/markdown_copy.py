"""A page as Markdown, for programs that read: what it shows, with outputs and values, without answers to questions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PreformattedString, Tag

if TYPE_CHECKING:
    from collections.abc import Iterable

# What only a browser needs, and the answers.
LEFT_OUT = (
    "script, style, button, input, nav, .headerlink, .term-notes, .guide-notebook, .quiz-why, .quiz-hint, "
    ".linenos, .home-picture, .md-source-file"
)
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
BLOCKS = {
    "address", "article", "aside", "blockquote", "caption", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "legend", "li", "ol", "p", "pre", "section",
    "summary", "table", "ul",
}  # fmt: skip
LETTERS = "ABCDEF"


def convert(html: str, address: str) -> str:
    """Return a page's content as Markdown.

    Args:
        html: the content, as the site shows it.
        address: of the page, which links are made absolute with.
    """
    soup = BeautifulSoup(html, "html.parser")
    for element in soup.select(LEFT_OUT):
        element.decompose()
    text = "\n\n".join(_blocks(soup, address))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _blocks(parent: Tag, address: str) -> list[str]:
    """Return the blocks in an element; text between them is a paragraph."""
    found: list[str] = []
    line: list[str] = []

    def close() -> None:
        text = " ".join("".join(line).split())
        line.clear()
        if text:
            found.append(text)

    for child in parent.children:
        if isinstance(child, Tag) and (child.name in BLOCKS or child.find(list(BLOCKS))):
            close()
            found += [text for text in _block(child, address) if text.strip()]
        else:
            line.append(_inline([child], address))
    close()
    return found


def _block(element: Tag, address: str) -> list[str]:
    name, classes = element.name, element.get_attribute_list("class")
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
        return [_question(element, address)]
    if name == "summary" or "admonition-title" in classes:
        return [f"**{_line(element, address)}**"]
    if name == "dt":
        return [_line(element, address)]
    return _blocks(element, address)


def _inline(nodes: Iterable[object], address: str) -> str:
    """Return running text."""
    out = []
    for node in nodes:
        if isinstance(node, PreformattedString):
            continue  # a comment
        if isinstance(node, NavigableString):
            out.append(str(node))
        elif isinstance(node, Tag):
            out.append(_span(node, address))
    return "".join(out)


def _span(element: Tag, address: str) -> str:
    if element.name == "code":
        text = element.get_text()
        ticks = "``" if "`" in text else "`"
        return f"{ticks}{text}{ticks}"
    if element.name == "br":
        return " "
    if element.name == "svg":
        label = element.get("aria-label")
        return f"[Figure: {label}]" if label else ""
    if element.name == "img":
        return f"![{element.get('alt', '')}]({urljoin(address, str(element.get('src', '')))})"
    text = _inline(element.children, address)
    if element.name == "a" and element.get("href") and text.strip():
        return f"[{text}]({urljoin(address, str(element['href']))})"
    mark = MARKS.get(element.name, "") if text.strip() else ""
    return f"{mark}{text}{mark}"


def _line(element: Tag, address: str) -> str:
    return " ".join(_inline(element.children, address).split())


def _code(element: Tag) -> str:
    box = element.find_parent(class_=re.compile(r"language-"))
    names = [name for one in (element, box) if one is not None for name in one.get_attribute_list("class") if name]
    language = next((name.removeprefix("language-") for name in names if name.startswith("language-")), "text")
    text = element.get_text().strip("\n")
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{language}\n{text}\n{ticks}"


def _list(element: Tag, address: str) -> str:
    lines = []
    for number, item in enumerate(element.find_all("li", recursive=False), start=1):
        mark = f"{number}. " if element.name == "ol" else "- "
        text = "\n\n".join(_blocks(item, address))
        lines.append(mark + text.replace("\n", "\n" + " " * len(mark)))
    return re.sub(r"(?m)^\s+$", "", "\n".join(lines))


def _table(element: Tag, address: str) -> list[str]:
    caption = element.find("caption")
    rows = [
        [_line(cell, address).replace("|", "\\|") for cell in row.find_all(["th", "td"])]
        for row in element.find_all("tr")
    ]
    rows = [row for row in rows if row]
    if not rows:
        return []
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    shown = "\n".join(f"| {' | '.join(row)} |" for row in lines)
    return [*([_line(caption, address)] if caption else []), shown]


def _question(element: Tag, address: str) -> str:
    asked = element.find(class_="quiz-question")
    options = element.select("ol.quiz-options > li")
    lines = [f"**Question.** {_line(asked, address)}" if asked else "**Question.**", ""]
    lines += [f"- ({letter}) {_line(option, address)}" for letter, option in zip(LETTERS, options, strict=False)]
    return "\n".join(lines)
