"""Other names under which search finds a page: `search: {aliases: [...]}` in its front matter.

They go into the search index with the page; `docs/assets/search.js` compares them with what a reader types. How a
name is spelt does not matter there: `Multi worker`, `multi-worker` and `multiworker` are one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks import front, settings
from hooks.errors import GuideError

if TYPE_CHECKING:
    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

INDEX = "search/search_index.json"
_PATH = ("search", "aliases")
_written: dict[str, tuple[str, Any, str]] = {}  # for a page its address, its aliases and its source
_found: dict[str, list[str]] = {}


def spelt(name: str) -> str:
    """Return what all spellings of a name have in common: its letters and digits."""
    return re.sub(r"[\W_]", "", name).lower()


def checked(aliases: Any, file: str, source: str, owners: dict[str, str]) -> list[str]:
    """Return the aliases of a page as a list, once each is known to lead to this page alone.

    Args:
        aliases: what the front matter says.
        file: the page, for messages.
        source: the page as its author wrote it.
        owners: for each spelling the page that has it; this page's are added.

    Raises:
        GuideError: they are no list of names, or another page has one of them.
    """
    if not isinstance(aliases, list) or not all(isinstance(name, str) and spelt(name) for name in aliases):
        cause = "the aliases for search are no list of names"
        raise GuideError(
            file, front.line_of(source, file, *_PATH), cause, "write `search: {aliases: [MWMS, multi worker]}`"
        )
    for name in aliases:
        owner = owners.setdefault(spelt(name), file)
        if owner != file:
            cause = f"the alias {name!r} for search also belongs to {owner}"
            raise GuideError(file, front.line_of(source, file, *_PATH, name), cause, "leave it to one of the two pages")
    return aliases


def add(index: str, aliases: dict[str, list[str]]) -> str:
    """Return the search index with the aliases at the entries of their pages.

    Args:
        index: the index as JSON.
        aliases: for the address of a page its aliases.
    """
    content = json.loads(index)
    for entry in content["docs"]:
        if names := aliases.get(entry["location"]):
            entry["aliases"] = names
    return json.dumps(content, separators=(",", ":"))


def on_pre_build(config: MkDocsConfig) -> None:
    """Forget the build before this one."""
    _written.clear()
    _found.clear()


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> None:
    """Note the aliases of a page instead of those that it had before."""
    search = page.meta.get("search") or {}
    file = settings.name_of(page, config)
    _written.pop(file, None)
    if "aliases" in search:
        _written[file] = (page.url, search["aliases"], page.file.content_string)


def on_env(env: Environment, **_: Any) -> None:
    """Check the aliases of all pages: in a preview, one may have moved between two pages that were edited at once."""
    owners: dict[str, str] = {}
    _found.clear()
    for file, (url, aliases, source) in _written.items():
        _found[url] = checked(aliases, file, source, owners)


def on_post_build(config: MkDocsConfig) -> None:
    """Add them to the index, which the search plugin has written."""
    file = Path(config.site_dir) / INDEX
    if _found and file.is_file():
        file.write_text(add(file.read_text("utf8"), _found), "utf8")
