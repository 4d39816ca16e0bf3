"""What every page must have, or search results, previews of links and the tab of the browser show something else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from hooks.errors import GuideError

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE = re.compile(r"<h1[ >]")
END = re.compile(r"(?m)^(?:---|\.\.\.)[ \t]*$")


def check(meta: Mapping[str, Any], html: str, source: str, file: str) -> None:
    """Raise unless a page has a description in its front matter and one title.

    Args:
        meta: the front matter.
        html: the page as Python-Markdown rendered it.
        source: the page as its author wrote it.
        file: the page's path, for messages.
    """
    if not meta and (unread := _unread(source, file)):
        raise unread
    if not str(meta.get("description") or "").strip():
        cure = "write `description: ...` between two lines of --- at its top"
        raise GuideError(file, 1, "the page has no description", cure)
    titles = len(TITLE.findall(html))
    if titles != 1:
        raise GuideError(file, 1, f"the page has {titles or 'no'} titles", "write one line with a single # before it")


def _unread(source: str, file: str) -> GuideError | None:
    """Return the error for front matter that MkDocs took for text, since it could not read it; None where it could."""
    if not source.startswith("---\n"):
        return None
    end = END.search(source, 4)
    if not end:
        return GuideError(file, 1, "the front matter never ends", "write a line of --- below it")
    try:
        yaml.safe_load(source[4 : end.start()])
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        return GuideError(file, line, f"the front matter is no YAML: {error.problem}", "put the text into quotes")
    return None
