"""Turn what a supervisor reports of a process into results: what a program or the blocks of a page did, or why not."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import platform
import signal
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hooks import child, devices, records, shapes
from hooks.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.programs import Program


@dataclass(frozen=True)
class Result:
    """What came of a program or of a block of a page. `output` is what a block printed; a program has a record.

    `broken` tells that the machine ended it, not what it does: it says nothing about the program. `idle` tells that it
    ran beside a GPU that it did not use.
    """

    ok: bool
    error: str | None
    seconds: float
    record: records.Record | None = None
    executed: frozenset[str] = frozenset()
    peak_mib: int = 0
    output: str = ""
    broken: bool = False
    idle: bool = False


@dataclass(frozen=True)
class Ended:
    """How the process of a job ended.

    Args:
        name: the file or page, as messages show it.
        device: where it ran.
        limit: its time limit in seconds.
        said: what it reported, in order: one report of a program, or one for each block.
        end: what its supervisor says of its end; empty where it said nothing.
        trouble: what kept the runner from running it, if anything.
    """

    name: str
    device: str
    limit: float
    said: list[dict[str, Any]]
    end: dict[str, Any]
    trouble: str | None


def of_program(program: Program, ended: Ended) -> Result:
    """Return the result of a program, with its record where it did all that a program must."""
    report = ended.said[0] if ended.said else {}
    error = _wrong(ended, ended.name, report) or report.get("error")
    data, entered = report.get("data", {}), frozenset(report.get("entered", ()))
    if error is None:
        why = shapes.wrong_figures(data["figures"]) or shapes.wrong_tables(data["tables"])
        error = f"{ended.name}: {why}" if why else None
        error = error or _unprintable(ended.name, {"output": report["output"], **data})
    for section in program.sections.values():
        if error is None and section.name not in entered:
            cause = f"section '{section.name}' was never executed"
            error = f"{ended.name}:{section.first}: {cause}: let it run, or remove its markers"
    seconds, peak = _seconds(ended, report), ended.end.get("peak_mib", 0)
    if error is not None:
        # A full disk, a runner that ended, or the system's killer when memory is short.
        full = any(os.strerror(number) in error for number in child.FULL)
        broken = bool(ended.trouble) or ended.end.get("code") == -signal.SIGKILL or full
        return Result(False, _with_streams(error, ended.end), seconds, None, entered, peak, broken=broken)
    record = records.Record(
        program=program.path,
        sha256=program.sha256,
        device=ended.device,
        hardware=devices.hardware(ended.device),
        versions=versions_of(program),
        recorded=datetime.datetime.now(datetime.UTC).date().isoformat(),
        seconds=round(seconds, 1),
        output=report["output"],
        **data,
    )
    return Result(True, None, seconds, record, entered, peak, idle=report.get("idle", False))


def of_page(names: list[str], shown: list[str], ended: Ended) -> list[Result]:
    """Return the result of each block of a page; those after the first that failed say that they did not run."""
    results: list[Result] = []
    failed, peak = "", ended.end.get("peak_mib", 0)
    for at, name in enumerate(names):
        if failed:
            results.append(Result(False, f"{name}: not run, because {failed} failed before it", 0.0))
            continue
        report = ended.said[at] if at < len(ended.said) else {}
        error = report.get("error")
        if error is None and (not report or at == len(names) - 1):
            error = _wrong(ended, name, report, shown[at])
        failed = name if error else ""
        text = _with_streams(error, ended.end) if error else None
        seconds = _seconds(ended, report)
        results.append(Result(error is None, text, seconds, None, frozenset(), peak, report.get("output", "")))
    return results


def versions_of(program: Program) -> dict[str, str]:
    """Return the installed versions of the packages that a record of `program` names, and Python's."""
    found = {"python": platform.python_version()}
    for name in records.packages_of(program):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _wrong(ended: Ended, name: str, report: dict[str, Any], shown: str | None = None) -> str | None:
    """Return what is wrong with the end of a process, None where nothing is."""
    end = ended.end
    code, left = end.get("code"), end.get("left", [])
    if ended.trouble:
        return f"{name}: {ended.trouble}"
    if end.get("timeout"):
        at = f"{shown or name}:{end['line']}" if end.get("line") else name
        cure = "make it do less" if shown else "make it do less, or raise seconds in [tool.guide]"
        waited = end.get("waited", ended.limit)
        busy = f" (a busy machine had stretched that to {waited:g} s)" if waited > ended.limit else ""
        return f"{at}: it still ran after {ended.limit:g} s and was killed: {cure}{busy}"
    if code is not None and code < 0:
        if code == -signal.SIGKILL:
            return f"{name}: it was killed by signal 9 (out of memory?): make it hold less, or free memory"
        return f"{name}: it was killed by signal {-code}: native code stopped it, standard error may say why"
    if not report:
        return f"{name}: it ended with os._exit({code}) before its end: let it run to its last line"
    if code:
        return f"{name}: it ended with code {code} while it left: correct what runs at its exit, as by atexit"
    if left and not report.get("error"):
        return f"{name}: it left a process behind: {'; '.join(left)}: end it, and wait for it, before the last line"
    return None


def _unprintable(name: str, said: dict[str, dict[str, Any]]) -> str | None:
    """Return what is wrong with a text that a page could not show: a control character, or half of one in UTF-16."""
    for part, entries in said.items():
        for entry, value in entries.items():
            for sign in sorted({sign for text in _texts({entry: value}) for sign in text} - {"\n", "\t"}):
                if unicodedata.category(sign) not in ("Cc", "Cs"):
                    continue
                where, cure = f"{part}['{entry}'] holds", "write plain text"
                if part == "output":
                    where, cure = f"section '{entry}' printed" if entry else "it printed", "print plain text"
                return f"{name}: {where} the control character {sign!r}, which a page cannot show: {cure}"
    return None


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of plain data, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _seconds(ended: Ended, report: dict[str, Any]) -> float:
    return report.get("seconds", ended.limit if ended.end.get("timeout") else 0.0)


def _with_streams(error: str, end: dict[str, Any]) -> str:
    """Add the ends of the real standard output and error, which hold what children and native code wrote.

    An exception may say what no encoding has: all that is said is printable.
    """
    for key, title in (("out", "written to standard output by a child or by native code"), ("err", "standard error")):
        if end.get(key):
            error += f"\n-- {title}, last lines --\n{end[key]}"
    return printable(error)
