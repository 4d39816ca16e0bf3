"""Pages rendered one at a time: by the tests, which run what a reader sees, by a preview, and those outside `docs/`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import markdown
from mkdocs.config import load_config
from mkdocs.structure.files import get_files, set_exclusions
from mkdocs.structure.nav import get_navigation

from hooks import errors, leftovers, nav, place
from hooks.blocks import Block, blocks_of
from hooks.errors import GuideError

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

DOCS = "docs"
# Pages outside `docs/` that people read on the repository's site, where snippets are not expanded.
OUTSIDE = ("README.md", "CONTRIBUTING.md")


def paths(root: Path = errors.ROOT) -> list[Path]:
    """Return every Markdown file of the project that people read, as absolute paths."""
    return sorted((root / DOCS).rglob("*.md")) + [root / name for name in OUTSIDE if (root / name).is_file()]


def is_page(path: Path, root: Path = errors.ROOT) -> bool:
    """Tell whether a file is one of those that `paths` returns."""
    return path.suffix == ".md" and (path.is_relative_to(root / DOCS) or path in [root / name for name in OUTSIDE])


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
        if wrong := nav.wrong_address(name, path.relative_to(config.docs_dir).as_posix()):
            raise wrong
        if file is None or file.page is None:
            raise GuideError(name, 0, "MkDocs does not see this page", "take it out of exclude_docs and into nav")
        if file.src_uri not in self.in_nav:
            raise nav.not_in_nav(name)
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
