"""What a contained command starts ends with it, however it ends."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from hooks import busy, family, interpreter
from hooks.errors import ROOT
from tests.child import LEAVES, PATIENCE, started
from tests.until import LONG

if TYPE_CHECKING:
    from pathlib import Path


def command(seconds: float, script: str) -> list[str]:
    return [*interpreter.command("family", "contained"), str(seconds), "bash", "-c", script]


@pytest.mark.parametrize(
    ("seconds", "script", "why"),
    [
        (50, "echo said; echo too >&2", ""),
        (50, "echo said; exit 124", "exit status 124"),
        (50, "echo said; kill -9 $$", "exit status -9"),
        (8, f"echo said; sleep {LONG}", r"it still ran after [\d.]+ s and was killed"),  # 8, or more on a busy machine
        (50, f"echo said; {LEAVES}", rf"it left running:\nsleep {LONG} \(process "),
    ],
    ids=["good", "status", "killed", "slow", "left"],
)
def test_it_says_why_it_fails_apart_from_what_the_command_said(seconds: float, script: str, why: str) -> None:
    limit = busy.stretched(PATIENCE)
    done = subprocess.run(command(seconds, script), check=False, capture_output=True, text=True, timeout=limit)
    assert done.returncode == bool(why)
    assert re.match(why, done.stderr)
    assert bool(done.stderr) == bool(why)
    assert done.stdout == ("said\ntoo\n" if not why else "said\n")


@pytest.mark.parametrize(("parent", "code"), [("os.getppid()", 0), ("os.getppid() + 1", -9)], ids=["there", "gone"])
def test_a_process_ends_where_its_parent_had_ended_before_it_asked(parent: str, code: int) -> None:
    source = f"import os\nfrom hooks import family\nfamily.die_with_parent(parent={parent})"
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, check=False, timeout=busy.stretched(PATIENCE))
    assert done.returncode == code


def test_a_command_ends_with_the_process_that_ran_it(tmp_path: Path) -> None:
    """Also where that was killed and could do nothing, and a grandchild has a session of its own."""
    script = f"setsid sleep {LONG} & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; sleep {LONG}"
    code = f"import subprocess; subprocess.run({command(LONG, script)!r})"  # not its own limit is to end it
    with started([sys.executable, "-c", code]) as parent:
        parent.wait_for((tmp_path / "pid").exists)
        sleeper = psutil.Process(int((tmp_path / "pid").read_text()))
        assert parent.look()  # they are ended where the next lines fail
        parent.process.kill()
        sleeper.wait(PATIENCE)


@pytest.mark.parametrize(("system", "said"), [("linux", 3 * 2**10), ("darwin", 3 * 2**20)])
def test_memory_is_told_in_the_unit_of_the_system(system: str, said: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "sys", SimpleNamespace(platform=system))
    usage: Any = SimpleNamespace(ru_maxrss=said)
    assert family.peak_mib(usage) == 3
