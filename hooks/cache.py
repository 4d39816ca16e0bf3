"""What takes long to make, kept under `.cache/` by what it is made from."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hooks import atomic
from hooks.errors import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

FOLDER = ROOT / ".cache"
# Bytes that one kind may take before what was used least lately goes.
MOST = 64 << 20
_told: set[str] = set()
_swept: set[str] = set()


def remember(kind: str, inputs: list[str], make: Callable[[], Any]) -> Any:
    """Return what a function of texts made before, as JSON holds it: a list for a tuple, text for the keys of a dict.

    It is made again when one of the texts changes, a module of the hooks, a locked package, or Python.

    Args:
        kind: a folder under `.cache/`.
        inputs: everything else that the value depends on.
        make: makes the value; what it raises is not kept.
    """
    return json.loads(cached(kind, [code(ROOT), *inputs], lambda: json.dumps(make(), ensure_ascii=False)))


@lru_cache(maxsize=8)  # the modules of a process do not change while it runs
def code(root: Path) -> str:
    """Return the digest of the modules of a project's hooks, of its lock file, and of the version of Python."""
    modules = (file for file in (root / "hooks").rglob("*.py") if "__pycache__" not in file.parts)
    parts = [sys.version, *digests([*modules, root / "uv.lock"], root)]
    return sha256("\0".join(parts).encode()).hexdigest()


def digests(files: Iterable[Path], root: Path = ROOT) -> list[str]:
    """Return the path from a folder and the digest of each file, sorted; a file that is not there has none."""
    there = sorted(file for file in files if file.is_file())
    return [f"{os.path.relpath(file, root)} {sha256(file.read_bytes()).hexdigest()}" for file in there]


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
    if (text := _whole(file)) is not None:
        with suppress(OSError):  # another user's folder
            os.utime(file)  # used now
        return text
    text = make()
    try:
        if kind not in _swept:
            _sweep(file.parent)
            _swept.add(kind)
        atomic.write(file, f"{sha256(text.encode()).hexdigest()}\n{text}")
    except OSError as error:
        said = f"nothing is kept in {FOLDER} ({error.strerror or error}): the next build is as slow as this one"
        if said not in _told:
            print(said, file=sys.stderr)
        _told.add(said)
    return text


def _whole(file: Path) -> str | None:
    """Return the text of a file, None where there is none: one that a crash of the machine cut short is none."""
    try:
        digest, _, text = file.read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if sha256(text.encode()).hexdigest() == digest else None


def _sweep(folder: Path) -> None:
    """Delete what was used least lately where a folder holds more than it may, until half of that is left."""
    if not folder.is_dir():
        return
    files = []
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # another process may sweep too
            files.append((file.stat().st_mtime_ns, file.stat().st_size, file))
    held = sum(size for _, size, _ in files)
    if held <= MOST:
        return
    for _, size, file in sorted(files):
        if held <= MOST // 2:
            return
        file.unlink(missing_ok=True)
        held -= size


# Of the modules that this process has read, not of what somebody writes while it runs.
code(ROOT)
