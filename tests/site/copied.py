"""A copy of the project's sources, for builds that must not touch the project itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from hooks import busy
from hooks.errors import ROOT
from hooks.languages import not_copied

if TYPE_CHECKING:
    from pathlib import Path


# What the project keeps of pictures, code and prose: made from texts, wherever the project lies. No page.
DRAWN = ("cards", "figures", "notebooks", "social")


def copy_project(folder: Path, *, drawn: bool = False, root: Path = ROOT) -> None:
    """Copy what a build reads into a folder that does not exist yet.

    Args:
        folder: where to.
        drawn: also what is kept of `DRAWN`, which a build would take most of its time to make again.
        root: the project.
    """
    shutil.copytree(root, folder, ignore=not_copied, symlinks=True)
    # Not `cache.FOLDER`, which tests change while this goes on beside them.
    for file in [file for kind in DRAWN if drawn for file in (root / ".cache" / kind).glob("[!.]*")]:
        copy = folder / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # another process may sweep meanwhile
            shutil.copyfile(file, copy)


def environment(site_address: str, **more: str) -> dict[str, str]:
    """Return the environment of a build in a copy: the site's address, and the project's history where it has one."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--absolute-git-dir"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=busy.stretched(60), check=False)
    history = {"GIT_DIR": found.stdout.strip()} if found.returncode == 0 else {}
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_URL": site_address, **history, **more}
