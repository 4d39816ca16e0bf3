"""Run programs and labs and write their records: `python -m hooks.record [PATTERN ...]`, `make record ARGS=...`.

Without a pattern, what has no current record is run. A pattern is a path under `snippets/` or of a lab, a part of one,
or a shell pattern (`strategies/*`); what it names is run and its record rewritten, also when it is current.

With `--lock NAME`, in an environment of that lock, the same for the outcomes in `locks/NAME/`; no record is written.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import signal
import sys
import time
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from hooks import busy, compare, devices, here, lab_runs, labs, leave, locks, programs, records
from hooks.errors import ROOT, GuideError
from hooks.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hooks.outcome import Result
    from hooks.programs import Program


@dataclass(frozen=True)
class Outcome:
    """What became of one record: `new`, `changed`, `unchanged`, `written` (a lab), or `failed` with the reason.

    `idle` is a program that leaves the GPU alone: it gets no record for one.

    Under another lock: `same`, `differs` or `fails`, as the outcome says; `failed` where that is not what is on file.
    """

    path: str
    word: str
    seconds: float
    detail: str = ""


def chosen(patterns: Sequence[str], device: str, *, missing: bool = False, lock: str = "") -> list[Program]:
    """Return the programs to run.

    Args:
        patterns: what to run; with none, what has no current record.
        device: whose records.
        missing: leave out the programs that have a record, current or not.
        lock: another lock, whose outcomes count instead of records.

    Raises:
        GuideError: one of them breaks a rule.
    """
    # Only what is asked for is read: a program that breaks a rule keeps no other from being recorded.
    asked = [path for path in programs.paths() if not patterns or any(_matches(path, pattern) for pattern in patterns)]
    found = [programs.load(path) for path in asked]
    if missing:
        return [one for one in found if _state(one, device, lock) == "missing"]
    return found if patterns else [one for one in found if _state(one, device, lock) != "current"]


def chosen_labs(patterns: Sequence[str], device: str, *, missing: bool = False) -> list[Path]:
    """Return the scripts of the labs to run; a lab has one record, so another device than the CPU must be asked for."""
    found = labs.scripts()
    if patterns:
        found = [one for one in found if any(_matches(one.relative_to(ROOT).as_posix(), name) for name in patterns)]
    if missing:
        return [one for one in found if not one.with_suffix(".ipynb").exists()]
    return found if patterns else [one for one in found if device == "cpu" and _outdated_lab(one)]


def record(
    found: Sequence[Program],
    device: str,
    *,
    check: bool = False,
    lock: str = "",
    runner: Runner | None = None,
    out: TextIO | None = None,
) -> list[Outcome]:
    """Run programs and write their records, a line for each as it ends; with `check`, compare and write nothing.

    With `lock`, their outcomes under that lock instead.
    """
    others = busy.stretched(1.0) > 1  # asked before the first of these programs runs
    own = runner is None
    runner = runner or Runner()
    outcomes: list[Outcome] = []
    try:
        waiting = {runner.submit_program(program, device): program for program in found}
        width = max((len(program.path) for program in found), default=0)
        for future in as_completed(waiting):
            program, result = waiting[future], future.result()
            if lock:
                done = _settle_lock(program, lock, result, check=check)
            else:
                slow = others or result.seconds > program.options.seconds
                done = _settle(program, device, result, check=check, slow=slow)
            outcomes.append(done)
            _say(done, width, out)
    finally:
        if own:
            runner.close()
    return sorted(outcomes, key=lambda one: one.path)


def record_lab(script: Path, device: str, *, check: bool = False, out: TextIO | None = None) -> Outcome:
    """Execute a lab and write its record; with `check`, execute it and compare."""
    path, start = script.relative_to(ROOT).as_posix(), time.perf_counter()
    try:
        if check:
            lab_runs.check(script, device)
        else:
            lab_runs.record(script, device=device, hardware=devices.hardware(device))
        done = Outcome(path, "unchanged" if check else "written", time.perf_counter() - start)
    except Exception as error:
        done = Outcome(path, "failed", time.perf_counter() - start, str(error).strip())
    _say(done, len(path), out)
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 1 where a program failed or, with `--check`, differs."""
    parser = argparse.ArgumentParser(prog="make record ARGS=...", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "patterns", nargs="*", metavar="PATTERN", help="programs to run (default: all without a current record)"
    )
    parser.add_argument("--device", choices=sorted(devices.TABLE), default="cpu", help="where to run (default: cpu)")
    parser.add_argument("--missing", action="store_true", help="run only programs that have no record at all")
    parser.add_argument("--check", action="store_true", help="compare with the records, write nothing")
    parser.add_argument("--lock", default="", help="the outcomes of this lock (default: none)")
    options = parser.parse_args(arguments)
    if options.lock and options.device != "cpu":
        parser.error(f"--lock {options.lock}: other locks run on the CPU")
    try:
        if options.lock:
            _refuse_unknown_lock(options.lock)
            locks.refuse_other_versions(options.lock)
        why = devices.present(options.device)
        if why:
            print(why, file=sys.stderr)
            return 1
        # To check without a pattern is to check everything.
        patterns = options.patterns or (["*"] if options.check else [])
        found = chosen(patterns, options.device, missing=options.missing, lock=options.lock)
        scripts = [] if options.lock else chosen_labs(patterns, options.device, missing=options.missing)
        _refuse_unknown(options.patterns, options.lock)
        outcomes = record(found, options.device, check=options.check, lock=options.lock)
        outcomes += [record_lab(script, options.device, check=options.check) for script in scripts]
    except GuideError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: all processes are ended; the records written so far stay", file=sys.stderr)
        return 128 + signal.SIGINT
    if options.lock and not options.check and not outcomes:
        try:
            locks.write(options.lock, {})  # programs may be gone
        except (GuideError, OSError) as error:
            print(f"the outcomes cannot be written: {error}", file=sys.stderr)
            return 1
    failed = [one for one in outcomes if one.word == "failed"]
    if not outcomes:
        print("every outcome is current" if options.lock else "every record is current")
    for one in failed:
        print(f"failed: {one.path}", file=sys.stderr)
    return 1 if failed else 0


