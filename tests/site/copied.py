"""A copy of the project's sources, for builds that must not touch the project itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from hooks import busy
from hooks.errors import ROOT
from hooks.languages import not_copied

if TYPE_CHECKING:
    from pathlib import Path


def copy_project(folder: Path) -> None:
    """Copy what a build reads into a folder that does not exist yet."""
    shutil.copytree(ROOT, folder, ignore=not_copied, symlinks=True)


def environment(site_address: str, **more: str) -> dict[str, str]:
    """Return the environment of a build in a copy: the site's address, and the project's history where it has one."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--absolute-git-dir"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=busy.stretched(60), check=False)
    history = {"GIT_DIR": found.stdout.strip()} if found.returncode == 0 else {}
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_URL": site_address, **history, **more}
