"""A time limit grows with what else wants the processor, and ends all the same."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hooks import busy, launch, server
from hooks.runner import Runner
from tests.anew import anew
from tests.hooks.runner.kit import Make, error_of, run
from tests.until import LONG

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def own() -> Any:
    """Return the module for one test alone: the limits of what runs beside it are those of this machine."""
    return anew(busy)


@pytest.mark.parametrize(("load", "seconds"), [(0.0, 10), (1.9, 10), (2.0, 10), (3.0, 15), (7.9, 39.5), (100.0, 100)])
def test_it_grows_with_the_load_of_each_core(load: float, seconds: float, own: Any) -> None:
    own.devices = SimpleNamespace(cores=lambda: 2)
    own.os = SimpleNamespace(getloadavg=lambda: (load, 50.0, 50.0))
    assert own.stretched(10) == pytest.approx(seconds)


def test_it_stays_where_the_system_does_not_say(own: Any) -> None:
    def fails() -> None:
        raise OSError

    own.os = SimpleNamespace(getloadavg=fails)
    assert own.stretched(10) == 10


def test_a_limit_asks_again_each_time_that_it_is_reached(own: Any) -> None:
    now, load = 50.0, 0.0
    own.devices = SimpleNamespace(cores=lambda: 1)
    own.os = SimpleNamespace(getloadavg=lambda: (load, 0.0, 0.0))
    own.time = SimpleNamespace(monotonic=lambda: now)
    limit = own.Limit(10)
    now, load = 59.0, 2.0
    assert (limit.left(), limit.allowed) == (1, 10)
    now = 60.0
    assert (limit.left(), limit.allowed) == (10, 20)
    now, load = 70.0, 3.0
    assert (limit.left(), limit.allowed) == (10, 30)
    now, load = 75.0, 1.0
    assert limit.left() == 5, "it never shrinks"
    now, load = 150.0, 99.0
    assert (limit.left(), limit.allowed) == (0, 100)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """A runner whose supervisors read four times as much load as there are cores."""
    source = "import os\nfrom hooks import devices\nos.getloadavg = lambda: (4.0 * devices.cores(), 0.0, 0.0)\n"
    (tmp_path / "pretended_load.py").write_text(source)
    monkeypatch.setitem(launch.FIXED_ENV, "PYTHONPATH", str(tmp_path))
    with Runner(preload=("pretended_load",), limit=1) as runner:
        yield runner


def test_a_program_slowed_by_others_runs_to_its_end(loaded: Runner, program: Make) -> None:
    assert run(loaded, program("import time; time.sleep(4)", seconds=3)).ok


def test_one_that_hangs_is_killed_all_the_same(loaded: Runner, program: Make) -> None:
    started = time.monotonic()
    error = error_of(loaded, program(f"import time; time.sleep({LONG})", seconds=1))
    assert time.monotonic() - started < LONG / 2
    assert "it still ran after 1 s and was killed" in error
    assert "(a busy machine had stretched that to 4 s)" in error


def test_its_line_is_found_though_the_answer_comes_in_pieces() -> None:
    """As a program on a busy machine writes it: about ten writes, and its own line is not the first."""
    reader, writer = os.pipe()
    head, frames = "Current thread 0x1 (most", ' recent call first):\n  File "/lib/a.py", line 3 in f\n  File "'
    pieces = [head, frames, "/b.", "py"]
    pieces += ['", line ', "12", " in ", "g\n", '  File "/b.py", line 40 in <module>\n']

    def write() -> None:
        for piece in pieces:
            time.sleep(0.01)
            os.write(writer, piece.encode())

    with subprocess.Popen(["sleep", str(LONG)]) as process, os.fdopen(reader), os.fdopen(writer):
        (says := threading.Thread(target=write)).start()
        assert server._running_line(process.pid, reader, {"file": "/b.py"}) == 12
        says.join()
