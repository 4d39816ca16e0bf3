"""A command that SIGTERM ends leaves no temporary folder."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from hooks.errors import ROOT
from tests import child

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("command", ["growth", "preview"])
def test_it_leaves_no_folder(command: str, tmp_path: Path) -> None:
    args = [sys.executable, "-m", f"tests.{command}"]
    with child.started(args, cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}) as started:
        # Not the first entry: Python itself tries the place out with a file of a moment before it makes a folder there.
        started.wait_for(lambda: any(tmp_path.glob("*/project")))
        started.process.terminate()
        assert started.process.wait(timeout=child.PATIENCE) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
