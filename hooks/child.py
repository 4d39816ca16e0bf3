"""Run one program, or the blocks of one page, in this process and report what happened.

This is the code that runs in the process of a program, forked or fresh; `server.py` makes the process and watches it.
Only the standard library is imported here, so that a fresh interpreter is ready at once.

* A program runs from its real file as `__main__`, as with `python FILE`: AutoGraph and tracebacks find its source, and
  `import` finds the files beside it.
* Each text that it prints belongs to the section whose top-level line is running. The line is read from the frame of
  the module when something is printed.
* Sections that ran are noted by a call put before each of their top-level statements when the program is compiled.
  `sys.settrace` would make every call of a function slower (measured 4.5 times on a loop of small calls).
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import ctypes
import errno
import faulthandler
import io
import os
import signal
import sys
import threading
import time
import traceback
import types
from typing import TYPE_CHECKING, Any

from hooks import devices, digest, plain, reach

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "__section__"
MOST = 2**20  # characters that a program may print
WHERE = signal.SIGUSR1
FULL = (errno.ENOSPC, errno.EDQUOT)


class Printed(io.TextIOBase):
    """Standard output of a program: keeps each text with the section it belongs to."""

    def __init__(self, section: Callable[[], str]) -> None:
        self.section, self.owner, self.parts = section, os.getpid(), {}  # type: ignore[var-annotated]
        self.left = MOST
        self.buffer = _Bytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Text is UTF-8 wherever the program runs."""
        return "utf-8"

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def fileno(self) -> int:
        """Return the real standard output, for subprocesses that inherit it."""
        return 1

    def write(self, text: str) -> int:
        """Keep `text`; what a forked child prints goes to its real standard output instead."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if os.getpid() != self.owner:
            os.write(1, text.encode("utf-8", "replace"))
        else:
            self.left -= len(text)
            if self.left < 0:
                raise RuntimeError(f"more than {MOST >> 20} MiB was printed: print less")
            self.parts.setdefault(self.section(), []).append(text)
        return len(text)

    def texts(self) -> dict[str, str]:
        """Return the text of each section in the order in which they first printed."""
        return {name: "".join(parts) for name, parts in self.parts.items()}


class _Bytes(io.RawIOBase):
    def __init__(self, text: Printed) -> None:
        self.text = text

    def write(self, data: Any) -> int:
        self.text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


def run_program(job: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    """Run the program of `job` and tell what it printed, claimed and measured, or why it failed."""
    path, sections = job["file"], job["sections"]
    entered: set[str] = set()
    module = _main_module(path)
    reached = reach.watch(path, job["beside"])

    def section() -> str:
        line = _line_in(path)
        return next((name for name, first, last in sections if first <= line <= last), "")

    printed = sys.stdout = Printed(section)
    sys.argv[:] = [path]
    sys.path.insert(0, os.path.dirname(path))
    sys.dont_write_bytecode = True  # of the files beside it: a run leaves nothing there
    start = time.perf_counter()
    error = None
    try:
        code = _compile(job)
        module.__dict__[MARK] = entered.add
        start = time.perf_counter()
        exec(code, module.__dict__)  # noqa: S102 - running the program is the point
    except BaseException as problem:
        error = describe(problem, path, job["name"])
    seconds = time.perf_counter() - start
    report: dict[str, Any] = {"seconds": seconds, "entered": sorted(entered), "error": error}
    if error is None:
        try:
            report["idle"] = devices.unused(job["device"])
            report["data"] = plain.collect(module.__dict__)
        except plain.NotPlainError as problem:
            report["error"] = f"{job['name']}: {problem}"
    try:
        _leave()
    except BaseException as problem:
        report["error"] = report["error"] or describe(problem, path, job["name"])
    if reached and not report["error"]:
        report["error"] = f"{job['name']}: {reached[0]}"
    report["output"] = printed.texts()
    tell(report)


def run_blocks(job: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    """Run the blocks of a page in one namespace, in order, and tell about each; stop at the first that fails."""
    module = _main_module(job["blocks"][0]["file"] if job["blocks"] else "")
    for block in job["blocks"]:
        path = block["file"]
        printed = sys.stdout = Printed(str)
        module.__dict__["__file__"] = path
        sys.argv[:] = [path]
        error, start = None, time.perf_counter()
        try:
            with open(path, encoding="utf-8") as source:
                code = compile(source.read(), path, "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102
        except BaseException as problem:
            error = describe(problem, path, block["shown"])
        seconds = time.perf_counter() - start
        for other in job["blocks"]:  # a function of an earlier block may be what failed
            error = error and error.replace(other["file"], other["shown"])
        tell({"block": block["name"], "seconds": seconds, "error": error, "output": "".join(printed.texts().values())})
        if error:
            break
    _leave()


def describe(problem: BaseException, path: str, name: str) -> str:
    """Return the error as text: a first line with the program's own line, then the traceback from there on."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    lines = [frame.f_lineno for frame in _frames(trace) if frame.f_code.co_filename == path]
    line = lines[-1] if lines else getattr(problem, "lineno", 0) or 0
    where = f"{name}:{line}" if line else name
    text = str(problem).strip().split("\n")[0]
    said = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    if isinstance(problem, SystemExit):
        said = f"it left early with sys.exit({problem.code!r}): let it run to its last line"
    if isinstance(problem, OSError) and problem.errno in FULL:
        said += ": free space, or set TMPDIR"
    detail = "".join(traceback.format_exception(type(problem), problem, trace or problem.__traceback__))
    if path:  # without one, the name would stand between all characters
        detail = detail.replace(path, name)
    return f"{where}: {said}\n{detail}".rstrip()


