"""The time that built files carry: that of the sources, so that two builds of the same sources give the same bytes."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# The first that a zip archive can hold: 1980-01-02, for sources that have no history.
EARLIEST = 315_619_200


def of_sources(root: Path) -> int:
    """Return when the sources last changed, in seconds since 1970.

    That is `SOURCE_DATE_EPOCH` where it is set, else the time of the last commit, else `EARLIEST`.
    Source: https://reproducible-builds.org/specs/source-date-epoch/

    Args:
        root: the project's folder.
    """
    named = os.environ.get("SOURCE_DATE_EPOCH", "")
    if named.isdigit():
        return max(int(named), EARLIEST)
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return EARLIEST
    return max(int(said), EARLIEST) if said.isdigit() else EARLIEST
