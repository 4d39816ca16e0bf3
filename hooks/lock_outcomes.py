"""The file of outcomes of a lock, `locks/NAME/outcomes.json`: what a program did there, as text and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from hooks import records
from hooks.compare import Difference
from hooks.errors import GuideError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WORDS = ("same", "differs", "fails")
# What an entry has only with one of them.
OWN = {"differences": "differs", "error": "fails"}


@dataclass(frozen=True)
class Outcome:
    """What one program did under another lock.

    Args:
        sha256: of the program, as records hold it.
        versions: of the packages that its record names, as they were there.
        record: the same of the record that it was compared with.
        recorded: the day, such as `2026-11-21`.
        outcome: `same` as the record, `differs` from it, or `fails`.
        differences: from the record, where it differs.
        error: that it ended with, with the line, where it fails.
    """

    sha256: str
    versions: dict[str, str]
    record: dict[str, str]
    recorded: str
    outcome: str
    differences: tuple[Difference, ...] = ()
    error: str = ""

    @property
    def said(self) -> list[str]:
        """What differs, a sentence each, or the error."""
        return [self.error] if self.error else [str(one) for one in self.differences]


def to_text(outcomes: Mapping[str, Outcome]) -> str:
    """Return the text of a file of outcomes: a line for each part, and for each difference."""
    entries = []
    for path, one in sorted(outcomes.items()):
        parts = {"sha256": one.sha256, "versions": one.versions, "record": one.record, "recorded": one.recorded}
        lines = [f"  {_json(name)}: {_json(value)}" for name, value in {**parts, "outcome": one.outcome}.items()]
        if one.error:
            lines.append(f'  "error": {_json(one.error)}')
        if one.differences:
            entries_of = (
                _json({key: value for key, value in asdict(each).items() if value}) for each in one.differences
            )
            lines.append('  "differences": [\n' + ",\n".join(f"   {text}" for text in entries_of) + "\n  ]")
        entries.append(f" {_json(path)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(entries) + "\n}\n" if entries else "{}\n"


def from_text(text: str, file: Path, lock: str) -> dict[str, Outcome]:
    """Read the text of a file of outcomes.

    Raises:
        GuideError: it is not one; the message says at which line and why.
    """
    cure = f"correct it, or take the entry out and run make record LOCK={lock}"

    def wrong(cause: str, line: int) -> GuideError:
        return GuideError(file, line, f"the outcomes are broken: {cause}", cure)

    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise wrong(f"this is not JSON ({error.msg})", error.lineno) from None
    if not isinstance(data, dict):
        raise wrong("they are not an object", 1)
    lines = text.split("\n")
    found = {}
    for path, entry in data.items():
        line = next((n for n, one in enumerate(lines, start=1) if one.lstrip().startswith(f"{_json(path)}:")), 1)
        why = _wrong(entry)
        if why:
            raise wrong(f"{path}: {why}", line)
        differences = tuple(Difference(**{"name": "", **one}) for one in entry.get("differences", ()))
        found[path] = Outcome(**{**entry, "differences": differences})
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _wrong(entry: Any) -> str:
    """Return what is wrong with an entry of the file; `""` where nothing is."""
    if not isinstance(entry, dict):
        return "it is not an object"
    if why := records.wrong(entry, [key for key in _SCHEMA if key in entry or key not in OWN], _SCHEMA):
        return why
    for key in entry:
        if key not in _SCHEMA:
            return f"'{key}' is unknown"
    for key, word in OWN.items():
        if (entry["outcome"] == word) != bool(entry.get(key)):
            return f"'{key}' belongs to the outcome '{word}', and to no other"
    return ""


def _is_difference(value: Any) -> bool:
    """Tell whether a value names a part and what is said of it, and holds nothing that `Difference` does not know."""
    if not isinstance(value, dict) or not {"part", "said"} <= value.keys() <= {
        field.name for field in fields(Difference)
    }:
        return False
    return all(isinstance(one, int if key == "row" else str) for key, one in value.items())


_SCHEMA: records.Schema = {
    **{key: records.SCHEMA[key] for key in ("sha256", "versions", "recorded")},
    "record": records.SCHEMA["versions"],
    "outcome": (f"one of {', '.join(WORDS)}", lambda value: value in WORDS),
    "differences": ("a list of differences", lambda value: isinstance(value, list) and all(map(_is_difference, value))),
    "error": ("text", lambda value: isinstance(value, str)),
}
