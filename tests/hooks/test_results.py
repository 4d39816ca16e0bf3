"""The cache: what changes a key, what does not, and what is kept."""

from __future__ import annotations

import dataclasses
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from hooks import busy, programs, records, results
from hooks.errors import ROOT
from hooks.outcome import Result
from hooks.runner import Block

SOURCE = '''# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 2
# ///
"""Show one thing."""

claims = {"holds": True}
'''
Write = Callable[[str], programs.Program]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project's modules and lock file, with an empty cache."""
    shutil.copytree(ROOT / "hooks", tmp_path / "hooks", ignore=shutil.ignore_patterns("__pycache__", "theme"))
    (tmp_path / "uv.lock").write_text('version = 1\n[[package]]\nname = "tensorflow"\nversion = "2.21.0"\n')
    (tmp_path / "snippets" / "a").mkdir(parents=True)
    (tmp_path / "README.md").write_text("one")
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "FOLDER", tmp_path / ".cache" / "runs")
    monkeypatch.setattr(results, "problems", set())
    monkeypatch.setattr(records, "LOCK", tmp_path / "uv.lock")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("FRESH", raising=False)
    return tmp_path


@pytest.fixture
def write(house: Path) -> Write:
    def make(source: str) -> programs.Program:
        (house / "snippets" / "a" / "one.py").write_text(source)
        return programs.load("a/one.py", root=house / "snippets")

    return make


def result_of(program: programs.Program) -> Result:
    record = records.Record(
        program.path, program.sha256, "cpu", "2 cores", {}, "2026-11-20", 1.5, {"s": "a\nb"}, {"a": True}
    )
    return Result(True, None, 1.5, record, frozenset({"s"}), 350)


def test_the_same_has_the_same_key(write: Write) -> None:
    assert results.program_key(write(SOURCE)) == results.program_key(write(SOURCE))


@pytest.mark.parametrize("change", ["# a comment\n", "# --8<-- [start:x]\nx = 1\n# --8<-- [end:x]\n"])
def test_another_source_has_another_key(change: str, write: Write) -> None:
    assert results.program_key(write(SOURCE)) != results.program_key(write(SOURCE + change))


def test_another_file_beside_the_program_has_another_key(write: Write, house: Path) -> None:
    source = SOURCE.replace("# devices = 2\n", '# devices = 2\n# files = ["server.py"]\n')
    (house / "snippets" / "a" / "server.py").write_text("one")
    before = results.program_key(write(source))
    assert results.program_key(write(source)) == before
    (house / "snippets" / "a" / "server.py").write_text("two")
    assert results.program_key(write(source)) != before


def test_other_defaults_of_the_options_have_another_key(write: Write) -> None:
    program = write(SOURCE)
    for change in (
        {"seconds": 61},
        {"alone": True},
        {"env": {"A": "1"}},
        {"devices": 3},
        {"tolerance": 0.1},
        {"processes": 2},
    ):
        other = dataclasses.replace(program, options=dataclasses.replace(program.options, **change))
        assert results.program_key(program) != results.program_key(other)


def test_another_device_has_another_key(write: Write) -> None:
    program = write(SOURCE)
    assert len({results.program_key(program, device) for device in ("cpu", "gpu", "tpu")}) == 3


