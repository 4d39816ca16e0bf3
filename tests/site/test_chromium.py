"""A command that needs a browser says how to get one, before it builds anything."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hooks import busy
from hooks.errors import ROOT
from tests.site.chromium import HOW


@pytest.mark.parametrize("command", ["tests.site.screenshot", "tests.lighthouse"])
def test_a_command_without_a_browser_ends_with_the_way_to_one(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", command],
        cwd=ROOT,
        env={**os.environ, "CHROMIUM": "no-such-browser"},
        capture_output=True,
        text=True,
        timeout=busy.stretched(60),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{HOW}\n")
