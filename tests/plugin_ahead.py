"""The pytest plugin that does the long work of fixtures beside the tests, from when collection has ended.

A conftest says what its fixtures will wait for, where selected tests use them:

    def pytest_collection_finish(session):
        ahead_of(session.config).begin(session, "seen", look)

`look(run)` works in a thread; what takes long it does in processes, with `run`, so that Ctrl-C ends it at once. They
must end all that they started when SIGTERM ends them. The fixture returns `ahead_of(config).result("seen")`. Tests
that use it come after those that wait for nothing.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from subprocess import PIPE
from typing import TYPE_CHECKING, Any, Protocol

import psutil
import pytest

from hooks import busy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

# Seconds that a process may take to end what it started.
PATIENCE = 20


class Run(Protocol):
    """Runs a command to its end and returns what it printed.

    Its environment and folder are those of the session's start, with `env` besides: tests change those of this process
    meanwhile. A busy machine has more seconds. It raises `RuntimeError`, with all that was printed, where the command
    failed or the session has ended, and `subprocess.TimeoutExpired` after too many seconds.
    """

    def __call__(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        text: str = "",
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> str: ...


class Ahead:
    """What is done beside the tests of a session, one piece after the other, and the process that does it.

    A piece may ask for the result of one that was begun before it. One at a time, for programs run meanwhile.
    """

    def __init__(self) -> None:
        self._env, self._folder = dict(os.environ), os.getcwd()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ahead")
        self._futures: dict[str, Future[Any]] = {}
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def begin(self, session: pytest.Session, fixture: str, work: Callable[[Run], Any]) -> None:
        """Start the work for a fixture, if selected tests use it, and move these tests to the end.

        Args:
            session: whose collection has ended.
            fixture: its name.
            work: makes its value.
        """
        users = {item for item in session.items if fixture in getattr(item, "fixturenames", ())}
        if users and not session.config.option.collectonly:
            session.items.sort(key=users.__contains__)
            self._futures[fixture] = self._pool.submit(work, self._run)

    def result(self, fixture: str) -> Any:
        """Wait for the value of a fixture that a selected test uses; raise what its work raised."""
        return self._futures[fixture].result()

    def close(self) -> None:
        """End what still goes on."""
        with self._lock:
            self._closed, process = True, self._process
        if process is not None:
            _end(process)
        self._pool.shutdown(cancel_futures=True)

    def _run(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        text: str = "",
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> str:
        options = {"cwd": self._folder, **options, "env": {**self._env, **(env or {})}}
        with self._lock:
            if self._closed:
                raise RuntimeError("the session has ended")
            # A session of its own: what Ctrl-C in a terminal reaches ends it, through `close`.
            self._process = process = subprocess.Popen(
                command, text=True, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True, **options
            )
        try:
            out, err = _said(process, text, seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            with contextlib.suppress(subprocess.TimeoutExpired):  # what left the session may hold the pipes
                process.communicate(timeout=PATIENCE)
            raise
        finally:
            with self._lock:
                self._process = None
        if process.returncode:
            raise RuntimeError(f"{shlex.join(command)} ended with {process.returncode}:\n{out}{err}")
        return out


def _said(process: subprocess.Popen[str], text: str, seconds: float) -> tuple[str, str]:
    """Return what a process prints until its end, on both pipes.

    Raises:
        subprocess.TimeoutExpired: it takes too long, also for a machine as busy as this one.
    """
    limit, given = busy.Limit(seconds), text or None
    while True:
        try:
            return process.communicate(given, timeout=limit.left())
        except subprocess.TimeoutExpired as late:
            given = None  # it has been given
            if not limit.left():
                late.timeout = limit.allowed
                raise


def _end(process: subprocess.Popen[str]) -> None:
    """Let a process end what it started; what is left of its session after a while is killed.

    What it started may outlive it for a moment, and clean up: Playwright's Node removes the folders of its browsers.
    """
    process.terminate()
    until = time.monotonic() + PATIENCE
    while _lives(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    # macOS refuses where only a process is left that has ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _lives(group: int) -> bool:
    """Tell whether a process of a group lives. One that has ended does not, though nobody may ever ask for it."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


AHEAD = pytest.StashKey[Ahead]()


def ahead_of(config: pytest.Config) -> Ahead:
    """Return what is done beside the tests of this session."""
    return config.stash[AHEAD]


def pytest_configure(config: pytest.Config) -> None:
    """Make the place of the work."""
    config.stash[AHEAD] = Ahead()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the work, also after Ctrl-C."""
    ahead = config.stash.get(AHEAD, None)
    if ahead is not None:
        ahead.close()