def test_other_accelerators_have_another_key(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    program, keys = write(SOURCE), {}
    for chosen in ("0", "0,1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
        keys[chosen] = [results.program_key(program, device) for device in ("cpu", "gpu")]
    assert keys["0"][0] == keys["0,1"][0], "a CPU sees none"
    assert keys["0"][1] != keys["0,1"][1]


def test_another_lock_has_another_key(write: Write, house: Path) -> None:
    before = results.program_key(write(SOURCE))
    with (house / "uv.lock").open("a") as lock:
        lock.write('[[package]]\nname = "numpy"\nversion = "2.4.6"\n')
    assert results.program_key(write(SOURCE)) != before


def test_another_python_has_another_key(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    before = results.program_key(write(SOURCE))
    another = SimpleNamespace(python_version=lambda: "3.99.0", machine=platform.machine)
    monkeypatch.setattr(results, "platform", another)
    assert results.program_key(write(SOURCE)) != before


@pytest.mark.parametrize("module", results.RUNNER)
def test_another_runner_has_another_key(module: str, write: Write, house: Path) -> None:
    before = results.program_key(write(SOURCE))
    with (house / "hooks" / f"{module}.py").open("a") as file:
        file.write("# changed\n")
    assert results.program_key(write(SOURCE)) != before


def test_what_every_key_holds_is_read_once(write: Write) -> None:
    program = write(SOURCE)
    before, read = results.program_key(program), results._read.cache_info().misses
    assert results.program_key(program) == before
    assert results._read.cache_info().misses == read


def test_every_module_that_runs_a_program_is_in_the_key() -> None:
    code = "import sys, hooks.runner, hooks.server; print(*(m[6:] for m in sys.modules if m.startswith('hooks.')))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=busy.stretched(60))
    assert set(done.stdout.split()) - {"errors"} == set(results.RUNNER) - {"results"}


def test_nothing_else_changes_the_key(write: Write, house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = results.program_key(write(SOURCE))
    (house / "README.md").write_text("two")
    (house / "hooks" / "quiz.py").write_text("# changed\n")
    (house / "snippets" / "a" / "two.py").write_text(SOURCE)
    (house / "snippets" / "a" / "one.cpu.json").write_text("{}")
    os.utime(house / "snippets" / "a" / "one.py", (1, 1))
    monkeypatch.setenv("HOME", str(house))
    monkeypatch.chdir(house)
    assert results.program_key(programs.load("a/one.py", root=house / "snippets")) == before


def test_the_key_of_a_page_holds_its_blocks(house: Path) -> None:
    def key(name: str = "p", source: str = "x = 1", line: int = 1, **more: object) -> str:
        return results.page_key(name, [Block("b", source, line)], **more)  # type: ignore[arg-type]

    assert key() == key()
    keys = {
        key(),
        key(source="x = 2"),
        key("q"),
        key(line=2),
        key(device="gpu"),
        key(seconds=3),
        results.page_key("p", []),
    }
    assert len(keys) == 7


def test_what_is_kept_comes_back(write: Write) -> None:
    program = write(SOURCE)
    assert results.load("k", program=program) is None
    assert results.store("k", [result_of(program)])
    assert results.load("k", program=program) == [result_of(program)]
    page = [Result(True, None, 0.5, output="é\n"), Result(True, None, 0.1)]
    assert results.store("p", page)
    assert results.load("p") == page


def test_a_result_that_is_not_the_recorded_one_can_be_forgotten(write: Write) -> None:
    program = write(SOURCE)
    results.store("k", [result_of(program)])
    for _ in range(2):
        results.forget("k")
        assert results.load("k", program=program) is None


def test_a_failure_is_not_kept(write: Write) -> None:
    assert not results.store("k", [Result(False, "no", 1.0)])
    assert not results.store("k", [Result(True, None, 1.0), Result(False, "no", 1.0)])
    assert not results.store("k", [])
    assert results.load("k", program=write(SOURCE)) is None


@pytest.mark.parametrize(
    ("name", "value", "reads"), [("FRESH", "1", False), ("CI", "true", False), ("FRESH", "", True)]
)
def test_it_can_be_ignored(name: str, value: str, reads: bool, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write(SOURCE)
    results.store("k", [result_of(program)])
    monkeypatch.setenv(name, value)
    assert results.reads() is reads
    assert (results.load("k", program=program) is not None) is reads


def test_a_file_that_is_cut_short_is_no_result(write: Write) -> None:
    program = write(SOURCE)
    results.store("k", [result_of(program)])
    file = results.FOLDER / "k.json"
    text = file.read_text()
    for broken in (text[:50], "[]x", '[{"ok": true}]', text.replace("true", "1", 1).replace("claims", "claim")):
        file.write_text(broken)
        assert results.load("k", program=program) is None


def test_a_folder_that_cannot_be_written_is_told_once(write: Write, house: Path) -> None:
    (house / ".cache").write_text("a file stands where the folder should be")
    for _ in range(2):
        assert not results.store("k", [result_of(write(SOURCE))])
    [problem] = results.problems
    assert "results are not kept" in problem
    assert "everything runs each time" in problem


def test_old_results_are_swept(write: Write) -> None:
    results.store("old", [result_of(write(SOURCE))])
    results.store("new", [result_of(write(SOURCE))])
    os.utime(results.FOLDER / "old.json", (1, 1))
    results.sweep(time.time())
    # Its own alone: a program of this session that ends meanwhile stores its result here too.
    assert not (results.FOLDER / "old.json").exists()
    assert (results.FOLDER / "new.json").exists()


SESSION = """
from hooks import busy, results
from hooks.runner import Block, Runner
from pathlib import Path
from tests.plugin_runner import SHARED, request_page

results.FOLDER = Path({folder!r})

def test_one(request):
    request.config.stash[SHARED].runner = Runner(preload=())
    futures = [request_page(request.config, "p", [Block("b", {source!r})], devices_wanted=0) for _ in range(3)]
    assert len(set(map(id, futures))) == 1, "each runs once, whoever asks"
    assert futures[0].result(busy.stretched(60))[0].output == "one\\n"
"""


def test_a_second_session_runs_nothing(tmp_path: Path) -> None:
    def session(source: str, **env: str) -> str:
        (tmp_path / "test_it.py").write_text(SESSION.format(folder=str(tmp_path / "runs"), source=source))
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
        clean = {key: value for key, value in os.environ.items() if key not in ("CI", "FRESH")}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**clean, "PYTHONPATH": str(ROOT), **env},
            capture_output=True,
            text=True,
            timeout=busy.stretched(120),
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return next(line for line in done.stdout.splitlines() if line.startswith("jobs: "))

    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert session("print('one')").startswith("jobs: 1 run, 0 from the cache")
    assert session("print('one')").startswith("jobs: 0 run, 1 from the cache")
    assert session("print('one') ").startswith("jobs: 1 run, 0 from the cache")
    assert session("print('one')", FRESH="1").startswith("jobs: 1 run, 0 from the cache")
