"""Which files of `snippets/` a page is made from: those that its source names, and what belongs to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks import programs, records
from hooks.errors import GuideError
from hooks.markup import DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# `strategies/mirrored.py`, also in `strategies/mirrored.py:setup`.
NAMED = re.compile(r"[\w-]+(?:/[\w.-]+)+")


def files(sources: Iterable[str]) -> list[set[Path]]:
    """Return the files of each page, whether they exist yet or not: a record may be made later.

    Args:
        sources: the pages as their authors wrote them.
    """
    of_path = {path: {programs.SNIPPETS / path} for path in programs.files()}
    found = []
    for source in sources:
        named = {name.rstrip(".") for name in NAMED.findall(source)} & of_path.keys()
        for path in named:
            if path.endswith(".py") and len(of_path[path]) == 1:
                of_path[path] |= _of_program(path)
        found.append(set().union(*(of_path[path] for path in named)))
    return found


def _of_program(path: str) -> set[Path]:
    try:
        program = programs.load(path)
    except GuideError:
        return set()  # the page cannot be rendered before that program is mended, which changes its file
    return {*program.companions, *(records.file_of(program, device) for device in DEVICES)}
