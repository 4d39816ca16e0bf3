"""The script that runs the tests again and again sees failures and what a run leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from tests import sturdy

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

BAD = """
import subprocess, sys, tempfile

def test_leaves_a_server_and_a_file():
    open(tempfile.gettempdir() + "/forgotten", "w").close()
    code = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print('up', flush=True); time.sleep(99)"
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert server.stdout.readline() == b"up\\n"
    server.stdout.close()
    server.returncode = 0

def test_fails():
    assert False
"""


def test_failures_and_leftovers_of_a_run_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_bad.py").write_text(BAD)
    arguments = ["-c", str(tmp_path / "pytest.ini"), "-p", "no:cacheprovider", str(tmp_path)]
    failed, left, _ = sturdy.run(0, "0", arguments)
    assert [name.split("::")[-1] for name in failed] == ["test_fails"]
    assert len(left) == 2
    assert ", listens on " in left[0]
    assert left[1] == "file forgotten"
    assert sturdy.started_by(f"{psutil.Process().pid}-0") == []
    assert "assert False" in capsys.readouterr().out


def test_a_good_run_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_good.py").write_text("def test_one():\n    pass\n")
    failed, left, _ = sturdy.run(0, "0", ["-c", str(tmp_path / "pytest.ini"), "-p", "no:cacheprovider", str(tmp_path)])
    assert (list(failed), left) == ([], [])


def test_the_load_ends_with_its_block() -> None:
    with sturdy.load(True):
        loops = [one for one in psutil.Process().children() if one.cmdline()[-1] == "while True: pass"]
        assert loops
    assert not any(loop.is_running() for loop in loops)
