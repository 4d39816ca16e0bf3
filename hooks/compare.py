# ruff: noqa: RUF001, RUF002 - the sign of multiplication is one of the units
"""Compare a fresh run of a program with its record.

The rules, part by part:

Output, section by section and line by line:
    Text is equal, character by character. In a line with a timing, a run of spaces equals any other (columns shift).
    A whole number is equal. A number with digits behind its point or an exponent may differ by the tolerance, relative
    to the larger of the two, plus `FLOOR`; so may a whole number that stands where the other has a point (`1` for
    `0.99999`).
    A timing is a number before `ns`, `us`, `µs`, `ms`, `s` or `/s` (also `steps/s`), with a space between or not. So is
    a ratio of what was measured, such as times or memory: a number with a point before `x` or `×`. That there is one,
    that it is finite, and its unit must agree; its size is free. `3 x 4`, `3x4` and `3 x` are no timings.
    Digits that belong to a word or a version (`v2`, `2.21.0`) are text.
Claims and errors:
    The same names with equal values; numbers in an error text too.
Measures:
    The same names and types. Whole numbers and text are equal, other numbers agree to the tolerance. Where a name ends
    in `_s`, `_ms`, `_us`, `_x` or `_per_s` the value is free.
Tables:
    The same columns and as many rows. Cells follow the rules of measures, text in them those of output. In a column
    whose name holds a unit of time or of a ratio in square brackets (`step [ms]`, `rate [images/s]`, `gain [x]`,
    `[ratio]`) numbers are free.
Figures:
    The same names, parts, texts and lengths; numbers to the tolerance, plus `SEEN` times the largest number of their
    list, or `FLOOR` times it where an axis is logarithmic. Where the figure says `timing: true` numbers are free. In a
    `timeline` the spans are free but for the lanes and groups that occur.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hooks import unsteady

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hooks.records import Record

FLOOR = 1e-6
# Of the largest number of a drawing: two pixels of an axis of 400, where numbers near 0 have no relative tolerance.
SEEN = 0.005
TIMED_NAME = re.compile(r"_(s|ms|us|x|per_s)$")
_UNIT = r"(?:ns|us|µs|μs|ms|s|[A-Za-z]*/s)(?!\w)|[x×](?!\w|\s*\d)"
_NUMBER = re.compile(
    rf"""(?<![\w.])
    (?P<number>[-+]?(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)\b)
    (?:(?P<unit>[ ]?(?:{_UNIT}))|(?!\w|\.\d))""",
    re.VERBOSE,
)
_TIMED_COLUMN = re.compile(r"\[(?:ns|us|µs|μs|ms|s|x|×|ratio|[^\]]*/s)\]")
_SPACES = re.compile(r" +")


@dataclass(frozen=True)
class Difference:
    """One thing that a fresh run does otherwise than its record says; as text, a sentence.

    Attributes:
        part: of the record: `output`, `claim`, `error`, `measure`, `table` or `figure`.
        name: of the section, the claim and so on; empty for the output outside all sections.
        said: the rest of the sentence, such as ` is False, the record says True`.
        row: of a table, from 1; 0 where it is about the whole.
        now: the text of an error in the fresh run; empty for all else, and for an error that is missing.
    """

    part: str
    name: str
    said: str
    row: int = 0
    now: str = ""

    def __str__(self) -> str:
        """Return the sentence, without a full stop."""
        if self.part == "output":
            where = f"output of section '{self.name}'" if self.name else "output outside all sections"
        else:
            where = f"{self.part} '{self.name}'"
        return where + (f", row {self.row}" if self.row else "") + self.said


def differences(record: Record, fresh: Record, tolerance: float) -> list[Difference]:
    """Return what a fresh run does otherwise than its record says."""
    claims = _equal("claim", record.claims, fresh.claims)
    return [
        *output(record.output, fresh.output, tolerance),
        *(one for one in claims if not unsteady.is_listed(record.program, record.device, one.name)),
        *_equal("error", record.errors, fresh.errors),
        *_measures(record.measures, fresh.measures, tolerance),
        *_tables(record.tables, fresh.tables, tolerance),
        *_figures(record.figures, fresh.figures, tolerance),
    ]


def versions(record: Record, fresh: Record) -> list[str]:
    """Return a sentence for each package whose version in a fresh run is not the record's; Python's own may differ."""
    names = sorted({*record.versions, *fresh.versions} - {"python"})
    return [
        f"it ran with {name} {fresh.versions.get(name, 'missing')}, the record has {record.versions.get(name, 'none')}"
        for name in names
        if fresh.versions.get(name) != record.versions.get(name)
    ]


def output(old: Mapping[str, str], new: Mapping[str, str], tolerance: float) -> Iterator[Difference]:
    """Yield for each section the first line that a fresh run prints otherwise; `old` is what the record holds."""
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new or name not in old:
            said = "nothing was printed, the record has some" if name in old else "the record has none"
            yield Difference("output", name, f": {said}")
            continue
        old_lines, new_lines = old[name].split("\n"), new[name].split("\n")
        for line, (a, b) in enumerate(zip(old_lines, new_lines, strict=False), start=1):
            if not same_text(a, b, tolerance):
                yield Difference("output", name, f", line {line}: it printed {b!r}, the record says {a!r}")
                break
        else:
            if len(old_lines) != len(new_lines):
                line = min(len(old_lines), len(new_lines)) + 1
                said = f", line {line}: {len(new_lines)} lines, the record has {len(old_lines)}"
                yield Difference("output", name, said)


def same_text(old: str, new: str, tolerance: float) -> bool:
    """Say whether a line of text agrees with another by the rules of output."""
    old_parts, new_parts = _NUMBER.split(old), _NUMBER.split(new)
    # Of each number, `split` leaves three parts: the text before it, the number, its unit.
    if len(old_parts) != len(new_parts):
        return False
    timed = any(old_parts[2::3])
    for place, (a, b) in enumerate(zip(old_parts, new_parts, strict=True)):
        if place % 3 == 1:
            free = _timing(a, old_parts[place + 1]) and _timing(b, new_parts[place + 1])
            if not free and not _same_number(a, b, tolerance):
                return False
        elif place % 3 == 2:
            if (a or "").strip() != (b or "").strip():
                return False
        elif a != b and not (timed and _SPACES.sub(" ", a) == _SPACES.sub(" ", b)):
            return False
    return True


def _timing(number: str, unit: str | None) -> bool:
    """Say whether a number with its unit is a timing; a whole number before the sign of multiplication is a count."""
    if not unit or not math.isfinite(float(number.replace(",", ""))):
        return False
    return "." in number or unit.strip() not in ("x", "×")


def _same_number(old: str, new: str, tolerance: float) -> bool:
    a, b = float(old.replace(",", "")), float(new.replace(",", ""))
    whole = re.compile(r"[-+]?[\d,]+\.?")  # a point behind all digits may be that of the sentence
    if whole.fullmatch(old) and whole.fullmatch(new):
        return old == new or ("." in old + new and a == b)
    return _close(a, b, tolerance)


def _close(old: float, new: float, tolerance: float, floor: float = FLOOR) -> bool:
    if math.isinf(old) or math.isinf(new):  # else the tolerance would be infinite as well
        return old == new
    return (
        old == new
        or (math.isnan(old) and math.isnan(new))
        or abs(old - new) <= tolerance * max(abs(old), abs(new)) + floor
    )


def _names(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for name in old:
        if name not in new:
            yield Difference(part, name, " is missing, the record has it")
    for name in new:
        if name not in old:
            yield Difference(part, name, " is new, the record lacks it", now=new[name] if part == "error" else "")


def _equal(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    yield from _names(part, old, new)
    for name in old:
        if name in new and old[name] != new[name]:
            now = new[name] if part == "error" else ""
            yield Difference(part, name, f" is {new[name]!r}, the record says {old[name]!r}", now=now)


def _measures(old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float) -> Iterator[Difference]:
    yield from _names("measure", old, new)
    for name in old:
        if name not in new:
            continue
        a, b = old[name], new[name]
        if type(a) is not type(b):
            said = f" is {type(b).__name__} {b!r}, the record has {type(a).__name__} {a!r}"
            yield Difference("measure", name, said)
        elif not TIMED_NAME.search(name) and not (
            _close(a, b, tolerance) if isinstance(a, float) and isinstance(b, float) else a == b
        ):
            yield Difference("measure", name, f" is {b!r}, the record says {a!r}")


def _tables(old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float) -> Iterator[Difference]:
    yield from _names("table", old, new)
    for name in old:
        if name not in new:
            continue
        a, b = old[name], new[name]
        if a["columns"] != b["columns"]:
            yield Difference("table", name, f" has the columns {b['columns']}, the record has {a['columns']}")
        elif len(a["rows"]) != len(b["rows"]):
            yield Difference("table", name, f" has {len(b['rows'])} rows, the record has {len(a['rows'])}")
        else:
            timed = [bool(_TIMED_COLUMN.search(column)) for column in a["columns"]]
            for at, (old_row, new_row) in enumerate(zip(a["rows"], b["rows"], strict=True), start=1):
                for column, free, one, two in zip(a["columns"], timed, old_row, new_row, strict=True):
                    if not _same_cell(one, two, tolerance, free=free):
                        said = f", column '{column}': {two!r}, the record says {one!r}"
                        yield Difference("table", name, said, row=at)


def _same_cell(old: Any, new: Any, tolerance: float, *, free: bool) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same_cell(old[k], new[k], tolerance, free=False) for k in old)
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, str) and isinstance(new, str):
        return same_text(old, new, tolerance)
    if isinstance(old, (int, float)) and isinstance(new, (int, float)):
        whole = isinstance(old, int) and isinstance(new, int)
        return free or (old == new if whole else _close(old, new, tolerance))
    return False


def _figures(old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float) -> Iterator[Difference]:
    yield from _names("figure", old, new)
    for name in old:
        if name in new:
            for said in _part("", old[name], new[name], tolerance, free=False, scale=0.0, logs=""):
                yield Difference("figure", name, said)


def _part(
    where: str, old: Any, new: Any, tolerance: float, *, free: bool, scale: float, logs: str, axis: str = "y"
) -> Iterator[str]:
    """Compare a part of a figure; `logs` names its logarithmic axes, `axis` is the one that a number belongs to."""
    if isinstance(old, dict) and isinstance(new, dict):
        free = free or old.get("timing") is True
        logs = "".join(one for one in "xy" if str(old.get(f"{one}scale")).startswith("log")) or logs
        if old.get("kind") == new.get("kind") == "timeline":
            groups = [sorted({(span["lane"], str(span.get("group"))) for span in one["spans"]}) for one in (old, new)]
            if groups[0] != groups[1]:
                yield f"{where}: lanes and groups {groups[1]}, the record has {groups[0]}"
            old, new = ({key: value for key, value in one.items() if key != "spans"} for one in (old, new))
        if old.keys() != new.keys():
            yield f"{where}: parts {sorted(new)}, the record has {sorted(old)}"
            return
        for key in old:
            axis = "x" if key == "x" else "y"
            yield from _part(
                f"{where}, {key}", old[key], new[key], tolerance, free=free, scale=0.0, logs=logs, axis=axis
            )
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: {len(new)} entries, the record has {len(old)}"
            return
        scale = max((abs(x) for x in old if isinstance(x, (int, float))), default=scale)
        for at, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _part(f"{where}[{at}]", a, b, tolerance, free=free, scale=scale, logs=logs, axis=axis)
    elif isinstance(old, str) and isinstance(new, str):
        if not same_text(old, new, tolerance):
            yield f"{where}: {new!r}, the record says {old!r}"
    elif isinstance(old, bool) or isinstance(new, bool) or old is None or new is None:
        if old is not new:
            yield f"{where}: {new!r}, the record says {old!r}"
    elif isinstance(old, (int, float)) and isinstance(new, (int, float)):
        if not free and not _close(old, new, tolerance, max(FLOOR, (FLOOR if axis in logs else SEEN) * scale)):
            yield f"{where}: {new!r}, the record says {old!r}"
    else:
        yield f"{where}: {type(new).__name__}, the record has {type(old).__name__}"
