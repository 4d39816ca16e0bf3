"""What a page means by `strategies/mirrored.py:name`: the entry of that name in the record of that program.

The record is that of the CPU; `strategies/mirrored.py@gpu:name` means that of another device.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hooks import devices, programs, records, unsteady
from hooks.errors import near

if TYPE_CHECKING:
    from hooks.records import Record

REFERENCE = re.compile(rf"(?P<program>{programs.PATH.pattern})(?:@(?P<device>\w+))?:(?P<name>[A-Za-z0-9_-]+)")


class Missing(Exception):  # noqa: N818 - it is not an error before somebody says where
    """A name that leads nowhere. The caller knows the place in the page and raises a `GuideError` from it.

    Args:
        cause: what is wrong, as a sentence without a full stop.
        cure: how to correct it, as an imperative without a full stop.
    """

    def __init__(self, cause: str, cure: str) -> None:
        """Keep both halves of the message."""
        super().__init__(f"{cause}. Fix: {cure}.")
        self.cause, self.cure = cause, cure


class Stale(Missing):
    """The program has no record of its present source; a preview may go on without it."""


@dataclass(frozen=True)
class Reference:
    """A program, by its path under `snippets/`, and a name in its record on a device."""

    program: str
    name: str
    device: str = "cpu"

    def __str__(self) -> str:
        """Return it as pages write it."""
        at = "" if self.device == "cpu" else f"@{self.device}"
        return f"{self.program}{at}:{self.name}"


def preview() -> bool:
    """Tell whether the build is a writer's preview, which may show pages whose records are out of date."""
    return os.environ.get("GUIDE_PREVIEW", "") not in ("", "0")


def parse(text: str) -> Reference:
    """Return the reference that `text` spells.

    Raises:
        Missing: it is not of the form `section/program.py:name`, or names no device.
    """
    match = REFERENCE.fullmatch(text.strip())
    if not match:
        raise Missing(f"`{text.strip()}` is not a reference", "write `section/program.py:name`")
    device = match["device"] or "cpu"
    if device not in devices.TABLE:
        raise Missing(f"there is no device `{device}`", f"name one of {', '.join(devices.TABLE)}")
    return Reference(match["program"], match["name"], device)


def program_of(path: str) -> programs.Program:
    """Return the program at `path`, relative to `snippets/`.

    Raises:
        Missing: there is no such program.
        GuideError: the program itself is malformed.
    """
    root = programs.SNIPPETS
    if not programs.PATH.fullmatch(path) or not (root / path).exists():
        known = programs.paths(root=root)
        raise Missing(f"there is no program `{path}`", f"name a file under `snippets/` ({near(path, known)})")
    return programs.load(path, root=root)


def record_of(path: str, device: str = "cpu") -> Record:
    """Return the record of the program at `path` on `device`, made from its present source.

    Raises:
        Missing: there is no such program.
        Stale: it has no current record.
        GuideError: its record is broken.
    """
    record, why = records.current_or_why(program_of(path), device)
    if record is None:
        raise Stale(why, f"run `{records.command(path, device)}`")
    return record


def entry(reference: Reference, *fields: str) -> tuple[Any, Record]:
    """Return what the record holds under the reference's name, and the record.

    Args:
        reference: what to look up.
        fields: the parts of the record to look in, in this order, such as `measures`, `claims`.

    Raises:
        Missing: there is no such program, or its record has no such entry.
        Stale: the program has no current record.
    """
    record = record_of(reference.program, reference.device)
    known: set[str] = set()
    for field in fields:
        values = getattr(record, field)
        if reference.name in values:
            if field == "claims" and unsteady.is_listed(reference.program, reference.device, reference.name):
                cause = f"`{reference}` is listed as unsteady in pyproject.toml: it does not hold in each run"
                raise Missing(cause, "name one that does, or a source")
            return values[reference.name], record
        known |= set(values)
    what = " or ".join(f"`{field}`" for field in fields)
    raise Missing(
        f"`{reference.program}` has no `{reference.name}` in its {what}",
        f"name one that it records ({near(reference.name, known)})",
    )
