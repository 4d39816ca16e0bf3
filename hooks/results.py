"""Keep the results of runs that went well under `.cache/runs`, one file each, named by what the result depends on.

The key of a program is made from its path and source, the files it needs beside it and its options, the lock file, the
modules that run it, the device (of accelerators also which the user chose), the system and Python's version. The key of
a page's blocks holds the page's name, their sources and lines and the page's limits instead. `FRESH=1` in the
environment, or `CI=true`, reads nothing from the cache.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import sys
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hooks import atomic, records
from hooks.errors import ROOT, GuideError
from hooks.launch import KEPT_ENV
from hooks.outcome import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hooks.programs import Program
    from hooks.runner import BlockLike

FOLDER = ROOT / ".cache" / "runs"
RUNNER = (
    "active",
    "atomic",
    "busy",
    "cache",
    "child",
    "digest",
    "devices",
    "family",
    "interpreter",
    "launch",
    "metadata",
    "outcome",
    "plain",
    "programs",
    "reach",
    "records",
    "results",
    "runner",
    "sections",
    "server",
    "shapes",
)
DAYS = 30

problems: set[str] = set()
"""Why results could not be kept; whoever runs the tests shows it at the end."""


def program_key(program: Program, device: str = "cpu") -> str:
    """Return the key of a program's result: it changes with whatever could change the result, and with nothing else."""
    options = dataclasses.asdict(program.options)
    return _key(kind="program", path=program.path, sha256=program.sha256, options=options, device=device)


def page_key(name: str, blocks: Sequence[BlockLike], device: str = "cpu", **more: Any) -> str:
    """Return the key of the results of a page's blocks.

    Args:
        name: the page.
        blocks: its blocks, as they are given to `Runner.submit_page`.
        device: where they run.
        more: plain data on which the results depend besides, such as the other arguments of `submit_page`.
    """
    listed = [(block.name, block.source, getattr(block, "line", 1)) for block in blocks]
    return _key(kind="page", path=name, blocks=listed, device=device, more=more)


def load(key: str, *, program: Program | None = None, device: str = "cpu") -> list[Result] | None:
    """Return the results kept under `key`, None where there are none or the cache is not to be used."""
    if not reads():
        return None
    try:
        data = json.loads((FOLDER / f"{key}.json").read_text(encoding="utf-8"))
        return [_result(one, program, device) for one in data]
    except (OSError, ValueError, KeyError, TypeError, GuideError):
        return None


def store(key: str, results: Sequence[Result]) -> bool:
    """Keep results if all of them went well; say whether they were kept."""
    if not results or not all(result.ok for result in results):
        return False
    text = json.dumps([_plain(result) for result in results])
    try:
        atomic.write(FOLDER / f"{key}.json", text)
    except OSError as error:
        problems.add(f"results are not kept in {FOLDER} ({error.strerror or error}): everything runs each time")
        return False
    return True


def forget(key: str) -> None:
    """Keep a result no longer: the program ran to its end, but not as its record says, so it runs again next time."""
    with suppress(OSError):
        (FOLDER / f"{key}.json").unlink(missing_ok=True)


def sweep(now: float) -> None:
    """Remove what has not been written for `DAYS` days."""
    for file in FOLDER.glob("*"):
        try:
            if file.stat().st_mtime < now - DAYS * 86400:
                file.unlink()
        except OSError:  # another process removed it
            continue


def reads() -> bool:
    """Say whether results may come from the cache."""
    return os.environ.get("FRESH", "") in ("", "0") and os.environ.get("CI", "").lower() != "true"


def chosen(device: str) -> dict[str, str]:
    """Return which of the accelerators the user chose; nothing for the CPU."""
    return {} if device == "cpu" else {name: os.environ.get(name, "") for name in sorted(KEPT_ENV)}


def _key(**parts: Any) -> str:
    parts["lock"] = _digest(records.LOCK)
    parts["python"] = [platform.python_version(), sys.platform, platform.machine()]
    parts["chosen"] = chosen(parts["device"])
    parts["runner"] = {name: _digest(ROOT / "hooks" / f"{name}.py") for name in RUNNER}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _digest(file: Path) -> str:
    """Return the digest of a file that every key holds; it is read again only where it was written since."""
    stamp = file.stat()
    return _read(file, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=64)
def _read(file: Path, _written: int, _size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _plain(result: Result) -> dict[str, Any]:
    record = records.to_text(result.record) if result.record else None
    return {**dataclasses.asdict(result), "executed": sorted(result.executed), "record": record}


def _result(data: dict[str, Any], program: Program | None, device: str) -> Result:
    record = None
    if data["record"] is not None:
        if program is None:
            raise ValueError("a record belongs to a program")
        record = records.from_text(data["record"], FOLDER, program.path, device)
    return Result(**{**data, "executed": frozenset(data["executed"]), "record": record})
