"""Read and write records: what a program printed, claimed and measured on one kind of device.

A record lies beside its program: `snippets/strategies/mirrored.py` has `mirrored.cpu.json`. It is current while the
program and the locked versions are those it was made with.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
import tomllib
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hooks import atomic, programs, shapes
from hooks.cache import remember
from hooks.errors import ROOT, GuideError, line_in_toml, line_of
from hooks.plain import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from hooks.programs import Program

LOCK = ROOT / "uv.lock"
ALWAYS = ("tensorflow", "keras")

State = Literal["current", "stale", "missing"]
# For each key, what its value must be: in words, and as a function.
Schema = dict[str, tuple[str, Any]]


@dataclass(frozen=True)
class Record:
    """One run of one program. `output` maps sections to text in the program's order, `""` is outside all sections."""

    program: str
    sha256: str
    device: str
    hardware: str
    versions: dict[str, str]
    recorded: str
    seconds: float
    output: dict[str, str] = field(default_factory=dict)
    claims: dict[str, bool] = field(default_factory=dict)
    measures: dict[str, int | float | str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)


def file_of(program: Program, device: str) -> Path:
    """Return where the record of `program` on `device` lies, whether or not it exists."""
    return program.file.with_name(f"{program.file.stem}.{device}.json")


def load(program: Program, device: str = "cpu") -> Record | None:
    """Read a record; None where there is none.

    Raises:
        GuideError: the file is not a record.
    """
    file = file_of(program, device)
    try:
        stamp = file.stat()
    except OSError:
        return None
    return _read(file, program.path, device, stamp.st_mtime_ns, stamp.st_size)


def state(program: Program, device: str = "cpu") -> State:
    """Say whether the record of `program` may be shown as what this program does with these versions."""
    if load(program, device) is None:
        return "missing"
    return "stale" if why_stale(program, device) else "current"


def why_stale(program: Program, device: str = "cpu") -> str:
    """Return why the record is not current, as a sentence without a full stop; `""` where it is current.

    Raises:
        GuideError: the program depends on what the lock file does not hold, or its record is broken.
    """
    record = load(program, device)
    if record is None:
        return f"{program.path} has no record for {device}"
    if record.sha256 != program.sha256:
        return f"{program.path} changed after it was recorded"
    locked = locked_versions()
    for name in packages_of(program):
        have, want = record.versions.get(name), locked.get(name)
        if want is None:
            text = next((text for text in program.dependencies if _package(text) == name), name)
            cause = f"the program depends on {name}, which uv.lock does not hold"
            cure = "name it in pyproject.toml and run uv lock, or remove it"
            raise GuideError(program.file, line_of(program.file, text), cause, cure)
        if have != want:
            return f"{program.path} was recorded with {name} {have or '(unknown)'}, locked is {want}"
    return ""


def current(program: Program, device: str = "cpu") -> Record:
    """Return the record of `program`.

    Raises:
        GuideError: it is missing or stale; the message says why and what to run.
    """
    record, why = current_or_why(program, device)
    if record is None:
        raise GuideError(file_of(program, device), 0, why, _cure(program.path, device))
    return record


def outdated(program: Program, device: str = "cpu") -> GuideError | None:
    """Return what `current` would raise; None where the record is current."""
    try:
        current(program, device)
    except GuideError as found:
        return found
    return None


def current_or_why(program: Program, device: str = "cpu") -> tuple[Record | None, str]:
    """Return the record of `program` and `""`; where it is not current, None and why, as `why_stale` says it.

    Raises:
        GuideError: as `why_stale` does.
    """
    why = why_stale(program, device)
    return (None if why else load(program, device)), why


def command(program: str, device: str = "cpu", lock: str = "") -> str:
    """Return the command that records a program.

    Args:
        program: its path.
        device: where it is to run.
        lock: with whose versions, where these are not those of `uv.lock`.
    """
    flags = (f"LOCK={lock} " if lock else "") + ("" if device == "cpu" else f"DEVICE={device} ")
    return f"make record {flags}ARGS={program}"


def packages_of(program: Program) -> list[str]:
    """Return the packages whose versions a record holds: those the program names, TensorFlow and Keras."""
    return sorted({*ALWAYS, *map(_package, program.dependencies)})


def locked_versions() -> Mapping[str, str]:
    """Return the version that `uv.lock` holds for each package on this machine."""
    stamp = LOCK.stat()
    return _locked(LOCK, stamp.st_mtime_ns, stamp.st_size)


def write(record: Record, *, root: Path | None = None) -> Path:
    """Write `record` beside its program, the same bytes for the same record, and return the file.

    Args:
        record: what to write.
        root: the folder to use instead of `snippets/`.
    """
    program = (root or programs.SNIPPETS) / record.program
    file = program.with_name(f"{program.stem}.{record.device}.json")
    atomic.write(file, to_text(record))
    return file


