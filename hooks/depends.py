"""Which files of `snippets/` a page is made from: those that its source names, and what belongs to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks import programs, records
from hooks.errors import GuideError
from hooks.markup import DEVICES

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

# `strategies/mirrored.py`, also in `strategies/mirrored.py:setup`.
NAMED = re.compile(r"[\w-]+(?:/[\w.-]+)+")


def files(source: str, known: Collection[str]) -> set[Path]:
    """Return the files that a page is made from, whether they exist yet or not: a record may be made later.

    Args:
        source: the page as its author wrote it.
        known: the paths of all files under `snippets/`.
    """
    named = {name for match in NAMED.findall(source) if (name := match.rstrip(".")) in known}
    found = {programs.SNIPPETS / path for path in named}
    return found.union(*(_of_program(path) for path in named if path.endswith(".py")))


def _of_program(path: str) -> set[Path]:
    try:
        program = programs.load(path)
    except GuideError:
        return set()  # the page cannot be rendered before that program is corrected, which changes its file
    return {*program.companions, *(records.file_of(program, device) for device in DEVICES)}
