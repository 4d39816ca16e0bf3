"""What mkdocs.yml may say that MkDocs does not check: keys that stand twice, and `extra`, which the hooks read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks import errors, yaml_lines
from hooks.errors import GuideError, near

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

FILE = "mkdocs.yml"
EXTRA = ("generator", "redirects", "repository", "scope", "sources")
BRANCH = re.compile(r"[\w./-]+")
REPOSITORY = {"name": re.compile(r"[\w.-]+/[\w.-]+"), "branch": BRANCH, "pages_branch": BRANCH}


def line(value: object, at: int = 0) -> int:
    """Return the line of mkdocs.yml at which a key or a value stands, 0 for nowhere.

    Args:
        value: as it is written.
        at: which of several: 0 is the first, -1 the last.
    """
    file = errors.ROOT / FILE
    found = yaml_lines.lines_of(errors.read(file), value) if file.is_file() else []
    return found[at] if found else 0


def error(value: object, cause: str, cure: str) -> GuideError:
    """Return the error for a mistake at the line of mkdocs.yml that first has a value."""
    return GuideError(FILE, line(value), cause, cure)


def root_of(config: MkDocsConfig) -> Path:
    """Return the folder of mkdocs.yml, as an absolute path also where `mkdocs -f mkdocs.yml` named the file."""
    return Path(config.config_file_path).absolute().parent


def address_of(config: MkDocsConfig) -> str:
    """Return the address of the site, with a slash at its end."""
    return (config.site_url or "").rstrip("/") + "/"


def name_of(page: Page, config: MkDocsConfig) -> str:
    """Return the source of a page as a path in the project, such as `docs/a/b.md`."""
    return Path(page.file.abs_src_path or page.file.src_uri).relative_to(root_of(config)).as_posix()


def check(config: MkDocsConfig) -> None:
    """Raise for the first name that means nothing, and for what the hooks could not use.

    Raises:
        GuideError: with the line of mkdocs.yml.
    """
    if found := yaml_lines.twice(errors.read(errors.ROOT / FILE)):
        raise GuideError(FILE, found[1], f"the key {found[0]!r} stands twice, and MkDocs reads one", "remove one")
    for key in config.extra:
        if key not in EXTRA:
            raise error(key, f"nothing reads `extra: {key}`", f"remove it, or correct it ({near(str(key), EXTRA)})")
    repository: Any = config.extra.get("repository")
    if not isinstance(repository, dict) or not all(
        isinstance(repository.get(key), str) and pattern.fullmatch(repository[key])
        for key, pattern in REPOSITORY.items()
    ):
        cure = "write `repository: {name: owner/name, branch: main, pages_branch: gh-pages}`"
        raise error("repository", f"`extra.repository` does not name the repository: {repository!r}", cure)
