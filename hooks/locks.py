"""What the programs do with other versions of TensorFlow and Keras than those of `uv.lock`.

A folder `locks/NAME/` is another lock. `requirements.in` says what differs from `uv.lock`; `requirements.txt` is the
whole lock, which `make lock LOCK=NAME` makes of both; `outcomes.json` says of each program whether it did there what
its record says. `make record LOCK=NAME` writes the outcomes and no record: the records, and the stamps on pages, stay
those of `uv.lock`.
"""

from __future__ import annotations

import functools
import importlib.metadata
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from hooks import atomic, compare, here, programs, records
from hooks.errors import ROOT, GuideError, read
from hooks.lock_outcomes import Outcome, from_text, to_text
from hooks.markup import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from hooks.outcome import Result
    from hooks.programs import Program

FOLDER = ROOT / "locks"
# Characters of a text that a line below an error may quote.
BRIEF = 80
# A program that says `keras` runs with what `keras-nightly` installs: the same module.
NIGHTLY = "-nightly"
NIGHTLY_OF = {"tensorflow": "tf-nightly"}  # whose name is not its package's with the word behind it

State = Literal["current", "stale", "missing"]


def names() -> list[str]:
    """Return the names of the locks that are there, the oldest TensorFlow first."""
    found = [file.parent.name for file in FOLDER.glob("*/requirements.txt")]
    return sorted(found, key=lambda lock: (Version(versions(lock).get("tensorflow", "0")), lock))


def versions(lock: str) -> dict[str, str]:
    """Return the version that a lock holds for each package on this machine; a nightly build counts as its package.

    Raises:
        GuideError: the lock cannot be read.
    """
    file = FOLDER / lock / "requirements.txt"
    stamp = file.stat()
    return dict(_versions(file, lock, stamp.st_mtime_ns, stamp.st_size))


def title(lock: str) -> str:
    """Return the versions that make up a lock, such as `TensorFlow 2.20.0, Keras 3.11.3`."""
    return named(versions(lock))


def heading(lock: str) -> str:
    """Return what heads the narrow column of a lock, such as `TF 2.20.0`.

    Raises:
        GuideError: it holds no TensorFlow by that name.
    """
    held = versions(lock)
    if "tensorflow" not in held:
        cure = f"name it in locks/{lock}/requirements.in and run make lock LOCK={lock}"
        raise GuideError(FOLDER / lock / "requirements.txt", 0, "it holds no 'tensorflow'", cure)
    return f"TF {held['tensorflow']}"


def day(program: Program, lock: str) -> str:
    """Return the day on which a program ran under a lock, or that no current run is known."""
    state, found = find(program, lock)
    return found.recorded if found and state == "current" else "not yet verified"


def named(held: Mapping[str, str]) -> str:
    """Return what a reader is told of versions: those of TensorFlow and Keras."""
    return ", ".join(f"{NAMES[name]} {held[name]}" for name in records.ALWAYS if name in held)


def nightly_of(name: str) -> str:
    """Return what the nightly build of a package is called."""
    return NIGHTLY_OF.get(name, f"{name}{NIGHTLY}")


def load(lock: str) -> dict[str, Outcome]:
    """Return the outcomes under a lock by program; empty where none was recorded yet.

    Raises:
        GuideError: the file is broken.
    """
    file = file_of(lock)
    try:
        stamp = file.stat()
    except OSError:
        return {}
    return dict(_load(file, lock, stamp.st_mtime_ns, stamp.st_size))


def file_of(lock: str) -> Path:
    """Return where the outcomes under a lock lie, whether or not there are any."""
    return FOLDER / lock / "outcomes.json"


def find(program: Program, lock: str) -> tuple[State, Outcome | None]:
    """Return whether the outcome of a program may be shown as what this program does with these versions, and it."""
    found = load(lock).get(program.path)
    if found is None:
        return "missing", None
    return "stale" if why_stale(program, lock) else "current", found


def why_stale(program: Program, lock: str) -> str:
    """Return why there is no current outcome, as a sentence without a full stop; `""` where there is one."""
    found = load(lock).get(program.path)
    if found is None:
        return f"{program.path} has not run with {title(lock)}"
    if found.sha256 != program.sha256:
        return f"{program.path} changed after it ran with {title(lock)}"
    here, there = _held(program, records.locked_versions()), _held(program, versions(lock))
    for name in sorted({*here, *there, *found.record, *found.versions}):
        if found.versions.get(name) != there.get(name):
            was = found.versions.get(name, "(unknown)")
            return f"{program.path} ran with {name} {was}, locks/{lock} now holds {there.get(name)}"
        if found.record.get(name) != here.get(name):
            was = found.record.get(name, "(unknown)")
            return f"{program.path} was compared with a record of {name} {was}, uv.lock now holds {here.get(name)}"
    return ""


def outcome_of(program: Program, lock: str, result: Result, day: str) -> Outcome:
    """Return what came of a run under a lock, compared with the record of the program.

    Raises:
        GuideError: the program has no current record.
    """
    record = records.current(program)
    error, found = "", []
    if result.record is None:
        error = here.without((result.error or "it ended without a word").split("\n")[0])
    else:
        found = compare.differences(record, result.record, program.options.tolerance)
    outcome = "fails" if error else "differs" if found else "same"
    held = _held(program, versions(lock))
    return Outcome(program.sha256, held, _held(program, record.versions), day, outcome, tuple(found), error)


