"""The time that built files carry: that of the sources, so that two builds of the same sources give the same bytes."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from hooks import busy, errors

if TYPE_CHECKING:
    from pathlib import Path

# The first that a zip archive can hold: 1980-01-02, for sources that have no history.
EARLIEST = 315_619_200
# The last: 2107-12-30.
LATEST = 4_354_732_800
SECONDS = 60


def of_sources(root: Path) -> int:
    """Return when the sources last changed, in seconds since 1970.

    That is `SOURCE_DATE_EPOCH` where it is set, else the time of the last commit, else, without git or a repository,
    `EARLIEST`.
    Source: https://reproducible-builds.org/specs/source-date-epoch/

    Args:
        root: the project's folder.

    Raises:
        GuideError: git takes too long, or refuses; the bytes of the site would be others. Or `SOURCE_DATE_EPOCH` is
            later than a zip archive can hold.
    """
    named = os.environ.get("SOURCE_DATE_EPOCH", "")
    if named.isascii() and named.isdecimal():
        if int(named) > LATEST:
            cause, cure = f"{named} comes after 2107, the last year of a zip archive", "give the seconds since 1970"
            raise errors.GuideError("SOURCE_DATE_EPOCH", 0, cause, cure)
        return max(int(named), EARLIEST)
    command = ["git", "-C", str(root), "log", "-1", "--no-show-signature", "--format=%ct"]
    seconds = busy.stretched(SECONDS)
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True).stdout.strip()
    except subprocess.TimeoutExpired:
        cause = f"git did not say within {seconds:.0f} s when the sources last changed"
        cure = "build again when the machine does less, or set SOURCE_DATE_EPOCH"
        raise errors.GuideError(root / ".git", 0, cause, cure) from None
    except OSError:  # no git
        return EARLIEST
    except subprocess.CalledProcessError as error:
        if "GIT_DIR" not in os.environ and not any((folder / ".git").exists() for folder in (root, *root.parents)):
            return EARLIEST
        cause = f"git does not say when the sources last changed ({' '.join(error.stderr.split())})"
        raise errors.GuideError(root / ".git", 0, cause, "mend that, or set SOURCE_DATE_EPOCH") from None
    return max(int(said), EARLIEST)
