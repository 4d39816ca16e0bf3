"""Links of the pages outside the site, such as the README, which readers follow on the repository's site."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import markdown

from hooks import errors, tree
from hooks.errors import GuideError, line_in

if TYPE_CHECKING:
    from pathlib import Path

PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSES.md")
# What the repository's site reads too; it makes the ids of headings in the same way.
EXTENSIONS = ("attr_list", "fenced_code", "tables", "toc")


def check(root: Path, site: Path) -> list[GuideError]:
    """Return an error for every link to a file or a heading that is not there.

    Args:
        root: the project.
        site: the built site; headings of its pages have their ids there.
    """
    return [wrong for name in PAGES if (root / name).is_file() for wrong in _of(root / name, root, site)]


def _of(page: Path, root: Path, site: Path) -> list[GuideError]:
    text, found = errors.read(page), []
    for element in _html(page).walk():
        link = element.attributes.get("href" if element.name == "a" else "src" if element.name == "img" else "", "")
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not link:
            continue
        target = (page.parent / unquote(parts.path)) if parts.path else page
        line = line_in(text, f"({link})", link)
        if not target.exists():
            found.append(GuideError(page.name, line, f"a dead link: {link}", "correct it, or write the file"))
        elif parts.fragment and target.suffix == ".md" and unquote(parts.fragment) not in _ids(target, root, site):
            found.append(GuideError(page.name, line, f"a dead anchor: {link}", "link to a heading that is there"))
    return found


def _ids(target: Path, root: Path, site: Path) -> set[str]:
    """Return the ids of a page; one below `docs/` has those of the built site."""
    docs, target = (root / "docs").resolve(), target.resolve()
    if target.is_relative_to(docs):
        name = target.relative_to(docs)
        built = site / (name.with_name("index.html") if name.stem == "index" else name.with_suffix("") / "index.html")
        held = tree.read(built.read_text("utf-8")) if built.is_file() else tree.read("")
    else:
        held = _html(target)
    return {element.attributes["id"] for element in held.walk() if "id" in element.attributes}


def _html(page: Path) -> tree.Element:
    return _read(errors.read(page))


@cache
def _read(text: str) -> tree.Element:
    return tree.read(markdown.markdown(text, extensions=EXTENSIONS))
