"""What `nav` of mkdocs.yml must name, each page once, and which names of pages are addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mkdocs.structure.nav import Link, Section

from hooks import links, settings
from hooks.errors import GuideError, near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mkdocs.structure import StructureItem
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation

ADDRESS = re.compile(r"[a-z0-9]+(?:[-./][a-z0-9]+)*")
# MkDocs takes more for pages, such as `.markdown`; what collects the blocks does not.
SUFFIXES = (".md", ".ipynb")


def not_in_nav(name: str) -> GuideError:
    """Return the error for a page that no reader can find."""
    return GuideError(name, 0, "this page is not in nav", "add it to nav in mkdocs.yml")


def check_addresses(entries: object) -> None:
    """Check that each address in `nav` can be taken apart, before MkDocs does.

    Args:
        entries: as mkdocs.yml has them: lists, tables and texts.

    Raises:
        GuideError: one cannot.
    """
    if isinstance(entries, str) and not links.readable(entries):
        cause = f"nav names {entries}, an address that cannot be read"
        raise settings.error(entries, cause, "correct the address")
    parts = entries.values() if isinstance(entries, dict) else entries if isinstance(entries, list) else ()
    for part in parts:
        check_addresses(part)


def wrong_nav(nav: Navigation, files: Files, docs: str) -> list[GuideError]:
    """Return the errors of `nav`: entries that lead nowhere or stand twice, pages left out, and two with one address.

    Args:
        nav: as MkDocs read it: what it does not know is a link there.
        files: of the site.
        docs: the folder of the pages, from the project.
    """
    shown = files.documentation_pages()
    known = [file.src_uri for file in shown]
    found = [page.file.src_uri for page in nav.pages]
    wrong = []
    for url in (item.url for item in _entries(nav.items) if isinstance(item, Link) and not urlsplit(item.url).scheme):
        cause = f"nav names {url}, and there is no page {docs}/{url.lstrip('/')}"
        wrong.append(settings.error(url, cause, f"write it, or correct the name ({near(url, known)})"))
    for path in sorted({path for path in found if path not in known}):
        cause = f"nav names {path}, which is no page of the site"
        wrong.append(GuideError(settings.FILE, settings.line(path, -1), cause, "name a page, and do not exclude it"))
    for empty in (item.title for item in _entries(nav.items) if isinstance(item, Section) and not item.children):
        wrong.append(settings.error(empty, f"the section {empty!r} of nav has no pages", "add one, or remove it"))
    for path in sorted({path for path in found if found.count(path) > 1}):
        wrong.append(
            GuideError(settings.FILE, settings.line(path, -1), f"nav names {path} twice", "remove one of the two")
        )
    one_of: dict[str, str] = {}
    for path, address in sorted((file.src_uri, file.dest_uri) for file in shown):
        if (other := one_of.setdefault(address, path)) != path:
            cause = f"{docs}/{other} and {docs}/{path} have one address, and readers get one of the two"
            wrong.append(GuideError(f"{docs}/{path}", 0, cause, "rename one, or remove it"))
    return [*wrong, *(not_in_nav(f"{docs}/{path}") for path in known if path not in found)]


def wrong_address(name: str, path: str) -> GuideError | None:
    """Return the error for a page whose path, below `docs/`, is no plain address, or whose blocks nothing collects."""
    if not path.endswith(SUFFIXES):
        return GuideError(name, 0, "nothing runs the blocks of a page with this suffix", "rename it, to `.md`")
    if ADDRESS.fullmatch(path):
        return None
    cure = "name it with small letters, digits and hyphens"
    return GuideError(name, 0, "the name of this page becomes its address, and is none", cure)


def _entries(items: Iterable[StructureItem]) -> Iterator[StructureItem]:
    for item in items:
        yield item
        yield from _entries(getattr(item, "children", None) or [])
