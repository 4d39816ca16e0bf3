"""Find Node for the tests that run scripts of the site."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


def path() -> str:
    """Return the Node of this environment, which is locked; else that of the machine; with neither the test fails."""
    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    found = shutil.which("node", path=places)
    if found is None:
        pytest.fail("no Node found. Fix: `make test` installs one")
    return found
