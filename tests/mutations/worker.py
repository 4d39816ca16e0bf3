"""Apply mutations to copies of the small project and say what the build and the tests of each copy answered.

`python tests/mutations/worker.py FOLDER CORES SECONDS` reads mutations as JSON lines and answers with JSON lines. It
imports the libraries once and forks for each mutation, one for each core at a time, and none takes longer than that;
the project's own modules are imported in the fork, from the copy, so every mutation meets the mechanism as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import logging
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

LIBRARIES = (
    "bs4", "click", "jsonschema", "markdown", "material.plugins.search.plugin", "material.extensions.emoji",
    "mkdocs.__main__", "mkdocs.commands.build", "mkdocs_jupyter.plugin", "nbclient", "nbformat", "psutil",
    "matplotlib.figure", "matplotlib.backends.backend_svg", "matplotlib.textpath", "tinycss2",
)  # fmt: skip


def main() -> None:
    """Read jobs, run some at a time, answer each when it ends."""
    folder, cores, seconds, parent = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was forked is ended on the way out
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    jobs = [json.loads(line) for line in sys.stdin]
    if (folder / "base").exists():
        _warm(folder / "base")
    running: dict[int, tuple[dict, Path]] = {}
    try:
        for number, job in enumerate(jobs):
            if len(running) == cores:
                _answer(running)
            if os.getppid() != parent:
                break  # killed: nobody waits for an answer
            copy = folder / f"m{number}"
            process = os.fork()
            if process == 0:
                _child(job, folder / "base", copy, seconds)
            running[process] = (job, copy)
        while running:
            _answer(running)
    finally:
        for process in running:
            # macOS refuses where only a process is left that has ended.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process, signal.SIGKILL)


def _warm(base: Path) -> None:
    """Build the small project once in this process and forget its modules; what libraries cache stays for the forks."""
    from jinja2 import Environment, FileSystemBytecodeCache
    from mkdocs.theme import Theme

    templates = base.parent / "templates"
    templates.mkdir()
    plain = Theme.get_env

    def get_env(theme: Theme) -> Environment:
        env = plain(theme)
        env.bytecode_cache = FileSystemBytecodeCache(str(templates))
        return env

    Theme.get_env = get_env  # type: ignore[assignment,method-assign]
    before, here = list(sys.path), Path.cwd()
    os.chdir(base)
    sys.path.insert(0, str(base))
    failed, said = _caught(_build)
    if failed:
        sys.exit(f"the small project does not build:\n{said}")
    os.chdir(here)
    sys.path[:] = before
    for name in [name for name in sys.modules if name.split(".")[0] in ("hooks", "tests") or name.startswith("hooks/")]:
        del sys.modules[name]
    logger = logging.getLogger("mkdocs")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)


def _answer(running: dict[int, tuple[dict, Path]]) -> None:
    process, status = os.wait()
    job, copy = running.pop(process)
    said = copy.with_suffix(".json")
    answer = json.loads(said.read_text("utf8")) if said.exists() else {"died": status}
    said.unlink(missing_ok=True)  # the next of this number, in another process, may end without an answer
    shutil.rmtree(copy, ignore_errors=True)
    print(json.dumps({"name": job["name"], **answer}), flush=True)


def _child(job: dict, base: Path, copy: Path, seconds: int) -> None:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.alarm(seconds)
    answer: dict[str, str] = {}
    said = copy.with_suffix(".json")
    try:
        if not base.exists():
            copy = base
            copy.mkdir()
        else:
            shutil.copytree(base, copy, symlinks=True)
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        answer = _job(job, copy)
    except BaseException:
        answer["crash"] = traceback.format_exc()
    finally:
        said.write_text(json.dumps(answer), "utf8")
        os._exit(0)


def _job(job: dict, copy: Path) -> dict[str, str]:
    if job["kind"] == ["prepare"]:
        return {"recorded": _prepare(copy, Path(job["real"]))}
    _mutate(copy, job)
    answer = {}
    for stage, work in (("build", _build), ("tests", _test)):
        if stage in job["kind"]:
            failed, said = _caught(work)
            answer[stage] = said if failed else ""
    return answer


def _prepare(copy: Path, real: Path) -> str:
    """Write the small project and record its program and its lab."""
    sys.path.insert(0, str(real / "tests" / "mutations"))
    import small  # type: ignore[import-not-found]

    small.write(copy, real=real)
    from hooks import lab_runs, programs, record

    _without_tensorflow()
    _, said = _caught(lambda: len(record.record(programs.all_programs(), "cpu")) - 1)
    lab_runs.record(copy / small.LAB, device="cpu", hardware="a machine")
    return said


def _mutate(copy: Path, job: dict) -> None:
    file = copy / job["file"]
    if job["old"] is None:
        file.unlink() if job["new"] is None else file.write_text(job["new"], "utf8")
        return
    before = file.read_text("utf8")
    if job["old"] not in before:
        raise LookupError(f"{job['file']} does not hold {job['old']!r}")
    after = before.replace(job["old"], job["new"], 1)
    file.write_text(after, "utf8", "surrogateescape")
    if job["rehash"]:
        # Only a run can tell: the record says that it is of this very source.
        record = file.with_name(f"{file.stem}.cpu.json")
        old, new = (hashlib.sha256(text.encode()).hexdigest() for text in (before, after))
        record.write_text(record.read_text("utf8").replace(old, new), "utf8")


def _build() -> int:
    from mkdocs.__main__ import cli

    try:
        cli(["build", "-q", "--strict", "-d", "site"], standalone_mode=False)
    except SystemExit as error:
        return int(bool(error.code))
    return 0


def _test() -> int:
    import pytest

    _without_tensorflow()
    chosen = ["docs", "README.md", "CONTRIBUTING.md", "tests/programs", "--deselect", "docs/labs"]
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", *chosen]))


def _without_tensorflow() -> None:
    """Let the runner preload something small: nothing here needs TensorFlow."""
    from hooks.runner import Runner

    Runner.__init__.__kwdefaults__["preload"] = ("json",)  # type: ignore[index]


def _caught(work: Callable[[], int]) -> tuple[int, str]:
    """Run something that prints and return its exit status with all that it printed, logged or raised.

    Only what MkDocs says without a traceback has none here.
    """
    from mkdocs.exceptions import MkDocsException

    out = io.StringIO()
    status = 1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            status = work()
        except (MkDocsException, SystemExit) as error:
            print(f"{type(error).__name__}: {error}")
        except BaseException:
            traceback.print_exc()
    return status, out.getvalue()


if __name__ == "__main__":
    main()
