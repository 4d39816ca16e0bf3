"""A command that SIGTERM or Ctrl-C ends leaves no temporary folder, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hooks.errors import ROOT
from tests import child
from tests.until import LONG

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
@pytest.mark.parametrize("command", ["growth", "preview"])
def test_it_leaves_no_folder(command: str, how: signal.Signals, tmp_path: Path) -> None:
    args = [sys.executable, "-m", f"tests.{command}"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with child.started(args, cwd=ROOT, env=env, stderr=subprocess.PIPE) as started:
        # Not the first entry: Python itself tries the place out with a file of a moment before it makes a folder there.
        started.wait_for(lambda: any(tmp_path.glob("*/project")))
        started.process.send_signal(how)
        said = started.process.communicate(timeout=child.PATIENCE)[1]
        assert started.process.returncode == 128 + how
    assert said == ("interrupted: all processes are ended\n" if how == signal.SIGINT else "")
    assert list(tmp_path.iterdir()) == []


def test_a_preview_that_sigterm_ends_leaves_no_folder(tmp_path: Path) -> None:
    """MkDocs removes the pages that it serves on the way out."""
    (temporary := tmp_path / "tmp").mkdir()
    code = "import pathlib, sys, tempfile, time\nfrom hooks import site\nsite.on_startup('serve', False)\n"
    code += (
        "with tempfile.TemporaryDirectory():\n    pathlib.Path(sys.argv[1]).touch()\n    time.sleep(int(sys.argv[2]))"
    )
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    with child.started([sys.executable, "-c", code, str(tmp_path / "there"), str(LONG)], env=env) as started:
        started.wait_for((tmp_path / "there").exists)
        started.process.send_signal(signal.SIGTERM)
        started.process.communicate(timeout=child.PATIENCE)
        assert started.process.returncode == 128 + signal.SIGTERM
    assert list(temporary.iterdir()) == []
