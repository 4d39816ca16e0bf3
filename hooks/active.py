"""Files that a browser would run at their own address: the build writes a security policy into pages alone (`csp`).

HTML and XML are pages, whatever they hold; a drawing in SVG is one too, and may hold scripts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from hooks.errors import GuideError

if TYPE_CHECKING:
    from pathlib import Path

PAGES = (
    *(".htm", ".html", ".shtml", ".xht", ".xhtml"),
    *(".atom", ".mathml", ".mml", ".rdf", ".rss", ".xml", ".xsd", ".xsl", ".xslt"),
)
# Other kinds: a browser shows these as text, as a picture, or saves them. Many not named here are XML by their type.
SHOWN = (
    *(".bin", ".css", ".csv", ".ipynb", ".jpg", ".js", ".json", ".keras", ".md", ".mjs", ".png", ".proto", ".py"),
    *(".sh", ".svg", ".toml", ".txt", ".woff2", ".yaml", ".yml"),
    *(".markdown", ".mdown", ".mkd", ".mkdn"),  # MkDocs makes pages of these: `nav` refuses them
)
PAGE = "a page of HTML or XML is published as it is: with no check, and no security policy"
CURE = "take it out"
# In any namespace; of HTML, every element.
_ELEMENTS = {"foreignobject", "handler", "script"}
_HTML = "http://www.w3.org/1999/xhtml"


def is_page(name: str) -> bool:
    """Tell whether a browser shows a file of this name as a page, whatever it holds."""
    return name.lower().endswith(PAGES)


def wrong(file: Path) -> GuideError | None:
    """Return the error for a file below `docs/` that a browser would run as it is; None for all others."""
    if is_page(file.name):
        return GuideError(file, 0, PAGE, "write it in Markdown")
    if file.suffix.lower() not in SHOWN:
        cause = f"a file of the kind '{file.suffix}' is not published: browsers may run some kinds as pages"
        return GuideError(
            file, 0, cause, "save it as another kind, or add the kind to SHOWN in hooks/active.py if none does"
        )
    found = in_drawing(file.read_bytes()) if file.suffix.lower() == ".svg" else None
    return found and GuideError(file, found[0], found[1], CURE)


def in_drawing(svg: bytes) -> tuple[int, str] | None:
    """Return what a browser could run of a drawing, the first: its line, from 1, and the cause; None for nothing.

    Also for one that is no XML: a browser runs what stands before the mistake.
    """
    found: list[tuple[int, str]] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def note(what: str) -> None:
        found.append((parser.CurrentLineNumber, f"a drawing is published with no security policy, and holds {what}"))

    def start(name: str, attributes: dict[str, str]) -> None:
        space, _, tag = name.rpartition(" ")
        if tag.lower() in _ELEMENTS or space == _HTML:
            note(f"the element `{tag}`")
        for key, value in attributes.items():
            word = key.rpartition(" ")[2]
            if word.lower().startswith("on"):
                note(f"the attribute `{word}`")
            elif "javascript:" in re.sub(r"[\0-\x20]", "", value).lower():
                note(f"`javascript:` in the attribute `{word}`")

    def instruct(target: str, _: str) -> None:
        if target == "xml-stylesheet":  # it may make any page of it
            note("a style sheet's instruction")

    parser.StartElementHandler, parser.ProcessingInstructionHandler = start, instruct
    parser.EntityDeclHandler = lambda *_: note("an entity, which stands for anything")
    try:
        parser.Parse(svg, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: its encoding
        found.append((getattr(error, "lineno", 1), f"a drawing that is no XML ({error})"))
    return found[0] if found else None
