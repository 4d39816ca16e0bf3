"""Which page is being rendered: Markdown extensions need it to name file and line, and Python-Markdown does not say."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks.errors import GuideError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Place:
    """A page on its way through Python-Markdown: its path in the project (`docs/a/b.md`) and its source text."""

    file: str
    source: str

    def line_of(self, needle: str) -> int:
        """Return the line (from 1) that is `needle`, else that first holds it, or 0 where none does."""
        lines = self.source.split("\n")
        alone = (n for n, line in enumerate(lines, 1) if line.strip(" >\t") == needle)
        return next(alone, 0) or next((n for n, line in enumerate(lines, 1) if needle in line), 0)


UNKNOWN = Place("(a page)", "")
_current = UNKNOWN


def current() -> Place:
    """Return the page being rendered; `UNKNOWN` outside a build that says."""
    return _current


@contextmanager
def rendering(file: str, source: str) -> Iterator[None]:
    """Name the page that is rendered inside the `with` block."""
    global _current  # noqa: PLW0603 - Python-Markdown offers no other way to hand it to an extension
    before, _current = _current, Place(file, source)
    try:
        yield
    finally:
        _current = before


def enter(file: str, source: str) -> None:
    """Name the page rendered next: for MkDocs' hooks, which have no event around the rendering."""
    global _current  # noqa: PLW0603
    _current = Place(file, source)


def error(needle: str, cause: str, cure: str) -> GuideError:
    """Return the error for a mistake at the first line of the current page that holds `needle`."""
    return GuideError(_current.file, _current.line_of(needle), cause, cure)
