"""Texts that take long to make, kept under `.cache/` by what they are made from."""

from __future__ import annotations

import sys
from hashlib import sha256
from typing import TYPE_CHECKING

from hooks import atomic
from hooks.errors import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = ROOT / ".cache"
_told: set[str] = set()


def cached(kind: str, inputs: list[str], make: Callable[[], str]) -> str:
    """Return what `make` returned for the same inputs before, or make it now.

    Where the text cannot be kept, the disk being full or the folder another user's, that is said once.

    Args:
        kind: a folder under `.cache/`.
        inputs: everything that the text depends on.
        make: makes the text; what it raises is not kept.
    """
    key = sha256("\0".join([kind, *inputs]).encode()).hexdigest()
    file = FOLDER / kind / key[:32]
    try:
        return file.read_text("utf-8")
    except OSError:
        text = make()
    try:
        atomic.write(file, text)
    except OSError as error:
        said = f"nothing is kept in {FOLDER} ({error.strerror or error}): the next build is as slow as this one"
        if said not in _told:
            print(said, file=sys.stderr)
        _told.add(said)
    return text
