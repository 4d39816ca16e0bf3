"""Files that a browser would run at their own address: the build writes a security policy into pages alone (`csp`).

HTML and XML are pages, whatever they hold, so kinds are named that are none; a drawing in SVG may hold scripts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from hooks.errors import GuideError

if TYPE_CHECKING:
    from pathlib import Path

# Kinds that a browser shows as text or as a picture, or saves. Hosts serve many others as XML, in which scripts run.
SHOWN = (
    *(".bin", ".css", ".csv", ".ipynb", ".jpg", ".js", ".json", ".keras", ".mjs", ".png", ".proto", ".py"),
    *(".sh", ".svg", ".toml", ".txt", ".woff2", ".yaml", ".yml"),
)
PAGE = "a file of this kind is published as it is, and a browser may run it as a page, with no security policy"
CURE = "take it out"
LINK = "a symbolic link: what it leads to would be published, wherever that lies"
# In any namespace; of HTML, every element.
_ELEMENTS = {"foreignobject", "handler", "script"}
_HTML = "http://www.w3.org/1999/xhtml"


def is_page(name: str) -> bool:
    """Tell whether a browser may run a file of this name as a page, whatever it holds."""
    return not name.lower().endswith(SHOWN)


def wrong(file: Path, top: Path) -> GuideError | None:
    """Return the error for a file that is published as it is, and is a link or what a browser would run; else None.

    Args:
        file: below `top`.
        top: the folder of all pages; no folder between the two may be a link either, since MkDocs follows it.
    """
    between = [folder for folder in file.parents if top in folder.parents]
    if link := next((path for path in [file, *between] if path.is_symlink()), None):
        return GuideError(link, 0, LINK, "put what it leads to in its place")
    if is_page(file.name):
        cure = "write a page in Markdown; a kind that no browser runs belongs in SHOWN in hooks/active.py"
        return GuideError(file, 0, PAGE, cure)
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
