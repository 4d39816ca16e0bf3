"""Links of the pages outside the site, such as the README, which readers follow on the repository's site."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import markdown

from hooks import errors, links, pages, redirects
from hooks.errors import GuideError, line_in

if TYPE_CHECKING:
    from pathlib import Path

PAGES = (*pages.OUTSIDE, "SECURITY.md", "LICENSES.md")
# What the repository's site reads too; it makes the ids of headings in the same way.
EXTENSIONS = ("attr_list", "fenced_code", "tables", "toc")


def check(root: Path, site: Path) -> list[GuideError]:
    """Return an error for every link to a file or a heading that is not there.

    Args:
        root: the project.
        site: the built site; headings of its pages have their ids there.
    """
    found = []
    for page in (root / name for name in PAGES if (root / name).is_file()):
        text, held = errors.read(page), _held(page)
        for link in held.links + held.resources:
            if wrong := _wrong(link, page, root, site):
                found.append(GuideError(page.name, line_in(text, f"({link})", link), *wrong))
    return found


def _wrong(link: str, page: Path, root: Path, site: Path) -> tuple[str, str] | None:
    """Return what is wrong of a link and how to mend it."""
    if not links.readable(link):
        return f"an address that cannot be read: {link}", "correct the address"
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = page.parent / unquote(parts.path) if parts.path else page
    if not target.exists():
        return f"a dead link: {link}", "correct it, or write the file"
    if parts.fragment and target.suffix == ".md" and unquote(parts.fragment) not in _ids(target, root, site):
        return f"a dead anchor: {link}", "link to a heading that is there"
    return None


def _ids(target: Path, root: Path, site: Path) -> dict[str, int]:
    """Return the ids of a page; one below `docs/` has those of the built site."""
    docs, target = (root / pages.DOCS).resolve(), target.resolve()
    if not target.is_relative_to(docs):
        return _held(target).ids
    name = target.relative_to(docs)
    built = site / (name.with_name("index.html") if name.stem == "index" else name.with_suffix("") / "index.html")
    # On GitHub nothing leads on from an old anchor.
    return links.held(redirects.OLD.sub("", built.read_text("utf-8"))).ids if built.is_file() else {}


def _held(page: Path) -> links.Held:
    return links.held(markdown.markdown(errors.read(page), extensions=EXTENSIONS))
