"""What every page must have, or search results, previews of links and the tab of the browser show something else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hooks.errors import GuideError

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE = re.compile(r"<h1[ >]")


def check(meta: Mapping[str, Any], html: str, file: str) -> None:
    """Raise unless a page has a description in its front matter and one title.

    Args:
        meta: the front matter.
        html: the page as Python-Markdown rendered it.
        file: the page's path, for messages.
    """
    if not str(meta.get("description") or "").strip():
        cure = "write `description: ...` between two lines of --- at its top"
        raise GuideError(file, 1, "the page has no description", cure)
    titles = len(TITLE.findall(html))
    if titles != 1:
        raise GuideError(file, 1, f"the page has {titles or 'no'} titles", "write one line with a single # before it")