def _settle(program: Program, device: str, result: Result, *, check: bool, slow: bool = False) -> Outcome:
    """Write the record of a program that went well, or compare with it; say which.

    A machine that was busy with something else (`slow`) only adds to the seconds: where the last record of the same
    program, versions and machine has fewer, these stay.
    """
    fresh = result.record
    if fresh is None:
        return Outcome(program.path, "failed", result.seconds, result.error or "")
    why = ""
    try:
        old = records.load(program, device)
        why = records.why_stale(program, device) if check else ""
    except GuideError as error:
        if check:
            return Outcome(program.path, "failed", result.seconds, str(error))
        old = None
    if check:
        found = [why] if old is None or why else _differences(program, device, old, fresh)
        return Outcome(program.path, "failed" if found else "unchanged", result.seconds, "\n".join(found))
    if result.idle:
        why = "it hides the GPU or puts nothing on it, so no record is written: its record for the CPU says all"
        return Outcome(program.path, "idle", result.seconds, why)
    if cause := here.named("its record", records.to_text(fresh)):
        return Outcome(program.path, "failed", result.seconds, f"{cause}: {here.CURE}")
    same = old is not None and old.versions == fresh.versions and not _differences(program, device, old, fresh)
    if slow and old is not None and same and (old.sha256, old.hardware) == (fresh.sha256, fresh.hardware):
        slow = fresh.seconds < old.seconds
        fresh = replace(fresh, seconds=min(old.seconds, fresh.seconds))
    try:
        records.write(fresh)
    except OSError as error:
        why = f"its record cannot be written ({error.strerror or error}); what was there stays"
        return Outcome(program.path, "failed", result.seconds, why)
    said = "the machine was busy: the seconds in this record may be too many, record it again when it is not"
    word = "new" if old is None else "unchanged" if same else "changed"
    return Outcome(program.path, word, result.seconds, said if slow else "")


def _settle_lock(program: Program, lock: str, result: Result, *, check: bool) -> Outcome:
    """Write what a program did under another lock, or compare with what is on file.

    What the machine ended says nothing about the versions: nothing is written.
    """
    if result.broken:
        return Outcome(program.path, "failed", result.seconds, result.error or "")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        fresh = locks.outcome_of(program, lock, result, today)
        found = locks.unexpected(program, lock, fresh) if check else []
        if not check:
            if cause := here.named("its outcome", "\n".join(fresh.said)):
                raise GuideError(program.file, 0, cause, here.CURE)
            locks.write(lock, {program.path: fresh})
    except (GuideError, OSError) as error:
        return Outcome(program.path, "failed", result.seconds, str(error))
    if found:
        return Outcome(program.path, "failed", result.seconds, "\n".join([*found, result.error or ""]).rstrip())
    return Outcome(program.path, fresh.outcome, result.seconds, "\n".join(fresh.said))


def _differences(program: Program, device: str, old: records.Record, fresh: records.Record) -> list[str]:
    tolerance = program.options.tolerance * devices.TABLE[device].tolerance_factor
    return [str(one) for one in compare.differences(old, fresh, tolerance)]


def _say(done: Outcome, width: int, out: TextIO | None) -> None:
    print(f"{done.path:{width}}  {done.seconds:6.1f} s  {done.word}", file=out, flush=True)
    if done.detail:
        print(done.detail, file=out, flush=True)


def _refuse_unknown(patterns: Sequence[str], lock: str) -> None:
    """Raise for a pattern that names nothing; with a lock labs do not run, so they count only without one."""
    paths = programs.paths()
    what, cure = "no program", "name a path below snippets/"
    if lock:
        cure += " (labs run with the versions of uv.lock only)"
    else:
        paths += [one.relative_to(ROOT).as_posix() for one in labs.scripts()]
        what, cure = f"{what} and no lab", f"{cure}, or a lab"
    for pattern in patterns:
        if not any(_matches(path, pattern) for path in paths):
            raise GuideError(programs.SNIPPETS, 0, f"{what} matches '{pattern}'", cure)


def _refuse_unknown_lock(lock: str) -> None:
    if lock not in (known := locks.names()):
        raise GuideError(locks.FOLDER, 0, f"there is no lock '{lock}'", f"name one of {', '.join(known)}")


def _matches(path: str, pattern: str) -> bool:
    whole = path if path.startswith(f"{labs.FOLDER}/") else f"snippets/{path}"
    return pattern in whole or any(fnmatch.fnmatchcase(name, pattern) for name in (path, whole))


def _state(program: Program, device: str, lock: str) -> str:
    if lock:
        return locks.find(program, lock)[0]
    try:
        return records.state(program, device)
    except GuideError:
        return "stale"  # a broken record is made anew


def _outdated_lab(script: Path) -> bool:
    try:
        labs.check(script)
    except GuideError:
        return True
    return False


if __name__ == "__main__":
    leave.run(main)
