"""A time limit grows with what else wants the processor, and ends all the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from hooks import busy, launch
from hooks.runner import Runner
from tests.hooks.runner.kit import LONG, Make, error_of, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.parametrize(("load", "seconds"), [(0.0, 10), (1.9, 10), (2.0, 10), (3.0, 15), (7.9, 39.5), (100.0, 40)])
def test_it_grows_with_the_load_of_each_core(load: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy.devices, "cores", lambda: 2)
    monkeypatch.setattr(busy.os, "getloadavg", lambda: (load, 50.0, 50.0))
    assert busy.stretched(10) == pytest.approx(seconds)


def test_it_stays_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OSError

    monkeypatch.setattr(busy.os, "getloadavg", fails)
    assert busy.stretched(10) == 10


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """A runner whose supervisors read three times as much load as there are cores."""
    source = "import os\nfrom hooks import devices\nos.getloadavg = lambda: (3.0 * devices.cores(), 0.0, 0.0)\n"
    (tmp_path / "pretended_load.py").write_text(source)
    monkeypatch.setitem(launch.FIXED_ENV, "PYTHONPATH", str(tmp_path))
    with Runner(preload=("pretended_load",), limit=1) as runner:
        yield runner


def test_a_program_slowed_by_others_runs_to_its_end(loaded: Runner, program: Make) -> None:
    assert run(loaded, program("import time; time.sleep(6)", seconds=3)).ok


def test_one_that_hangs_is_killed_all_the_same(loaded: Runner, program: Make) -> None:
    started = time.monotonic()
    error = error_of(loaded, program(f"import time; time.sleep({LONG})", seconds=1))
    assert time.monotonic() - started < LONG / 2
    assert "it still ran after 1 s and was killed" in error
    assert "(a busy machine had stretched that to 3 s)" in error
