"""Write a file in one step: who reads it meanwhile gets all or nothing, and a full disk leaves what was there."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Hold off other processes that add to `file` and ask for this too; its folder must be there.

    The folder itself is locked: a file for it would stay behind, and `file` is replaced meanwhile. Where its file
    system cannot lock a folder, as some on a network cannot, nobody is held off.
    """
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def write(file: Path, text: str) -> None:
    """Write `text` to `file`; its folder is made where it is missing.

    Raises:
        OSError: it cannot be written; nothing half-written is left.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
