"""Show an edit in the preview at once: only the pages that it can change are rendered again.

MkDocs renders every page after every change. Here a change of a page, a program, a record or a file beside it renders
the pages that name it. Pages that gather from all others (totals, self-check, errors, sources) follow when a browser
asks for them. Any other change, such as one of the glossary, whose definitions stand on every page, or of a page's
title, which stands in the menus of all, builds the whole site; search is as new as the last such build. The modules of
the hooks stay what they were at the start: MkDocs loads them once.
"""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from mkdocs.commands.build import get_context
from mkdocs.exceptions import Abort, MkDocsException, PluginError
from mkdocs.utils import write_file
from watchdog.observers.polling import PollingObserverVFS

from hooks import depends, errors, glossary, kept, loud, pages, programs, settings
from hooks.errors import GuideError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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


def refuse_taken_port(config: MkDocsConfig) -> None:
    """Stop before the first build where nobody could be served: MkDocs would notice after it, with a traceback.

    Raises:
        PluginError: the address of the preview is another's, or not to be had.
    """
    if _last:
        return
    host, port = config.dev_addr
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            trial.bind((host, port))
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        cure = f"name another port, `make serve PORT={port + 1 if port in range(1024, 65535) else 8000}`"
        message = f"the preview cannot use port {port} of {host} ({why}). Fix: {cure}."
        raise PluginError(message) from None


def pass_over_ignored(server: LiveReloadServer, config: MkDocsConfig) -> None:
    """Let the server look for changes in sources only.

    It looks at every watched file twice a second, and npm installs twenty times as many beside the programs as there
    are sources.

    Args:
        server: which does not run yet, and watches what MkDocs lets it watch before it asks the plugins.
        config: names what that may be.
    """
    watched = []
    for path in (config.docs_dir, config.config_file_path, *config.theme.dirs):
        with suppress(KeyError):  # not watched
            server.unwatch(path)
            watched.append(path)
    observer = PollingObserverVFS(os.stat, _listed, polling_interval=server.observer.timeout)
    server.observer = observer  # type: ignore[assignment]
    for path in watched:
        server.watch(path)


def _listed(folder: str | None) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return iter([entry for entry in entries if entry.name not in IGNORED])


