"""Run every program of the guide, and compare what it does with its record."""

from __future__ import annotations

import pytest

from hooks import compare, devices, programs, records, results
from tests.plugin_runner import device_of, request_program

EVERY = pytest.mark.parametrize("program", programs.paths())


@EVERY
def test_runs(program: str, request: pytest.FixtureRequest) -> None:
    """It runs to its end within its time, enters each of its sections, and leaves nothing behind."""
    result = request_program(request.config, programs.load(program)).result()
    assert result.ok, result.error
    assert result.record is not None
    assert result.record.claims, "a program shows something"


@EVERY
def test_does_what_its_record_says(program: str, request: pytest.FixtureRequest) -> None:
    """It prints, claims and measures what the site shows; its record was made from this source and these versions."""
    loaded, device = programs.load(program), device_of(request.config)
    result = request_program(request.config, loaded).result()
    if result.record is None:
        pytest.fail("it did not run to its end (see test_runs)")
    if device == "cpu" or records.load(loaded, device) is not None:
        record = records.current(loaded, device)
        if other := compare.versions(record, result.record):
            results.forget(results.program_key(loaded, device))
            pytest.fail("\n".join([*other, "remove .venv and run again"]))
        tolerance = loaded.options.tolerance * devices.TABLE[device].tolerance_factor
        found = compare.differences(record, result.record, tolerance)
        if found:
            results.forget(results.program_key(loaded, device))
            pytest.fail("\n".join([*map(str, found), f"if that is right: make record ARGS={program}"]))
    assert result.record.claims == records.current(loaded, "cpu").claims, "questions hang on these claims"


@EVERY
def test_a_file_beside_it_brings_its_own(program: str) -> None:
    """A program also names the files that those it names need: a reader takes what its card offers, and it runs."""
    loaded = programs.load(program)
    others = [path for path in programs.paths() if programs.SNIPPETS / path in loaded.companions]
    needed = {name for path in others for name in programs.load(path).options.files}
    assert needed <= {loaded.file.name, *loaded.options.files}


def test_every_record_has_its_program() -> None:
    """No record outlives its program."""
    known = {records.file_of(program, device) for program in programs.all_programs() for device in devices.TABLE}
    endings = tuple(f".{device}.json" for device in devices.TABLE)
    found = [programs.SNIPPETS / path for path in programs.files() if path.endswith(endings)]
    assert found
    assert [file.name for file in found if file not in known] == []
