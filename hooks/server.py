"""Make the process of a program, watch it, and end it with everything it started.

Three processes stand behind each run:

* the server, which has TensorFlow imported but has never run an operation (a process forked after that hangs), and
  forks for each job. A job that needs its own environment or another device than the CPU gets a fresh interpreter
  instead;
* the supervisor, one for each job: it holds the time limit, adopts what the program leaves behind
  (`PR_SET_CHILD_SUBREAPER`, so that even a process with a session of its own is found) and kills it;
* the program itself (`child.py`), in a session, a home and a temporary folder of its own.

A job is a socket pair. The runner sends one line of JSON, reads lines until the end, and says goodbye with a byte. When
the runner is gone, however it went, the socket says so, and the supervisor kills the program and removes its folder;
without a goodbye the runner died, and the folder of all jobs goes too. The server ends likewise. The standard library's
forkserver does the forking as well, but it is one for each process of the tests, runs the tests' own `__main__` again
in every child, and leaves children behind when the tests are killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import re
import select
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from hooks import busy, child, family, launch

TAIL = 30
# Seconds in which a program says which line of it runs.
ANSWER = 2
_NOISE = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: )?I ?(\d{4} |tensorflow/|external/)"
    r"|^WARNING: All log messages before absl::|failed call to cuInit"
)


def main() -> None:
    """Serve forks: `python -c ... control-fd modules folder`, until the other end of the control socket closes."""
    control, modules, folder = socket.socket(fileno=int(sys.argv[1])), sys.argv[2].split(), sys.argv[3]
    family.adopt()
    try:
        for module in modules:
            importlib.import_module(module)
    except BaseException as error:
        control.sendall(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        return
    gc.collect()
    gc.freeze()  # collections in the forked processes leave these objects alone, so their pages stay shared
    control.sendall(b"{}\n")
    while True:
        if not select.select([control], [], [], 1.0)[0]:
            family.reap()
            continue
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            break
        for descriptor in descriptors:
            if os.fork() == 0:
                control.close()
                _supervise_and_exit(descriptor)
            os.close(descriptor)
        family.reap()
    family.kill_children(wait_first=15)
    shutil.rmtree(folder, ignore_errors=True)


def alone() -> None:
    """Supervise one job in this fresh interpreter: `python -c ... job-fd folder`."""
    _supervise_and_exit(int(sys.argv[1]), Path(sys.argv[2]))


def _supervise_and_exit(descriptor: int, folder: Path | None = None) -> None:
    """Supervise the job that comes over this socket.

    Args:
        descriptor: the socket.
        folder: the folder of all jobs, where no server is there to remove it when the runner died.
    """
    os.set_inheritable(descriptor, False)
    code = 1
    try:
        with socket.socket(fileno=descriptor) as runner:
            try:
                _supervise(runner)
            finally:
                if folder and _died(runner):
                    shutil.rmtree(folder, ignore_errors=True)
        code = 0
    except (BrokenPipeError, ConnectionResetError):
        code = 0  # the runner is gone; all is killed
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _died(runner: socket.socket) -> bool:
    """Say whether the runner went without a goodbye.

    Its process id does not say so yet: the system closes what a process has open before it hands its children on.
    """
    try:
        return not runner.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _supervise(runner: socket.socket) -> None:
    text = b""
    while not text.endswith(b"\n"):
        seen = runner.recv(1 << 20, socket.MSG_PEEK)
        if seen[:1] in (b"", launch.GOODBYE):
            return
        text += runner.recv(seen.find(b"\n") + 1 or len(seen))  # a goodbye may stand behind it
    job = json.loads(text)
    folder = Path(job["folder"])
    reports, report = os.pipe()
    lines, line = os.pipe()
    family.adopt()
    try:
        try:
            _furnish(job, folder)
            output = [os.open(folder / name, os.O_CREAT | os.O_RDWR | os.O_APPEND) for name in ("out", "err")]
        except OSError as error:
            end = {
                "trouble": f"the runner cannot write to {folder.parent} ({error.strerror}): free space, or set TMPDIR"
            }
            runner.sendall(json.dumps({"end": end}).encode() + b"\n")
            return
        supervisor = os.getpid()
        pid = os.fork()
        if pid == 0:
            # What a fork of the program holds open would keep the runner from seeing that the supervisor has ended.
            runner.close()
            os.close(reports)
            os.close(lines)
            _become(job, folder, output, report, line, supervisor=supervisor)
        os.close(report)
        os.close(line)
        end = _watch(job, pid, runner, reports, lines)
        end["out"], end["err"] = _tail(folder / "out"), _tail(folder / "err")
        shutil.rmtree(folder, ignore_errors=True)
        runner.sendall(json.dumps({"end": end}).encode() + b"\n")
    finally:
        family.kill_children()
        shutil.rmtree(folder, ignore_errors=True)


def _furnish(job: dict[str, Any], folder: Path) -> None:
    for name in ("cwd", "tmp", "home", "page"):
        (folder / name).mkdir(parents=True)
    for at, block in enumerate(job["blocks"]):
        stem = re.sub(r"\W+", "_", block["name"]).strip("_")[-60:]
        block["file"] = str(folder / "page" / f"{at:03d}_{stem}.py")
        # Blank lines before it make the lines of the file those of the page.
        Path(block["file"]).write_text("\n" * (block["line"] - 1) + block.pop("source"), encoding="utf-8")


def _become(job: dict[str, Any], folder: Path, output: list[int], report: int, line: int, *, supervisor: int) -> None:
    """Turn this fork of the supervisor into the process of the program. It never returns."""
    try:
        family.die_with_parent(parent=supervisor)
        os.setsid()
        for descriptor, source in enumerate([os.open(os.devnull, os.O_RDONLY), *output]):
            os.dup2(source, descriptor)
        os.chdir(folder / "cwd")
        # Settings, caches and tokens in the user's home must not decide how a run ends.
        job["env"] |= {"TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home")}
        tempfile.tempdir = None

        owner = os.getpid()

        def tell(message: dict[str, Any]) -> None:
            if os.getpid() != owner:
                return  # a forked copy that ran on: it speaks for nobody
            data = json.dumps(message, allow_nan=False).encode() + b"\n"
            while data:
                data = data[os.write(report, data) :]

        child.start(job, tell, line)
    finally:
        os._exit(1)


def _watch(job: dict[str, Any], pid: int, runner: socket.socket, reports: int, lines: int) -> dict[str, Any]:
    """Pass reports on until the program ends or its time is up, then kill what is left; return how it ended."""
    os.set_blocking(reports, False)
    watched: list[Any] = [reports, runner]
    with contextlib.ExitStack() as stack:
        wait = 0.05
        with contextlib.suppress(AttributeError, OSError):  # another system, an older kernel, a sandbox that forbids it
            handle = os.pidfd_open(pid)
            stack.callback(os.close, handle)
            watched.append(handle)
            wait = 0.5
        limit = busy.Limit(job["seconds"])
        status, usage, timeout = None, None, False
        while status is None:
            ready = select.select(watched, [], [], min(wait, limit.left()))[0]
            if reports in ready and _pass_on(reports, runner) and job["blocks"]:
                limit = busy.Limit(job["seconds"])  # each block has it for itself
            if runner in ready:  # a goodbye, or its end
                raise BrokenPipeError
            done, found, used = os.wait4(pid, os.WNOHANG)
            if done:
                status, usage = found, used
            elif not limit.left():
                timeout = True
                break
    end: dict[str, Any] = {"timeout": timeout, "code": None, "left": [], "line": 0, "peak_mib": 0}
    if timeout:
        end["waited"] = round(limit.allowed, 1)
        end["line"] = _running_line(pid, lines, job)
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    else:
        end["left"] = family.left_behind()
    _pass_on(reports, runner)
    family.kill_children()
    if usage is not None and status is not None:
        end["peak_mib"] = round(family.peak_mib(usage))
        end["code"] = os.waitstatus_to_exitcode(status)
    return end


def _pass_on(reports: int, runner: socket.socket) -> bool:
    """Send what lies in the pipe to the runner; say whether a report ended in it."""
    ended = False
    with contextlib.suppress(BlockingIOError):
        while data := os.read(reports, 1 << 16):
            runner.sendall(data)
            ended = ended or b"\n" in data
    return ended


def _running_line(pid: int, lines: int, job: dict[str, Any]) -> int:
    """Ask the program which of its own lines runs; 0 where it does not say within a few seconds."""
    with contextlib.suppress(OSError):
        os.kill(pid, child.WHERE)
    files = [job["file"]] if job["file"] else [block["file"] for block in job["blocks"]]
    own = re.compile(rf'File "(?:{"|".join(map(re.escape, files))})", line (\d+) in .*\n')
    text, limit = "", busy.Limit(ANSWER)
    while not (found := own.search(text)) and (left := limit.left()):
        if select.select([lines], [], [], left)[0]:
            part = os.read(lines, 1 << 16)  # the answer comes in pieces, the innermost line first
            if not part:
                break
            text += part.decode("utf-8", "replace")
    return int(found[1]) if found else 0


def _tail(file: Path) -> str:
    """Return the last lines of a file, without TensorFlow's log lines of level INFO."""
    with contextlib.suppress(OSError), file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 65536))
        lines = stream.read().decode("utf-8", "replace").splitlines()
        return "\n".join([line[:500] for line in lines if line.strip() and not _NOISE.match(line)][-TAIL:])
    return ""
