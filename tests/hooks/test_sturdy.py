"""When the machine does not play along: a full disk, a folder of another user, Ctrl-C. A message, and nothing left."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from hooks import atomic, busy, cache, record, records
from hooks.errors import ROOT
from hooks.outcome import Result
from tests import child
from tests.hooks import house

# A limit on the size of files stands for a full disk: the system refuses to write on.
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
"""
SLOW = '''# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = []
#
# [tool.guide]
# devices = 0
# seconds = 200
# ///
"""Show one thing."""

import pathlib
import time

pathlib.Path({there!r}).write_text("x")
time.sleep(150)
claims = {{"holds": True}}
'''


def python(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run code that imports the project, with its own place for temporary files.

    It writes no bytecode: what a full disk cuts short would stay in the project, and break every later run.
    """
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-B", "-c", code]
    limit = busy.stretched(120)
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=limit, check=False)


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "file"
    atomic.write(file, "old")
    code = f"{FULL.format(limit=5)}\nfrom hooks import atomic, errors\nfrom pathlib import Path\n"
    done = python(f"{code}atomic.write(Path({str(file)!r}), 'new' * 99)", tmp_path)
    assert "File too large" in done.stderr
    assert [one.read_text() for one in file.parent.iterdir()] == ["old"]


def test_a_build_goes_on_where_nothing_can_be_kept(tmp_path: Path) -> None:
    code = f"""{FULL.format(limit=5)}
from pathlib import Path
from hooks import cache
cache.FOLDER = Path({str(tmp_path / "cache")!r})
print(cache.cached("kind", ["a"], lambda: "drawing one"), cache.cached("kind", ["b"], lambda: "drawing two"))
"""
    done = python(code, tmp_path)
    assert done.stdout == "drawing one drawing two\n"
    assert done.stderr.count("nothing is kept in") == 1
    assert "File too large" in done.stderr
    assert [one for one in (tmp_path / "cache").rglob("*") if one.is_file()] == []


def test_a_cache_of_another_user_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file in place of the folder: the superuser may write where others may not."""
    (tmp_path / "cache").write_text("")
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")
    monkeypatch.setattr(cache, "_told", set())
    assert [cache.cached("kind", ["a"], lambda: "made") for _ in range(2)] == ["made", "made"]
    assert capsys.readouterr().err.count("the next build is as slow as this one") == 1


@pytest.mark.parametrize("limit", [0, 20])
@pytest.mark.parametrize("preload", ["()", "('json',)"], ids=["fresh", "forked"])
def test_the_runner_names_the_full_disk(limit: int, preload: str, tmp_path: Path) -> None:
    """With no space no folder can be made; with a little, the blocks do not fit."""
    code = f"""{FULL.format(limit=limit)}
from hooks import launch
from hooks.runner import Block, Runner
launch.FIXED_ENV["PYTHONDONTWRITEBYTECODE"] = "1"  # as this interpreter, see above
with Runner(preload={preload}, limit=1) as runner:
    block = Block("b", "print('more than twenty letters')")
    print(runner.submit_page("p", [block], devices_wanted=0).result({busy.stretched(60)})[0].error)
"""
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the runner could not start it" in done.stdout or "free space, or set TMPDIR" in done.stdout
    assert list(tmp_path.glob("guide-*")) == []


def test_a_record_that_cannot_be_written_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = house.build(tmp_path, monkeypatch)
    old = records.file_of(program, "cpu").read_text()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(records, "atomic", SimpleNamespace(write=full))
    result = Result(True, None, 1.0, house.record_of(program, claims={"weights_equal": False}))
    done = record._settle(program, "cpu", result, check=False)
    assert (done.word, done.detail) == (
        "failed",
        "its record cannot be written (No space left on device); what was there stays",
    )
    assert records.file_of(program, "cpu").read_text() == old


def test_recording_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    there, temporary = tmp_path / "there", tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "snippets" / "a").mkdir(parents=True)
    (tmp_path / "snippets" / "a" / "slow.py").write_text(SLOW.format(there=str(there)))
    code = f"""
import sys
from pathlib import Path
from hooks import programs, record, runner
programs.SNIPPETS = Path({str(tmp_path / "snippets")!r})
record.Runner = lambda: runner.Runner(preload=(), limit=1)
sys.exit(record.main(["slow.py"]))
"""
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    with child.started([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE) as command:
        command.wait_for(there.exists)
        family = command.look()
        assert family
        command.process.send_signal(signal.SIGINT)
        said = command.process.communicate(timeout=child.PATIENCE)[1]
        assert command.process.returncode == 128 + signal.SIGINT
        assert said == "interrupted: all processes are ended; the records written so far stay\n"
        assert psutil.wait_procs(family, timeout=child.PATIENCE)[1] == []
    assert list(temporary.iterdir()) == []
    assert [one.name for one in (tmp_path / "snippets" / "a").iterdir()] == ["slow.py"]
