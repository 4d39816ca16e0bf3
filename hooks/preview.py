"""Show an edit in the preview at once: only the pages that it can change are rendered again.

MkDocs renders every page after every change. Here a change of a page, a program, a record or a file beside it renders
the pages that name it. Pages that gather from all others (totals, self-check, errors, sources) follow when a browser
asks for them. Any other change, such as one of the glossary, whose definitions stand on every page, or of a page's
title, which stands in the menus of all, builds the whole site; search is as new as the last such build.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from mkdocs.commands.build import get_context
from mkdocs.exceptions import PluginError
from mkdocs.utils import write_file

from hooks import depends, errors, glossary, kept, loud, pages, programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

# What stands in the source of a page that gathers from others.
GATHERS = "<!-- guide:"
IGNORED = {"node_modules", "__pycache__", ".ipynb_checkpoints"}


@dataclass(frozen=True)
class Built:
    """A finished build, which goes on living between edits.

    Attributes:
        config: with its plugins, whose events render a page.
        files: of the site.
        nav: the menus.
        env: the templates.
        write: writes what stands beside the pages.
    """

    config: MkDocsConfig
    files: Files
    nav: Navigation
    env: Environment
    write: Callable[[MkDocsConfig], None]


_last: Built | None = None


def keep(built: Built) -> None:
    """Keep a build that has come to its end."""
    global _last  # noqa: PLW0603 - the events that lead here and the preview's own edits share nothing else
    _last = built


def attach(server: LiveReloadServer, config: MkDocsConfig) -> None:
    """Put a preview between the server and the builds of the whole site.

    Args:
        server: which calls `server.builder` after a change.
        config: of the first build, which is finished.
    """
    root = Path(config.config_file_path).absolute().parent
    preview = Preview(root, [Path(path) for path in (config.docs_dir, config.config_file_path, *config.watch)], server)
    app = server.get_app()

    def fresh(environ: dict[str, Any], start_response: Any) -> Any:
        preview.freshen(environ["PATH_INFO"].removeprefix(server.mount_path).removesuffix("index.html"))
        return app(environ, start_response) if app else []

    server.set_app(fresh)
    server.builder = preview.rebuild


class Preview:
    """What has changed since the last build, and what has to be rendered for it.

    Args:
        root: the project.
        watched: the files and folders that the site is made from.
        server: whose `builder` builds the whole site.
    """

    def __init__(self, root: Path, watched: list[Path], server: LiveReloadServer) -> None:
        """Note how the sources look after the first build."""
        self.root, self.watched, self.whole = root, watched, server.builder
        self.lock = RLock()
        self.seen = self._sources()
        self.stale = False

    def rebuild(self) -> None:
        """Bring the site up to date after a change; a mistake is logged, and leaves the change to the next call."""
        with self.lock:
            sources = self._sources()
            changed = {path for path, _ in sources.items() ^ self.seen.items()}
            try:
                touched = self._touched(changed)
                enough = touched is not None and self._render(touched)
            except PluginError as mistake:  # the pages as they were go on being served
                loud.LOGGER.error(str(mistake))
                return
            if not enough:
                self.whole()
                self.stale = False
            elif touched:
                self.stale = True
            self.seen = sources

    def freshen(self, url: str) -> None:
        """Render the pages that gather from others, if one of them is asked for and they are out of date.

        Args:
            url: the address that is asked for, below the site's root.
        """
        if not self.stale or not _last:
            return
        with self.lock:
            gathering = [page for page in self._pages() if GATHERS in (page.markdown or "")]
            if self.stale and url in {page.url for page in gathering}:
                try:
                    self._render(gathering)
                    self.stale = False
                except PluginError as mistake:
                    loud.LOGGER.error(str(mistake))

    def _touched(self, changed: Iterable[Path]) -> list[Page] | None:
        """Return the pages that a change of files can alter; None where that may be any."""
        sources = {Path(page.file.abs_src_path or ""): page for page in self._pages()}
        found: dict[Path, Page] = {}
        written = [path for path in sources if path.suffix == ".md" and path.is_file()]
        known = frozenset(programs.files())
        shown = {path: depends.files(errors.read(path), known) for path in written}
        for path in changed:
            name = path.relative_to(self.root).as_posix()
            if path in shown and path.is_file() and name != glossary.PAGE:
                found[path] = sources[path]
            elif path.is_relative_to(programs.SNIPPETS):
                found |= {page: sources[page] for page, files in shown.items() if path in files}
            else:
                return None
        return list(found.values())

    def _render(self, touched: list[Page]) -> bool:
        """Render pages into the last build; say whether that was enough, which it is not where a title has changed."""
        if not _last:
            return False
        config, files = _last.config, _last.files
        titles = {page.url: page.title for page in touched}
        kept.forget()
        for page in touched:
            page.content = pages.render(page, config, files)
        if titles != {page.url: page.title for page in touched}:
            return False
        env = config.plugins.on_env(_last.env, config=config, files=files) or _last.env
        for page in touched:
            _write(page, _last, env)
            page.validate_anchor_links(files=files, log_level=config.validation.links.anchors)
        if touched:
            _last.write(config)
        return True

    def _pages(self) -> list[Page]:
        return [file.page for file in _last.files.documentation_pages() if file.page] if _last else []

    def _sources(self) -> dict[Path, int]:
        """Return when each source was last written."""
        found = {}
        for top in self.watched:
            files = [top] if top.is_file() else []
            for folder, folders, names in os.walk(top):
                folders[:] = [name for name in folders if name not in IGNORED]
                files += [Path(folder, name) for name in names if not programs.passing(name)]
            for path in files:
                with suppress(FileNotFoundError):  # gone since it was listed
                    found[path] = path.stat().st_mtime_ns
        return found


def _write(page: Page, built: Built, env: Environment) -> None:
    """Put a rendered page into its template and into the site, with the events of a build around it."""
    config, nav = built.config, built.nav
    page.active = True  # which the menus show
    try:
        context = get_context(nav, built.files.documentation_pages(), config, page)
        template = env.get_template(page.meta.get("template", "main.html"))
        context = config.plugins.on_page_context(context, page=page, config=config, nav=nav)
        output = config.plugins.on_post_page(template.render(context), page=page, config=config)
        write_file(output.encode("utf-8", errors="xmlcharrefreplace"), page.file.abs_dest_path)
    finally:
        page.active = False
