"""What a page is rendered to, kept under `.cache/` from one build or run to the next until what it comes from changes.

It comes from the page, the programs, records and files that it names, the glossary, the data beside the pages, which
pages and programs there are, what the other locks hold, mkdocs.yml, the theme's own files, the lock file and the
modules that render. `FRESH=1`, `CI=true`: nothing is read from there.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.toc import AnchorLink, get_toc

from hooks import curriculum, depends, errors, glossary, locks, loud, programs, reference, results, used
from hooks.blocks import Block
from hooks.cache import digests, remember

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


class _WarnedError(Exception):
    """Rendering logged a warning, which the next build must log again."""


def blocks(path: Path, root: Path, make: Callable[[], list[Block]]) -> list[Block]:
    """Return the blocks of a page.

    Args:
        path: the page.
        root: the project.
        make: renders the page; what it raises is not kept.
    """
    if not results.reads():
        return make()
    inputs = _inputs(path, errors.read(path), root)
    return [Block(**block) for block in remember("blocks", inputs, lambda: [asdict(block) for block in make()])]


def attach(page: Page, file: str, root: Path) -> None:
    """Have `page.render`, which MkDocs calls next, take what was kept: MkDocs has no event instead of rendering.

    Args:
        page: whose source has been read.
        file: its path in the project, under which `used.PAGES` notes what it uses.
        root: the project.
    """
    if results.reads():
        page.render = partial(_render, page, file, root)  # type: ignore[method-assign]


def forget() -> None:
    """Start a build, or a rendering in a preview: what all pages depend on may have changed."""
    _whole.cache_clear()
    _files.cache_clear()


def _render(page: Page, file: str, root: Path, config: MkDocsConfig, files: Files) -> None:
    def make() -> dict[str, Any]:
        before = loud.logged()
        type(page).render(page, config, files)
        if loud.logged() > before:
            raise _WarnedError
        return {
            "content": page.content,
            "toc": _tokens(page.toc),
            "title": page._title_from_render,
            "anchors": sorted(page.present_anchor_ids or ()),
            "links": {to.src_uri: anchors for to, anchors in (page.links_to_anchors or {}).items()},
            "used": asdict(used.PAGES[file]),
        }

    addresses = f"directory URLs: {config.use_directory_urls}"  # `--no-directory-urls` writes other links
    inputs = [*_inputs(root / file, page.file.content_string, root), page.markdown or "", addresses]
    try:
        known = remember("pages", inputs, make)
    except _WarnedError:
        return
    page.content = known["content"]
    page.toc = get_toc(known["toc"])
    page._title_from_render = known["title"]
    page.present_anchor_ids = set(known["anchors"])
    linked = {files.get_file_from_path(path): anchors for path, anchors in known["links"].items()}
    page.links_to_anchors = {to: anchors for to, anchors in linked.items() if to}
    used.PAGES[file] = used.Used.of(known["used"])


def _tokens(links: Iterable[AnchorLink]) -> list[Any]:
    """Return a table of contents as Python-Markdown gave it to MkDocs."""
    return [
        {"name": link.title, "id": link.id, "level": link.level, "children": _tokens(link.children)} for link in links
    ]


def shared(root: Path) -> list[Path]:
    """Return the files that every page may be made from, besides the modules and the lock file."""
    docs, theme, others = root / "docs", root / "hooks" / "theme", root / locks.FOLDER.name
    return [
        root / "mkdocs.yml",
        root / "pyproject.toml",
        root / glossary.PAGE,
        root / curriculum.FILE,
        *docs.rglob("*.json"),
        *theme.rglob("*"),
        *(file for file in others.rglob("*") if file.suffix in (".json", ".txt")),
    ]


def _inputs(path: Path, source: str, root: Path) -> list[str]:
    """Return everything that a page depends on besides the modules and the lock file, which `remember` knows."""
    return [_whole(root), path.relative_to(root).as_posix(), source, *digests(depends.files(source, _files()))]


@lru_cache(maxsize=1)
def _files() -> frozenset[str]:
    return frozenset(programs.files())


@lru_cache(maxsize=1)
def _whole(root: Path) -> str:
    """Return the digest of what every page depends on."""
    paths = [path for path in (root / "docs").rglob("*") if not programs.passing(path.name)]
    names = [path.relative_to(root).as_posix() for path in paths]
    # The packages of a lock are those for this machine; a preview goes on without records. `remember` knows Python.
    here = f"{sys.platform} {platform.machine()} {reference.preview()}"
    # The lock file anew: `remember` knows it as it was when a long preview started.
    listed = [*digests([*shared(root), root / "uv.lock"], root), *sorted(names), *sorted(_files()), here]
    return sha256("\0".join(listed).encode()).hexdigest()