def attach(server: LiveReloadServer, config: MkDocsConfig) -> None:
    """Put a preview between the server and the builds of the whole site.

    Args:
        server: which calls `server.builder` after a change.
        config: of the first build, which is finished.
    """
    watched = [Path(path).absolute() for path in (config.docs_dir, config.config_file_path, *config.watch)]
    preview = Preview(settings.root_of(config), watched, server)
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
        self.root, self.watched, self.whole, self.site = root, watched, server.builder, Path(server.root)
        self.lock = RLock()
        self.seen = self._sources()
        self.shown = self._shown()
        self.titles = self._titles()
        self.stale = self.failed = False

    def rebuild(self) -> None:
        """Bring the site up to date after a change; a mistake is logged, and leaves the change to the next call."""
        with self.lock:
            try:
                sources, shown = self._sources(), self._shown()
                changed = {path for path, _ in sources.items() ^ self.seen.items()}
                changed -= self._old_modules(changed, sources)
                touched = None if self.failed else self._touched(changed, shown)
                if touched is None or not self._render(touched):
                    self._build()
                    shown = self._shown()
                elif touched:
                    self.stale = True
            except Exception as mistake:
                # The pages as they were go on being served: where a rebuild raises, MkDocs lets every request wait.
                _log(mistake)
                return
            self.seen, self.shown = sources, shown

    def freshen(self, url: str) -> None:
        """Render the pages that gather from others, if one of them is asked for and they are out of date.

        Args:
            url: the address that is asked for, below the site's root.
        """
        with self.lock:  # a rebuild that goes on holds it, and may find that they are out of date
            if not self.stale or not _last:
                return
            gathering = [page for page in self._pages() if GATHERS in (page.markdown or "")]
            if url in {page.url for page in gathering}:
                try:
                    self._render(gathering)
                    self.stale = False
                except Exception as mistake:
                    _log(mistake)

    def _old_modules(self, changed: Iterable[Path], sources: Mapping[Path, int]) -> set[Path]:
        """Return the modules of the hooks that have changed, and say once for each that they are not loaded again."""
        modules = {path for path in changed if path.suffix == ".py" and path.is_relative_to(self.root / "hooks")}
        for path in sorted(modules):
            name = path.relative_to(self.root)
            cause = "this module has changed, and the preview goes on with the one that it started with"
            loud.LOGGER.warning(str(GuideError(name, 0, cause, "stop the preview and run `make serve` again")))
            self.seen.pop(path, None)
            self.seen |= {path: sources[path]} if path in sources else {}
        return modules

    def _build(self) -> None:
        """Build the whole site; where that fails, the pages are put back as they were, and the next build is whole."""
        before = self.site.with_name(f"{self.site.name}.before")
        self.site.rename(before)  # a build empties the folder before it looks at a page
        self.site.mkdir(mode=0o700)
        self.failed = True
        try:
            self.whole()
            self.titles = self._titles()
            self.stale = self.failed = False
        finally:
            shutil.rmtree(self.site if self.failed else before)
            if self.failed:
                before.rename(self.site)
                self.stale = False  # what a build knows of all pages is lost with it

    def _shown(self) -> dict[Path, set[Path]]:
        """Return for each page that is there the files under `snippets/` that it is made from."""
        known = frozenset(programs.files())
        written = [path for path in self._of_paths() if path.suffix == ".md" and path.is_file()]
        return {path: depends.files(errors.read(path), known) for path in written}

    def _touched(self, changed: Iterable[Path], shown: Mapping[Path, set[Path]]) -> list[Page] | None:
        """Return the pages that a change of files can alter; None where that may be any.

        Args:
            changed: the files.
            shown: what each page is made from now; a file that is gone is one of those that it was made from before.
        """
        sources = self._of_paths()
        found: dict[Path, Page] = {}
        for path in changed:
            name = path.relative_to(self.root).as_posix()
            if path in shown and name != glossary.PAGE:
                found[path] = sources[path]
            elif path.is_relative_to(programs.SNIPPETS):
                naming = [page for page in shown if path in shown[page] | self.shown.get(page, set())]
                found |= {page: sources[page] for page in naming}
            else:
                return None
        return list(found.values())

    def _render(self, touched: list[Page]) -> bool:
        """Render pages into the last build; say whether that was enough, which it is not where a title has changed."""
        if not _last:
            return False
        config, files = _last.config, _last.files
        kept.forget()
        for page in touched:
            page.content = pages.render(page, config, files)
        # A page that has a mistake has its new title already: what counts is what the menus show.
        if self.titles != self._titles():
            return False
        env = config.plugins.on_env(_last.env, config=config, files=files) or _last.env
        for page in touched:
            _write(page, _last, env)
            page.validate_anchor_links(files=files, log_level=config.validation.links.anchors)
        if touched:
            _last.write(config)
        return True

    def _titles(self) -> dict[str, str | None]:
        return {page.url: page.title for page in self._pages()}

    def _pages(self) -> list[Page]:
        return [file.page for file in _last.files.documentation_pages() if file.page] if _last else []

    def _of_paths(self) -> dict[Path, Page]:
        return {Path(page.file.abs_src_path or ""): page for page in self._pages()}

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


def _log(mistake: Exception) -> None:
    """Log what kept a page from being rendered: a contributor's mistake in its own words, any other with its place."""
    if isinstance(mistake, Abort):
        return  # MkDocs has logged what aborted a build
    if isinstance(mistake, MkDocsException):
        loud.LOGGER.error(str(mistake))
    else:
        loud.LOGGER.error("the preview cannot show this change", exc_info=mistake)


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
