"""The pages as MkDocs renders them, outside of a build: for the tests, which run what a reader sees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import markdown
from mkdocs.config import load_config
from mkdocs.structure.files import get_files, set_exclusions
from mkdocs.structure.nav import Link, Section, get_navigation

from hooks import errors, leftovers, place, settings
from hooks.blocks import Block, blocks_of
from hooks.errors import GuideError
from hooks.reference import near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure import StructureItem
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

# Pages outside `docs/` that people read on the repository's site, where snippets are not expanded.
DOCS = "docs"
OUTSIDE = ("README.md", "CONTRIBUTING.md")
ADDRESS = re.compile(r"[a-z0-9]+(?:[-./][a-z0-9]+)*")


def paths(root: Path = errors.ROOT) -> list[Path]:
    """Return every Markdown file of the project that people read, as absolute paths."""
    return sorted((root / DOCS).rglob("*.md")) + [root / name for name in OUTSIDE if (root / name).is_file()]


def is_page(path: Path, root: Path = errors.ROOT) -> bool:
    """Tell whether a file is one of those that `paths` returns."""
    return path.suffix == ".md" and (path.is_relative_to(root / DOCS) or path in [root / name for name in OUTSIDE])


def not_in_nav(name: str) -> GuideError:
    """Return the error for a page that no reader can find."""
    return GuideError(name, 0, "this page is not in nav", "add it to nav in mkdocs.yml")


def wrong_nav(nav: Navigation, files: Files, docs: str) -> list[GuideError]:
    """Return an error for each entry of `nav` that leads nowhere or stands twice, and each page that it leaves out.

    Args:
        nav: as MkDocs read it: what it does not know is a link there.
        files: of the site.
        docs: the folder of the pages, from the project.
    """
    known = [file.src_uri for file in files.documentation_pages()]
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
    return [*wrong, *(not_in_nav(f"{docs}/{path}") for path in known if path not in found)]


def _entries(items: Iterable[StructureItem]) -> Iterator[StructureItem]:
    for item in items:
        yield item
        yield from _entries(getattr(item, "children", None) or [])


def wrong_address(name: str, path: str) -> GuideError | None:
    """Return the error for a page whose path, below `docs/`, is no plain address; None for one that is."""
    if ADDRESS.fullmatch(path):
        return None
    cure = "name it with small letters, digits and hyphens"
    return GuideError(name, 0, "the name of this page becomes its address, and is none", cure)


class Pages:
    """Renders pages one at a time with the configuration, plugins and hooks of the site.

    Args:
        root: the project: the folder of `mkdocs.yml`.
    """

    def __init__(self, root: Path = errors.ROOT) -> None:
        """Load the configuration and the navigation, as a build does."""
        self.root = root
        config = load_config(str(root / "mkdocs.yml"))
        config.plugins.on_startup(command="build", dirty=False)
        self.config: MkDocsConfig = config.plugins.on_config(config) or config
        files = get_files(self.config)
        self.files: Files = self.config.plugins.on_files(files, config=self.config) or files
        set_exclusions(self.files, self.config)
        self.in_nav = {page.file.src_uri for page in get_navigation(self.files, self.config).pages}

    def blocks(self, path: Path) -> list[Block]:
        """Return the blocks of one page.

        Raises:
            GuideError: for anything that would leave a block out or unchecked.
        """
        file = path.relative_to(self.root).as_posix()
        source = errors.read(path)
        if not path.is_relative_to(self.config.docs_dir):
            return outside(self.config, path, file)
        return blocks_of(html=self._inside(path, file), source=source, file=file)

    def _inside(self, path: Path, name: str) -> str:
        """Render a page of the site with the events of a build around it."""
        config, files = self.config, self.files
        file = files.get_file_from_path(path.relative_to(config.docs_dir).as_posix())
        if wrong := wrong_address(name, path.relative_to(config.docs_dir).as_posix()):
            raise wrong
        if file is None or file.page is None:
            raise GuideError(name, 0, "MkDocs does not see this page", "take it out of exclude_docs and into nav")
        if file.src_uri not in self.in_nav:
            raise not_in_nav(name)
        return render(file.page, config, files)


def render(page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the content of a page, rendered with the events of a build around it.

    Args:
        page: of the navigation.
        config: with its plugins.
        files: of the site, to which the page may link.
    """
    plugins = config.plugins
    page = plugins.on_pre_page(page, config=config, files=files) or page
    page.read_source(config)
    page.markdown = plugins.on_page_markdown(page.markdown or "", page=page, config=config, files=files)
    page.render(config, files)
    return plugins.on_page_content(page.content or "", page=page, config=config, files=files) or ""


def outside(config: MkDocsConfig, path: Path, name: str) -> list[Block]:
    """Return the blocks of a page outside `docs/`: the same Markdown, without snippets, which nothing expands there.

    Args:
        config: the site's configuration.
        path: the page.
        name: its path in the project, for messages.

    Raises:
        GuideError: for anything that would leave a block out or unchecked.
    """
    source = errors.read(path)
    with place.rendering(name, source):  # around the constructor too: extensions note there which page begins
        converter = markdown.Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)
        converter.preprocessors.deregister("snippet", strict=False)
        html = converter.convert(source)
    leftovers.check(html, source, name)
    return blocks_of(html=html, source=source, file=name)