def to_text(record: Record) -> str:
    """Return the text of a record's file; `from_text` reads it."""
    data = {
        "program": record.program,
        "sha256": record.sha256,
        "device": record.device,
        "hardware": record.hardware,
        "versions": dict(sorted(record.versions.items())),
        "recorded": record.recorded,
        "seconds": record.seconds,
        "output": {name: text.split("\n") for name, text in record.output.items()},
        "claims": dict(sorted(record.claims.items())),
        "measures": dict(sorted(record.measures.items())),
        "errors": dict(sorted(record.errors.items())),
        "figures": dict(sorted(record.figures.items())),
        "tables": dict(sorted(record.tables.items())),
    }
    wide = ("figures", "tables")
    parts = [f" {json.dumps(key)}: {_json(value, 1, compact=key in wide)}" for key, value in data.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def from_text(text: str, file: Path, program: str, device: str) -> Record:
    """Read the text of a record's file and check it.

    Raises:
        GuideError: it is not the record of `program` on `device`.
    """

    def broken(cause: str) -> GuideError:
        return GuideError(file, 0, f"the record is broken: {cause}", _cure(program, device))

    try:
        data = json.loads(text)
    except ValueError as error:
        raise broken(f"it is not JSON ({error})") from None
    if not isinstance(data, dict):
        raise broken("it is not an object")
    if cause := wrong(data, SCHEMA):
        raise broken(cause)
    for key in data:
        if key not in SCHEMA:
            raise broken(f"'{key}' is unknown")
    for key, want in (("program", program), ("device", device)):
        if data[key] != want:
            raise broken(f"'{key}' is '{data[key]}', it should be '{want}'")
    why = shapes.wrong_figures(data["figures"]) or shapes.wrong_tables(data["tables"])
    if why:
        raise broken(why)
    data["output"] = {name: "\n".join(lines) for name, lines in data["output"].items()}
    return Record(**data)


def is_day(value: Any) -> bool:
    """Tell whether a value is a day of the calendar, written as `2026-01-31`."""
    try:
        return isinstance(value, str) and datetime.date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def wrong(data: Mapping[str, Any], keys: Iterable[str], schema: Schema | None = None) -> str:
    """Return what is wrong with the values of some keys, as a sentence without a full stop, or `""`.

    Args:
        data: the keys and their values.
        keys: those to check, which must be there.
        schema: what each must be; without one, what it must be in a record.
    """
    for key in keys:
        kind, check = (schema or SCHEMA)[key]
        if key not in data:
            return f"'{key}' is missing"
        if not check(data[key]):
            return f"'{key}' is not {kind}"
    return ""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _lines(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def _each(check: Any) -> Any:
    return lambda value: isinstance(value, dict) and all(check(item) for item in value.values())


SCHEMA: Schema = {
    "program": ("text", _text),
    "sha256": ("a SHA-256", lambda value: _text(value) and re.fullmatch("[0-9a-f]{64}", value)),
    "device": ("text", _text),
    "hardware": ("text", _text),
    "versions": ("a table of text", _each(_text)),
    "recorded": ("a date (2026-01-31)", is_day),
    "seconds": ("a number", is_number),
    "output": ("lines of text for each section", _each(_lines)),
    "claims": ("a table of true and false", _each(lambda value: isinstance(value, bool))),
    "measures": ("a table of numbers and text", _each(lambda value: is_number(value) or _text(value))),
    "errors": ("a table of text", _each(_text)),
    "figures": ("a table of figures", _each(lambda value: isinstance(value, dict))),
    "tables": ("a table of tables", _each(lambda value: isinstance(value, dict))),
}


def _cure(program: str, device: str) -> str:
    return f"run `{command(program, device)}`"


@functools.lru_cache(maxsize=1024)
def _read(file: Path, program: str, device: str, _mtime: int, _size: int) -> Record:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GuideError(file, 0, f"the record cannot be read ({error})", _cure(program, device)) from None
    return from_text(text, file, program, device)


@functools.lru_cache(maxsize=4)
def _locked(lock: Path, _mtime: int, _size: int) -> Mapping[str, str]:
    text = lock.read_text(encoding="utf-8")
    try:
        packages = remember("versions", [text], lambda: _packages(text))
    except tomllib.TOMLDecodeError as error:
        cause, cure = f"the lock cannot be read ({error})", "take it from git again, or run `uv lock`"
        raise GuideError(lock, line_in_toml(text, error), cause, cure) from None
    fits = [(name, version) for name, version, on in packages if not on or any(Marker(mark).evaluate() for mark in on)]
    return MappingProxyType(dict(fits))


def _packages(lock: str) -> list[tuple[str, str, list[str]]]:
    """Return the name, the version and the markers of each package that a lock file gives a version."""
    found = tomllib.loads(lock)["package"]
    return [(one["name"], one["version"], one.get("resolution-markers", [])) for one in found if "version" in one]


@functools.lru_cache(maxsize=256)
def _package(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _json(value: Any, depth: int, *, compact: bool) -> str:
    """Write JSON with one space for each level; a list or table of plain values takes one line where `compact`."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    nested = any(isinstance(item, (dict, list)) for item in items)
    if not items or (compact and not nested):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    pad, end = " " * (depth + 1), " " * depth
    if isinstance(value, dict):
        pairs = (f"{pad}{json.dumps(key, ensure_ascii=False)}: " for key in value)
        body = [pair + _json(item, depth + 1, compact=compact) for pair, item in zip(pairs, items, strict=True)]
        return "{\n" + ",\n".join(body) + f"\n{end}}}"
    body = [pad + _json(item, depth + 1, compact=compact) for item in items]
    return "[\n" + ",\n".join(body) + f"\n{end}]"
