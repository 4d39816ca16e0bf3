"""Run every program of the guide, and compare what it does with its record."""

from __future__ import annotations

import datetime

import pytest

from hooks import compare, devices, locks, programs, records, results
from tests.plugin_runner import device_of, request_program

EVERY = pytest.mark.parametrize("program", programs.paths())


@EVERY
def test_runs(program: str, request: pytest.FixtureRequest) -> None:
    """It runs to its end within its time, enters each of its sections, and leaves nothing behind."""
    result = request_program(request.config, programs.load(program)).result()
    if not result.ok:
        pytest.fail(result.error or "it failed without a word", pytrace=False)
    assert result.record is not None
    assert result.record.claims, "a program shows something"


@EVERY
def test_does_what_its_record_says(program: str, request: pytest.FixtureRequest) -> None:
    """It prints, claims and measures what the site shows; its record was made from this source and these versions."""
    loaded, device = programs.load(program), device_of(request.config)
    result = request_program(request.config, loaded).result()
    if result.record is None:
        pytest.fail("it did not run to its end (see test_runs)", pytrace=False)
    own = device == "cpu" or records.load(loaded, device) is not None
    if own:
        record = records.current(loaded, device)
        if other := compare.versions(record, result.record):
            results.forget(results.program_key(loaded, device))
            pytest.fail("\n".join([*other, "remove .venv and run again"]), pytrace=False)
        tolerance = loaded.options.tolerance * devices.TABLE[device].tolerance_factor
        found = compare.differences(record, result.record, tolerance)
        if found:
            results.forget(results.program_key(loaded, device))
            pytest.fail("\n".join([*map(str, found), f"if that is right: make record ARGS={program}"]), pytrace=False)
    known, claimed = records.current(loaded, "cpu").claims, result.record.claims
    if not own and (other := sorted(name for name in {**known, **claimed} if known.get(name) is not claimed.get(name))):
        said = f"the claims {', '.join(other)} are not those of the record for cpu, on which the questions hang"
        pytest.fail(said, pytrace=False)


@EVERY
def test_a_file_beside_it_brings_its_own(program: str) -> None:
    """A program also names the files that those it names need: a reader takes what its card offers, and it runs."""
    loaded = programs.load(program)
    others = [path for path in programs.paths() if programs.SNIPPETS / path in loaded.companions]
    needed = {name for path in others for name in programs.load(path).options.files}
    assert needed <= {loaded.file.name, *loaded.options.files}


def test_no_record_is_of_a_day_to_come() -> None:
    """The day that pages show is one on which the program ran: at most today, in UTC as the records are."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    found = [
        f"{records.file_of(program, device).name}: it was recorded on {record.recorded}, today is {today}: make record"
        for program in programs.all_programs()
        for device in devices.TABLE
        if (record := records.load(program, device)) and record.recorded > today
    ]
    found += [
        f"{locks.file_of(lock).name}: {path} ran on {one.recorded}, today is {today}: make record LOCK={lock}"
        for lock in locks.names()
        for path, one in locks.load(lock).items()
        if one.recorded > today
    ]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_every_record_has_its_program() -> None:
    """No record outlives its program."""
    known = {records.file_of(program, device) for program in programs.all_programs() for device in devices.TABLE}
    endings = tuple(f".{device}.json" for device in devices.TABLE)
    found = [programs.SNIPPETS / path for path in programs.files() if path.endswith(endings)]
    assert found
    assert [file.name for file in found if file not in known] == []
