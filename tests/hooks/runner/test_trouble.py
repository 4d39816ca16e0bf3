"""When the machine does not play along, or the session is interrupted: nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hooks import busy, launch
from hooks import runner as runs
from hooks.errors import ROOT
from hooks.runner import Block, Runner
from tests import child
from tests.anew import anew
from tests.hooks.runner.kit import PATIENCE, Make, error_of, result_of, run, until_gone
from tests.until import LONG, until

if TYPE_CHECKING:
    from concurrent.futures import Future

    from hooks.runner import Result


BLOCK = {"name": "b", "shown": "b", "line": 1, "source": f"import time; open('begun', 'x'); time.sleep({LONG})"}


def test_a_folder_that_cannot_be_written_is_named(program: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with Runner(preload=(), limit=1, folder=tmp_path / "file") as runner:
        assert "the runner could not start it (Not a directory): free space" in error_of(runner, program("print(1)"))


def test_a_full_disk_is_named(program: Make, tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: the message is the system's."""
    body = """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with open("big", "wb") as file:
            file.write(b"x" * 5000)
    """
    with Runner(preload=(), limit=1) as runner:
        assert "OSError: [Errno 27] File too large" in error_of(runner, program(body))


def test_closing_kills_what_runs(program: Make, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    runner = Runner(preload=(), limit=1)
    body = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep({LONG})"
    running, waiting = (runner.submit_program(program(body, seconds=LONG)) for _ in range(2))
    until(lambda: pid.exists() and pid.read_text(), "the process of the first program")
    runner.close()
    runner.close()
    until_gone(int(pid.read_text()))
    assert "the runner was closed" in str(running.result(timeout=5).error)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        runner.submit_page("p", [Block("a", "1")])


def test_a_job_that_starts_while_its_runner_closes_does_not_run(program: Make) -> None:
    own, told, done = anew(runs), threading.Event(), threading.Event()
    runner = own.Runner(preload=(), limit=1)
    stop = runner._launcher.stop
    closing = threading.Thread(target=runner.close)

    def late_pair() -> tuple[socket.socket, socket.socket]:
        closing.start()
        assert told.wait(busy.stretched(PATIENCE))
        return socket.socketpair()

    def late_stop() -> None:
        told.set()
        assert done.wait(busy.stretched(PATIENCE))
        stop()

    own.socket = SimpleNamespace(socketpair=late_pair)
    runner._launcher.stop = late_stop
    future = runner.submit_program(program("print(1)"))
    future.add_done_callback(lambda _: done.set())
    assert result_of(future).error == "t/p1.py: the runner was closed"
    closing.join(busy.stretched(PATIENCE))
    assert not closing.is_alive()


def test_a_server_that_is_just_starting_is_told_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = launch.Launcher(("json",), tmp_path)
    started, made = launcher._python, []

    def stopped(*arguments: Any) -> subprocess.Popen[bytes]:
        made.append(started(*arguments))
        launcher.stop()
        return made[0]

    monkeypatch.setattr(launcher, "_python", stopped)
    ours, theirs = socket.socketpair()
    try:
        with ours, theirs, pytest.raises(RuntimeError, match="importing json failed: the runner was closed"):
            launcher.launch(theirs, "cpu", {})
        assert made[0].poll() is not None
    finally:
        launcher.close()


def begun(runner: Runner, program: Make, tmp_path: Path, seconds: float) -> tuple[Future[Result], int, int, int]:
    """Start a program that waits, and return its future, its supervisor, its process and a fork of that."""
    pids = tmp_path / "pids"
    body = f"""
        import os, pathlib, time
        if fork := os.fork():
            pathlib.Path({str(pids)!r}).write_text(f"{{os.getppid()}} {{os.getpid()}} {{fork}} .")
        time.sleep({LONG})  # so does its fork, which has open what the program has
    """
    future = runner.submit_program(program(body, seconds=seconds))

    def told() -> bool:
        assert not future.done(), future.result().error
        return pids.exists() and pids.read_text().endswith(".")

    until(told, "the processes of the program", seconds=PATIENCE)
    supervisor, itself, fork, _ = pids.read_text().split()
    return future, int(supervisor), int(itself), int(fork)


@pytest.mark.parametrize("preload", [("json",), ()], ids=["forked", "fresh"])
def test_a_supervisor_that_is_killed_is_named_and_takes_its_program_along(
    preload: tuple[str, ...], program: Make, tmp_path: Path
) -> None:
    with Runner(preload=preload, limit=1) as runner:
        future, supervisor, itself, fork = begun(runner, program, tmp_path, LONG)
        os.kill(supervisor, signal.SIGKILL)
        try:
            error = str(result_of(future).error)
        finally:
            os.kill(fork, signal.SIGKILL)  # of those that a supervisor leaves the system kills the program alone
        assert "its supervisor was killed, perhaps by the system: free memory, and run it again" in error
        until_gone(supervisor, itself)
        assert run(runner, program("print(1)")).ok


def test_a_supervisor_that_falls_silent_is_given_up(program: Make, tmp_path: Path) -> None:
    own = anew(runs)
    own.PATIENCE, own.busy = 0.5, anew(busy)
    own.busy.MOST = 4
    with own.Runner(preload=("json",), limit=1) as runner:
        future, supervisor, itself, fork = begun(runner, program, tmp_path, 4)
        os.kill(supervisor, signal.SIGSTOP)
        try:
            error = str(result_of(future).error)
            assert "its time limit is 4 s, and nothing was heard of it for 16.5 s: run it again when" in error
            assert run(runner, program("print(1)")).ok
        finally:
            os.kill(supervisor, signal.SIGCONT)
        until_gone(supervisor, itself, fork)  # it goes on, finds nobody who listens, and ends what it watched


@pytest.mark.parametrize("begun", [True, False], ids=["running", "not yet begun"])
@pytest.mark.parametrize("goodbye", [True, False], ids=["closed", "died"])
def test_a_fresh_interpreter_tells_a_runner_that_closed_from_one_that_died(
    goodbye: bool, begun: bool, program: Make, tmp_path: Path
) -> None:
    """What a runner has open is closed before its process is seen to end: here it lives on in both cases."""
    launcher = launch.Launcher((), tmp_path)
    ours, theirs = socket.socketpair()
    with ours:
        message = runs._message("cpu", 0, LONG) | {"name": "x", "blocks": [BLOCK], "folder": str(launcher.folder())}
        base = Path(message["folder"]).parent
        with theirs:
            process = launcher.launch(theirs, "cpu", {})
        assert process is not None
        if begun:
            ours.sendall(json.dumps(message).encode() + b"\n")
            until((base / "1" / "cwd" / "begun").exists, "the first line of the block")
        if goodbye:
            launch.leave(ours)
    assert process.wait(timeout=busy.stretched(PATIENCE)) == 0
    assert not (base / "1").exists()
    assert base.exists() is goodbye
    launcher.close()
    assert not base.exists()


SESSION = """
import os, subprocess, sys, time
from tests.plugin_runner import SHARED, runner_of
from hooks.runner import Block, Runner
from tests import child

def test_long(request):
    request.config.stash[SHARED].runner = Runner(preload={preload!r})
    source = "import os, subprocess, time\\np = subprocess.Popen(['sleep', '300'], start_new_session=True)\\n" \\
             "open({pids!r}, 'w').write(f'{{os.getpid()}} {{p.pid}}')\\ntime.sleep(300)"
    runner_of(request.config).submit_page("p", [Block("b", source)], devices_wanted=0, seconds=250).result(240)
"""


@pytest.mark.parametrize("preload", [("json",), ()], ids=["forked", "fresh"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
def test_a_session_that_is_interrupted_leaves_nothing(
    how: signal.Signals, preload: tuple[str, ...], tmp_path: Path
) -> None:
    """Ctrl-C, a polite kill and a rude one: the processes, their folders and the server go."""
    pids, temporary = tmp_path / "pids", tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "test_it.py").write_text(SESSION.format(pids=str(pids), preload=preload))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.plugin_runner",
        "-p",
        "no:cacheprovider",
        "test_it.py",
    ]
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with child.started(command, cwd=tmp_path, env=env, start_new_session=True, **pipes) as session:
        session.wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        family = [one.pid for one in session.look()]
        assert set(map(int, pids.read_text().split())) <= set(family)
        os.kill(session.process.pid, how)
        session.process.wait(timeout=busy.stretched(child.PATIENCE))
        until_gone(*family)
        until(lambda: not any(temporary.glob("guide-*")), "the end of the folders of its programs")
