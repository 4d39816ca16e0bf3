"""The processes under this one: adopt what a child leaves behind, name it, and kill it.

`PR_SET_CHILD_SUBREAPER` gives a process the orphans below it, so that even one with a session of its own is found.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil

from hooks import busy

if TYPE_CHECKING:
    from resource import struct_rusage

GRACE = 1.0
_SUBREAPER, _DEATH_SIGNAL = 36, 1


def contained() -> None:
    """Run a command of which nothing outlives this process; the arguments are its seconds, as a limit, and the command.

    What the command says goes to standard output. Standard error says why this process ends with status 1: the status
    of the command, its time limit, or what it left running.
    """
    adopt()
    die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("it was ended"))
    seconds, command = float(sys.argv[1]), sys.argv[2:]
    try:
        process = subprocess.Popen(command, stderr=subprocess.STDOUT)
        limit = busy.Limit(seconds)
        while (code := process.poll()) is None:
            if not (left := limit.left()):
                sys.exit(f"it still ran after {limit.allowed:.0f} s and was killed")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(left)
        if code:
            sys.exit(f"exit status {code}")
        if others := left_behind():
            sys.exit("\n".join(["it left running:", *others]))
    finally:
        kill_children()


def adopt() -> None:
    """Take the orphans below this process for its children, where the system is Linux."""
    _prctl(_SUBREAPER, 1)


def die_with_parent(number: int = signal.SIGKILL, parent: int | None = None) -> None:
    """Have the system send this process a signal when its parent ends, where the system is Linux.

    Args:
        number: the signal.
        parent: the id of the parent, where this process knows it: if that has ended already, the signal comes at once.
    """
    _prctl(_DEATH_SIGNAL, number)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)


def left_behind() -> list[str]:
    """Return a line for each process that is left under this one, after a moment in which it may end by itself."""
    limit = busy.Limit(GRACE)
    while True:
        reap()
        left = _descendants()
        if not left or not limit.left():
            break
        time.sleep(0.02)
    own, said = psutil.Process().cmdline(), []
    for process in left:
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            name = "a forked copy of the program" if line == own else " ".join(line)[:200] or process.name()
            said.append(f"{name} (process {process.pid})")
    return said


def _descendants() -> list[psutil.Process]:
    """Return the live processes under this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def kill_children(*, wait_first: float = 0) -> None:
    """Kill everything under this process and wait until it is gone, ten seconds at most."""
    until = time.monotonic() + wait_first
    while wait_first and time.monotonic() < until and _descendants():
        time.sleep(0.02)
        reap()
    until = time.monotonic() + 10
    while (left := _descendants()) and time.monotonic() < until:
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)
        reap()
    reap()


def reap() -> None:
    """Collect the children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def peak_mib(usage: struct_rusage) -> float:
    """Return the most memory that a process had in RAM at once, in MiB, from what `wait4` says of it."""
    unit = 1 if sys.platform == "darwin" else 1024  # `man 2 getrusage` of each system
    return usage.ru_maxrss * unit / 2**20


def _prctl(option: int, value: int) -> None:
    """Set a property of this process where the system is Linux."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
