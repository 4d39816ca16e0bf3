"""Run programs and the blocks of pages in processes of their own, several at a time.

The parent never imports TensorFlow. A thread for each running job waits on a socket with a time limit, so nothing that
a job does can hang the parent; `server.py` says which processes stand at the other end.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import re
import socket
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psutil

from hooks import busy, devices, launch, outcome, records
from hooks.errors import ROOT
from hooks.outcome import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hooks.programs import Program

__all__ = ["Block", "BlockLike", "Result", "Runner"]

PRELOAD = ("tensorflow", "keras")
PATIENCE = 30.0
MEMORY_EACH = 2 << 30


class BlockLike(Protocol):
    """A block of a page: a name for messages (`docs/a/b.md:12`), its source, perhaps the `line` it stands at."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def source(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Block:
    """The simplest block. With `line`, line numbers in messages are those of the page."""

    name: str
    source: str
    line: int = 1


@dataclass(eq=False)
class _Job:
    message: dict[str, Any]
    finish: Callable[[outcome.Ended], Any]
    expected: float
    slots: int
    alone: bool
    env: Mapping[str, str]
    future: Future[Any]


class Runner:
    """Runs jobs, `limit` at a time. Use it in a `with` statement, or `close` it; leaving Python closes it too.

    Args:
        limit: jobs at a time; as many as there are cores, fewer where memory is short.
        preload: modules that forked processes find imported. With none, each job gets a fresh interpreter.
        folder: where temporary folders are made; the system's place by default.
    """

    def __init__(
        self, *, limit: int | None = None, preload: Sequence[str] = PRELOAD, folder: Path | None = None
    ) -> None:
        memory = psutil.virtual_memory().available // MEMORY_EACH
        self.limit = limit or max(1, min(devices.cores(), memory))
        self._launcher = launch.Launcher(preload, folder)
        self._waiting: list[_Job] = []
        self._busy, self._alone, self._held, self._closed = 0, False, False, False
        self._change = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._sockets: set[socket.socket] = set()
        atexit.register(self.close)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit_program(self, program: Program, device: str = "cpu") -> Future[Result]:
        """Run a program. The future does not raise for what the program does: its result says so."""
        options = program.options
        known = None
        with contextlib.suppress(Exception):  # a broken record is no reason not to run its program
            known = records.load(program, device)
        message = _message(device, options.devices, options.seconds)
        file = program.file
        message["env"] |= options.env  # after the device's: the program's own word counts
        message["name"] = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else program.path
        message["file"] = str(file)
        message["sha256"], message["beside"] = program.sha256, [str(one) for one in program.companions]
        message["sections"] = [(s.name, s.first, s.last) for s in program.sections.values()]
        expected = known.seconds if known else options.seconds
        slots = self.limit if devices.TABLE[device].exclusive else min(self.limit, options.processes)

        def finish(ended: outcome.Ended) -> Result:
            return outcome.of_program(program, ended)

        return self._submit(_Job(message, finish, expected, slots, options.alone, options.env, Future()))

    def submit_page(
        self,
        name: str,
        blocks: Sequence[BlockLike],
        *,
        device: str = "cpu",
        devices_wanted: int = 4,
        seconds: float = 60,
    ) -> Future[list[Result]]:
        """Run the blocks of a page in one process and one namespace, in order; each from a file of its own.

        Args:
            name: the page, for messages.
            blocks: what to run. After the first that fails, the others are not run; their results say so.
            device: where to run.
            devices_wanted: logical devices to set up.
            seconds: time limit for each block.
        """
        message = _message(device, devices_wanted, seconds)
        message["name"] = name
        message["blocks"] = [_told(one) for one in blocks]
        names = [one.name for one in blocks]
        shown = [one["shown"] for one in message["blocks"]]
        future: Future[list[Result]] = Future()
        if not names:
            future.set_result([])
            return future

        def finish(ended: outcome.Ended) -> list[Result]:
            return outcome.of_page(names, shown, ended)

        slots = self.limit if devices.TABLE[device].exclusive else 1
        return self._submit(_Job(message, finish, 5.0 * len(names), slots, False, {}, future))

    def hold(self, held: bool) -> None:
        """Keep jobs that want to be alone waiting while the caller itself keeps the machine busy.

        Args:
            held: whether they wait from now on.
        """
        with self._change:
            self._held = held
            self._change.notify_all()

    def close(self) -> None:
        """End everything: running jobs are killed with all their children, folders removed. It may be called twice."""
        with self._change:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            for one in self._sockets:
                launch.leave(one)
            self._change.notify_all()
        self._launcher.stop()
        for job in waiting:
            job.future.cancel()
        for thread in self._threads:
            thread.join(timeout=20)
        self._launcher.close()
        atexit.unregister(self.close)

    def _submit(self, job: _Job) -> Future[Any]:
        with self._change:
            if self._closed:
                raise RuntimeError("the runner is closed")
            self._waiting.append(job)
            # The longest first, so that none is left running at the end; those that want to be alone come last.
            self._waiting.sort(key=lambda one: (one.alone, -one.expected))
            if len(self._threads) < self.limit:
                thread = threading.Thread(target=self._work, name="runner", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._change.notify_all()
        return job.future

    def _work(self) -> None:
        while (job := self._take()) is not None:
            try:
                if job.future.set_running_or_notify_cancel():
                    job.future.set_result(self._run(job))
            except BaseException as error:
                job.future.set_exception(error)
            finally:
                with self._change:
                    self._busy -= job.slots
                    self._alone = False
                    self._change.notify_all()

    def _take(self) -> _Job | None:
        """Wait for a job that may start and take it; None when the runner closes."""
        with self._change:
            while not self._closed:
                for job in self._waiting:
                    fits = not job.alone and self._busy + job.slots <= self.limit
                    free = self._busy == 0 and not (job.alone and self._held)
                    if not self._alone and (fits or free):
                        self._waiting.remove(job)
                        self._busy += job.slots
                        self._alone = job.alone
                        return job
                self._change.wait()
            return None

    def _run(self, job: _Job) -> Any:
        said: list[dict[str, Any]] = []
        end, trouble = None, None
        limit = job.message["seconds"]
        try:
            end = self._talk(job, said)
            if end is None:
                killed = "its supervisor was killed, perhaps by the system: free memory, and run it again"
                trouble = "the runner was closed" if self._closed else killed
        except TimeoutError:
            late = f"its time limit is {limit:g} s, and nothing was heard of it for {_silence(limit):g} s"
            trouble = f"{late}: run it again when the machine does less"
        except OSError as error:
            trouble = f"the runner could not start it ({error.strerror or error}): free space and memory, or set TMPDIR"
        except RuntimeError as error:
            trouble = str(error)
        end = end or {}
        trouble = trouble or end.get("trouble")
        return job.finish(outcome.Ended(job.message["name"], job.message["device"], limit, said, end, trouble))

    def _talk(self, job: _Job, said: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Start the job, add what it reports to `said`, and return how it ended; None where nobody says."""
        process = None
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                with self._change:
                    if self._closed:  # and has told all the sockets that it knew
                        raise RuntimeError("the runner was closed")
                    self._sockets.add(ours)
                job.message["folder"] = str(self._launcher.folder())
                process = self._launcher.launch(theirs, job.message["device"], job.env)
            ours.settimeout(_silence(job.message["seconds"]))
            ours.sendall(json.dumps(job.message).encode() + b"\n")
            for line in launch.lines(ours):
                if "end" in line:
                    return line["end"]
                said.append(line)
            return None
        finally:
            with self._change:
                self._sockets.discard(ours)
            launch.leave(ours)
            ours.close()
            if process is not None:
                launch.wait(process)


def _silence(seconds: float) -> float:
    """Return for how many seconds a supervisor may say nothing, with a time limit that it may stretch."""
    return busy.MOST * seconds + PATIENCE


def _told(block: BlockLike) -> dict[str, Any]:
    """Return what the supervisor must know of a block. Where it says its line, messages name the page's lines."""
    line = max(1, getattr(block, "line", 1) or 1)
    shown = re.sub(r":\d+$", "", block.name) if line > 1 else block.name
    return {"name": block.name, "shown": shown, "source": block.source, "line": line}


def _message(device: str, wanted: int, seconds: float) -> dict[str, Any]:
    """Return what every job tells its supervisor; `server.py` and `child.py` read it."""
    env = dict(devices.TABLE[device].env)
    return {
        "name": "",
        "file": "",
        "sections": [],
        "blocks": [],
        "device": device,
        "devices": wanted,
        "env": env,
        "seconds": seconds,
    }
