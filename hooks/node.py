"""The Node that runs JavaScript: that of the environment, which is locked; else that of the machine."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

MISSING = "there is no Node to run it: `make test` installs one; else see https://nodejs.org"


def path(folder: Path = Path(sys.executable).parent) -> str:
    """Return the path of Node.

    Args:
        folder: where the environment has its commands; the folders of `PATH` come after it.

    Raises:
        FileNotFoundError: there is none; the message says how to get one.
    """
    found = shutil.which("node", path=f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    if found is None:
        raise FileNotFoundError(MISSING)
    return found
