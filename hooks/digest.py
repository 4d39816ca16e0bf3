"""The digest of a program: of its source, and of the files beside it that it needs. A job checks it again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def of(source: str, files: Iterable[str | Path]) -> str:
    """Return the SHA-256 of a source and of the names and bytes of files, in hexadecimal.

    Raises:
        OSError: a file cannot be read; its name is in `filename`.
    """
    whole = hashlib.sha256(source.encode())
    for file in files:
        whole.update(b"\0" + Path(file).name.encode() + b"\0" + Path(file).read_bytes())
    return whole.hexdigest()
