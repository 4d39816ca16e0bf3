"""Child processes that a test interrupts or kills."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil

from tests.until import LONG, PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Leaves a process behind. It is bash for a moment, then `setsid`, then `sleep`.
LEAVES = f"setsid sleep {LONG} > /dev/null 2>&1 & until grep -q ^sleep /proc/$!/cmdline; do sleep 0.05; done"


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a command that SIGINT ends, with `Popen`'s options.

    A shell starts a job in the background with SIGINT ignored, and every process below it inherits that.
    """
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, text=True, **options)
    finally:
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def lives(pid: int) -> bool:
    """Say whether a process is there and has not ended; it may go at any moment."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def ended(pid: int) -> bool:
    """Say whether a child of this process has ended, all its threads too; it can still be waited for.

    Its state tells it too early: that of a process is the state of its first thread, which may end before the others.
    """
    with contextlib.suppress(ChildProcessError):  # somebody has waited for it
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def words(process: psutil.Process) -> list[str]:
    """Return the command line of a process; nothing where it has gone."""
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


@dataclass
class Child:
    """A process, and those below it when somebody last looked."""

    process: subprocess.Popen[str]
    family: list[psutil.Process] = field(default_factory=list)

    def look(self) -> list[psutil.Process]:
        """Return the live processes below this one; they are killed with it, also where they outlive it."""
        with contextlib.suppress(psutil.Error):
            self.family = psutil.Process(self.process.pid).children(recursive=True) or self.family
        return self.family

    def wait_for(self, done: Callable[[], bool]) -> None:
        """Wait until `done()`, which the process brings about.

        Raises:
            AssertionError: it ended before, or it takes longer than `PATIENCE` seconds.
        """

        def done_or_ended() -> bool:
            if done():
                return True
            if self.process.poll() is not None:
                said = self.process.stdout.read() if self.process.stdout else ""
                raise AssertionError(f"it ended with {self.process.returncode}: {said}")
            return False

        until(done_or_ended, f"what {self.process.args!r} brings about", seconds=PATIENCE)


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[Child]:
    """Start a command for the `with` block; at its end kill it with all below it, and close its pipes."""
    with start(command, **options) as process:
        child = Child(process)
        try:
            yield child
        finally:
            for one in child.look():
                with contextlib.suppress(psutil.Error):
                    one.kill()
            process.kill()
