"""The script that runs the tests again and again sees failures and what a run leaves."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import groupby
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from hooks.errors import ROOT
from tests import child, sturdy
from tests.until import LONG, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BAD = """
import logging, subprocess, sys, tempfile

def test_leaves_a_server_and_a_file():
    open(tempfile.gettempdir() + "/forgotten", "w").close()
    code = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print('up', flush=True); time.sleep(99)"
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert server.stdout.readline() == b"up\\n"
    server.stdout.close()
    server.returncode = 0

def test_fails():
    logging.error("a line of a log is no test")
    assert False
"""

MEET = """
import os, pathlib, time

def test_one():
    there = pathlib.Path({there!r})
    (there / str(os.getpid())).touch()
    until = time.monotonic() + 100
    while len(list(there.iterdir())) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
"""


def test_about_every_other_run_keeps_the_tests_of_a_file_together(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [SimpleNamespace(path=f"{file}.py", name=name) for file in "abcd" for name in range(8)]
    kept, orders = 0, set()
    for seed in range(40):
        monkeypatch.setenv(sturdy.SEED, f"0-{seed}")
        shuffled, again = list(tests), list(tests)
        sturdy.pytest_collection_modifyitems(shuffled)  # type: ignore[arg-type]
        sturdy.pytest_collection_modifyitems(again)  # type: ignore[arg-type]
        assert shuffled == again
        kept += len(list(groupby(shuffled, lambda one: one.path))) == 4
        orders.add(tuple((one.path, one.name) for one in shuffled))
    assert 10 < kept < 30
    assert len(orders) == 40


def alone(folder: Path, tests: str) -> list[str]:
    """Write tests that know nothing of this project, and return the arguments of pytest that run them."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(tests)
    return ["-c", str(folder / "pytest.ini"), "-p", "no:cacheprovider", str(folder)]


def test_failures_and_leftovers_of_a_run_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = alone(tmp_path, BAD)
    ((failed, left, *_),) = sturdy.repeat(1, 1, 0, arguments)
    assert [name.split("::")[-1] for name in failed] == ["test_fails"]
    assert len(left) == 2
    assert ", listens on " in left[0]
    assert left[1] == "file forgotten"
    assert sturdy.started_by(f"{psutil.Process().pid}-0") == []
    assert "assert False" in capsys.readouterr().out


def test_good_runs_beside_each_other_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other, so they pass only beside each other."""
    there, temporary = tmp_path / "there", tmp_path / "tmp"
    for folder in (there, temporary):
        folder.mkdir()
    monkeypatch.setattr(sturdy, "mkdtemp", partial(mkdtemp, dir=temporary))
    arguments = alone(tmp_path, MEET.format(there=str(there)))
    outcomes = list(sturdy.repeat(2, 2, 0, arguments))
    assert [(list(failed), left) for failed, left, *_ in outcomes] == [([], []), ([], [])]
    assert list(temporary.glob("sturdy-*")) == []


BEGINS = """
import pathlib, time

def test_it():
    pathlib.Path({there!r}).touch()
    time.sleep({long})
"""


def test_a_run_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its time is up when its test has begun: an interruption while Python starts would end it without a word."""
    there = tmp_path / "there"
    arguments = alone(tmp_path, BEGINS.format(there=str(there), long=LONG))

    def clock() -> float:
        return time.monotonic() + (LONG if there.exists() else 0)

    monkeypatch.setattr(sturdy, "SECONDS", LONG)
    monkeypatch.setattr(sturdy, "time", SimpleNamespace(monotonic=clock, sleep=time.sleep))
    ((failed, left, seconds, *_),) = sturdy.repeat(1, 1, 0, arguments)
    assert list(failed) == [f"FAILED the run: not done after {LONG} s"]
    assert left == []
    assert LONG < seconds < 1.5 * LONG
    assert "KeyboardInterrupt" in capsys.readouterr().out


