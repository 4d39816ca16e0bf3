"""What a builder that ignores hooks still needs: placeholders of `hooks.extension` made links while a page is rendered.

Zensical reads mkdocs.yml and runs its Markdown extensions, but no hook. It tells extensions the page and the
configuration through a preprocessor named `rendering_context`; MkDocs has none, and there `hooks.publish` makes the
links once all pages are known. Without hooks no program is copied into the site and nobody knows which page holds its
card, so such links lead to the program in the repository.
"""

from __future__ import annotations

import html as htmllib
import posixpath
from typing import TYPE_CHECKING, Any

from markdown.postprocessors import Postprocessor

from hooks import place, publish

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from pathlib import Path

    from markdown import Markdown

_CONTEXT = "rendering_context"
_PROGRAMS = "programs/"


def enter(md: Markdown, root: Path) -> None:
    """Name the page that is about to be rendered, where the builder tells it.

    Args:
        md: the parser.
        root: the project's folder.
    """
    if told := _told(md):
        file = root / "docs" / told.page.path
        place.enter(f"docs/{told.page.path}", file.read_text("utf8"))


def links(html: str, *, path: str, repository: Mapping[str, str]) -> str:
    """Replace the placeholders by links that need no other page.

    Args:
        html: the page.
        path: its source under `docs/`; Zensical makes links between sources those between pages.
        repository: `extra.repository` of mkdocs.yml.
    """

    def real(match: re.Match[str]) -> str:
        to, anchor = htmllib.unescape(match["path"]), match["anchor"] or ""
        if match["kind"] == "program" or (match["kind"] == "root" and to.startswith(_PROGRAMS)):
            target = publish.source_url(repository, f"snippets/{to.removeprefix(_PROGRAMS)}")
        elif match["kind"] == "source":
            target = publish.source_url(repository, to) + anchor
        elif match["kind"] == "repository":
            target = publish.repository_url(repository, to) + anchor
        else:
            target = posixpath.relpath(to or ".", posixpath.dirname(path) or ".") + anchor
        return f'{match["attribute"]}="{htmllib.escape(target)}"'

    return publish.PLACEHOLDER.sub(real, html)


class Links(Postprocessor):
    """Makes the links where the builder says which page it renders."""

    def run(self, text: str) -> str:
        """Leave a page of MkDocs as it is."""
        told = _told(self.md)
        return links(text, path=told.page.path, repository=told.config["extra"]["repository"]) if told else text


class Reasons(Postprocessor):
    """Puts the reason under every block that does not run."""

    def run(self, text: str) -> str:
        """Look at the finished HTML, where the raw HTML of the blocks is back."""
        return publish.reasons(text)


def _told(md: Markdown) -> Any:
    """Return what the builder tells of the page, None where it tells nothing."""
    known = md.preprocessors
    return known[_CONTEXT] if _CONTEXT in known else None  # noqa: SIM401 - Python-Markdown's registry has no `get`