def unexpected(program: Program, lock: str, fresh: Outcome) -> list[str]:
    """Return how a fresh run differs from the outcome on file, one sentence each; numbers agree to the tolerance."""
    why = why_stale(program, lock)
    if why:
        return [f"{why}: {records.command(program.path, lock=lock)}"]
    old = load(lock)[program.path]
    if old.outcome == fresh.outcome and len(old.said) == len(fresh.said):
        tolerance = program.options.tolerance
        if all(compare.same_text(a, b, tolerance) for a, b in zip(old.said, fresh.said, strict=True)):
            return []
    return [f"with {title(lock)}: {_sentence(fresh)}; locks/{lock}/outcomes.json says: {_sentence(old)}"]


def write(lock: str, fresh: Mapping[str, Outcome]) -> None:
    """Add outcomes to those on file, and leave out those of programs that are gone."""
    known = set(programs.paths())
    with atomic.alone(file_of(lock)):
        kept = {path: one for path, one in {**load(lock), **fresh}.items() if path in known}
        atomic.write(file_of(lock), to_text(kept))


def refuse_other_versions(lock: str) -> None:
    """Stop where this interpreter does not hold what the lock says: the outcome would be one of other versions.

    Raises:
        GuideError: TensorFlow or Keras is another, or missing.
    """
    for name, want in _only(records.ALWAYS, versions(lock)).items():
        have = _installed(name)
        if have != want:
            cause = f"this Python has {name} {have or '(none)'}, the lock holds {want}"
            raise GuideError(FOLDER / lock / "requirements.txt", 0, cause, f"run make with LOCK={lock}")


def column(program: Program, lock: str, table: str, rows: int) -> list[Any]:
    """Return the cells that say, for each row of a table of a record, whether it is the same under a lock.

    Args:
        program: whose record holds the table.
        lock: the name of the lock.
        table: the name of the table.
        rows: how many rows it has.
    """
    state, found = find(program, lock)
    if found is None or state != "current":
        note = f"{why_stale(program, lock)}: `{records.command(program.path, lock=lock)}`."
        return [{"text": "not yet verified", "note": note}] * rows
    if found.outcome == "fails":
        return [{"text": "fails", "note": f"The program ended with: {found.error}"}] * rows
    of_table = [one for one in found.differences if (one.part, one.name) == ("table", table)]
    cells: list[Any] = []
    for row in range(1, rows + 1):
        said = [one.said.removeprefix(", ") if one.row else str(one) for one in of_table if one.row in (0, row)]
        cells.append({"text": "differs", "note": "; ".join(said)} if said else "same")
    return cells


def error_there(program: Program, lock: str, name: str) -> str:
    """Return what became of an error of a record under a lock, for a reader; `""` where it is the same, or unknown.

    Args:
        program: whose record holds the error.
        lock: the name of the lock.
        name: the name of the error.
    """
    state, found = find(program, lock)
    if found is None or state != "current" or found.outcome == "fails":
        return ""
    own = next((one for one in found.differences if (one.part, one.name) == ("error", name)), None)
    if own is None:
        return ""
    now = repr(own.now)
    what = "it does not occur" if not own.now else f"it reads {now if len(now) < BRIEF else 'otherwise'}"
    return f"With {title(lock)} {what} · {found.recorded}"


def _sentence(one: Outcome) -> str:
    return {"same": "the same as the record", "differs": "it differs", "fails": "it fails"}[one.outcome] + "".join(
        f"\n  {text}" for text in one.said
    )


def _held(program: Program, held: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of the packages that a record of the program names."""
    return _only(records.packages_of(program), held)


def _only(wanted: Iterable[str], held: Mapping[str, str]) -> dict[str, str]:
    return {name: held[name] for name in wanted if name in held}


def _installed(name: str) -> str | None:
    for distribution in (name, nightly_of(name)):
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(distribution)
    return None


@functools.lru_cache(maxsize=8)
def _load(file: Path, lock: str, _mtime: int, _size: int) -> dict[str, Outcome]:
    return from_text(read(file), file, lock)


@functools.lru_cache(maxsize=8)
def _versions(file: Path, lock: str, _mtime: int, _size: int) -> dict[str, str]:
    held: dict[str, str] = {}
    for number, line in enumerate(read(file).split("\n"), start=1):
        text = line.rstrip("\\ ")
        if not text or text.startswith((" ", "#")):
            continue
        try:
            one = Requirement(text)
        except InvalidRequirement:
            one = None
        exact = [pin for pin in one.specifier if pin.operator == "==" and not pin.version.endswith(".*")] if one else []
        pins = [pin.version for pin in exact]
        if one is None or len(pins) != 1:
            cause = f"'{text}' is not a package with its version"
            raise GuideError(file, number, cause, f"run make lock LOCK={lock}")
        if one.marker is None or one.marker.evaluate():
            held[canonicalize_name(one.name)] = pins[0]
    usual = [name.removesuffix(NIGHTLY) for name in held if name.endswith(NIGHTLY)]
    for name in (*usual, *NIGHTLY_OF):
        if (nightly := nightly_of(name)) in held:
            held.setdefault(name, held[nightly])
    return held