@pytest.mark.parametrize("during", ["left", "rmtree"])
def test_a_run_whose_end_is_interrupted_leaves_no_folder_and_is_told(
    during: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = alone(tmp_path, "def test_it():\n    pass\n")
    (place := tmp_path / "place").mkdir()
    monkeypatch.setattr(sturdy, "mkdtemp", partial(mkdtemp, dir=place))
    interruptions = [SystemExit(143)]
    look, remove = sturdy.left, shutil.rmtree

    def interrupted(does: Callable[..., Any], *asked: Any, **options: Any) -> Any:
        found = does(*asked, **options)
        if interruptions:
            raise interruptions.pop()
        return found

    monkeypatch.setattr(sturdy, "left", partial(interrupted, look) if during == "left" else look)
    removes = partial(interrupted, remove) if during == "rmtree" else remove
    monkeypatch.setattr(sturdy, "shutil", SimpleNamespace(rmtree=removes))
    stopped: list[tuple[sturdy.Outcome, bool]] = []
    with pytest.raises(SystemExit):
        list(sturdy.repeat(1, 1, 0, arguments, lambda *told: stopped.append(told)))
    assert not interruptions
    (((failed, left, *_, tests), ended),) = stopped
    assert ended
    assert (list(failed), left, tests) == ([], [], {"passed": 1})
    assert list(place.glob("sturdy-*")) == []


ONE_FAILS_THEN_WAITS = """
import os, pathlib, time
import pytest

there, begun = pathlib.Path({there!r}), []

def stays():
    try:
        with open(there / "stays", "x") as file:
            file.write(str(os.getpid()))
        return True
    except FileExistsError:
        return (there / "stays").read_text() == str(os.getpid())

@pytest.mark.parametrize("number", [1, 2])
def test_it(number):
    begun.append(number)
    if stays():
        assert len(begun) == 2
        (there / "waits").touch()
        time.sleep({long})
    while not (there / "waits").exists():
        time.sleep(0.05)
"""


def test_what_had_failed_in_a_run_that_is_ended_early_is_told(tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()
    arguments = alone(tmp_path, ONE_FAILS_THEN_WAITS.format(there=str(there), long=LONG))
    stopped: list[tuple[sturdy.Outcome, bool]] = []
    outcomes = sturdy.repeat(2, 2, 0, arguments, lambda *told: stopped.append(told))
    assert list(next(outcomes).failed) == []
    assert stopped == []
    outcomes.close()
    (((failed, left, *_, tests), ended),) = stopped
    assert not ended
    assert [re.sub(r"\[\d\]", "", name.split("::")[-1]) for name in failed] == ["test_it"]
    assert (left, tests) == ([], {"failed": 1})


def test_a_run_that_had_ended_before_the_others_were_ended_is_told(tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()
    arguments = alone(tmp_path, MEET.format(there=str(there)))
    stopped: list[tuple[sturdy.Outcome, bool]] = []
    outcomes = sturdy.repeat(2, 2, 0, arguments, lambda *told: stopped.append(told))
    next(outcomes)
    until(lambda: all(child.ended(int(pid)) for pid in os.listdir(there)), "the other's end")
    outcomes.close()
    (((failed, left, *_, tests), ended),) = stopped
    assert ended
    assert (list(failed), left, tests) == ([], [], {"passed": 1})


LOSES_ONE = """
import pathlib, time

def test_it():
    try:
        pathlib.Path({there!r}).touch()
        time.sleep({long})
    except KeyboardInterrupt:
        pathlib.Path({lost!r}).touch()
    time.sleep({long})
"""


def test_a_run_that_loses_an_interruption_gets_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, lost = tmp_path / "there", tmp_path / "lost"
    arguments = alone(tmp_path, LOSES_ONE.format(there=str(there), lost=str(lost), long=LONG))
    run = sturdy.Run(0, "0-0", arguments, LONG)
    wait, waits = run.process.wait, list[float | None]()

    def at_first_until_lost(timeout: float | None = None) -> int:
        """Wait no minute for what will not come."""
        waits.append(timeout)
        if len(waits) > 1:
            return wait(timeout)
        until(lost.exists, "the loss of the first interruption")
        raise subprocess.TimeoutExpired(run.process.args, timeout or 0)

    monkeypatch.setattr(run.process, "wait", at_first_until_lost)
    try:
        until(there.exists, "the test of the run")
        run.stop()
        assert run.outcome().left == []
    finally:
        run.process.kill()
    assert run.process.returncode == pytest.ExitCode.INTERRUPTED


def test_the_load_ends_with_its_block() -> None:
    with sturdy.load(True):
        loops = [one for one in psutil.Process().children() if sturdy.LOOP in child.words(one)]
        assert loops
    assert not any(loop.is_running() for loop in loops)


FAILS_THEN_WAITS = """
import pathlib, time
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_it(number):
    first, second = pathlib.Path({there!r} + "1"), pathlib.Path({there!r})
    if not first.exists():
        first.touch()
        assert False, "the first"
    second.touch()
    time.sleep({long})
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
def test_nothing_outlives_a_run_that_is_killed(how: signal.Signals, tmp_path: Path) -> None:
    """A polite kill ends the tests and what they started, and tells what had failed; a rude one ends the load."""
    there, temporary = tmp_path / "there", tmp_path / "tmp"
    temporary.mkdir()
    arguments = alone(tmp_path, FAILS_THEN_WAITS.format(there=str(there), long=LONG))
    command = [sys.executable, "-m", "tests.sturdy", "--runs", "1", "--load", *arguments]
    env = {**os.environ, "TMPDIR": str(temporary)}
    said = tmp_path / "said"
    with (
        said.open("w") as to,
        child.started(command, cwd=ROOT, env=env, stdout=to, stderr=subprocess.STDOUT) as started,
    ):
        started.wait_for(there.exists)
        family = started.look()
        loops = [one for one in family if sturdy.LOOP in child.words(one)]
        assert loops
        started.process.send_signal(how)
        started.process.wait(timeout=child.PATIENCE)
        watched = family if how == signal.SIGTERM else loops
        assert psutil.wait_procs(watched, timeout=child.PATIENCE)[1] == []
        assert how == signal.SIGKILL or ("the first" in said.read_text() and list(temporary.iterdir()) == [])