def watch_line(pipe: int) -> None:
    """Write the running lines into `pipe` when the signal `WHERE` comes, also while native code runs."""
    faulthandler.register(WHERE, file=pipe, all_threads=False, chain=False)


class _Frame:
    def __init__(self, frame: types.FrameType, line: int) -> None:
        self.f_code, self.f_lineno = frame.f_code, line


def _frames(trace: types.TracebackType | None) -> list[_Frame]:
    return [_Frame(frame, line) for frame, line in traceback.walk_tb(trace)]


def _main_module(path: str) -> types.ModuleType:
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__dict__.update(__builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    return module


def _line_in(path: str) -> int:
    """Return the line of the top level of `path` that the main thread runs; 0 where it runs none."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename == path:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def _compile(job: dict[str, Any]) -> types.CodeType:
    path, sections = job["file"], job["sections"]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if digest.of(source, job["beside"]) != job["sha256"]:
        raise RuntimeError("it, or a file that it names, changed while it waited: run it again")
    tree = ast.parse(source, filename=path)
    _mark(tree, sections, top=True)
    return compile(tree, path, "exec", dont_inherit=True)


def _mark(node: Any, sections: list[tuple[str, int, int]], *, top: bool = False) -> None:
    """Put `__section__("name")` before each statement of the module's own frame that lies in a section."""
    for part in ("body", "orelse", "finalbody"):
        body, marked = getattr(node, part, None), []
        if not isinstance(body, list):
            continue
        for at, statement in enumerate(body):
            name = next((name for name, first, last in sections if first <= statement.lineno <= last), None)
            future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            if name and not future and not (top and at == 0):
                call = ast.Expr(ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(name)], []))
                marked.append(ast.fix_missing_locations(ast.copy_location(call, statement)))
            marked.append(statement)
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                _mark(statement, sections)
        body[:] = marked
    for part in ("handlers", "cases"):
        for branch in getattr(node, part, []):
            _mark(branch, sections)


def _leave() -> None:
    """Do what an interpreter does at its end, short of tearing TensorFlow down: join threads, run exit functions."""
    getattr(threading, "_shutdown", int)()
    getattr(atexit, "_run_exitfuncs", int)()
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)  # what native code has printed


def start(job: dict[str, Any], tell: Callable[[dict[str, Any]], None], pipe: int) -> None:
    """Prepare this process as `job` says, run what it holds, and end. It never returns."""
    code = 0
    try:
        watch_line(pipe)
        os.environ.update(job["env"])
        try:
            if job["devices"]:
                devices.prepare(job["device"], job["devices"])
            devices.compute_exactly(job["device"])
        except BaseException as problem:
            tell({"error": f"the device '{job['device']}' could not be set up: {describe(problem, '', job['name'])}"})
        else:
            (run_blocks if job["blocks"] else run_program)(job, tell)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        code = 1
    finally:
        os._exit(code)
