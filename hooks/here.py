"""Places on this machine in a text that is kept: in another checkout, or in another run, they are others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks.errors import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# A name ends here. What is kept is JSON: before a name may stand a line break that is written `\n`.
_END = r"""(?=[/\s'"\\:)\],]|$)"""
_START = r"(?:(?<![\w.-])|(?<=\\[nrt]))"
# The folder of a runner, a lab or a kernel (`launch`, `lab_runs`, `kernels`): `mkdtemp` adds eight characters.
_RUN = rf"(?:/[^/\s'\"]+)*/guide-(?:lab-|kernel-)?[a-z0-9_]{{8}}{_END}"


def _patterns(root: Path) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a place, and what finds the part of it that is left out, for a project in this folder.

    With the folder of a run goes the one in it that a program runs in, which `server` makes.
    """
    project = rf"{_START}{re.escape(str(root))}{_END}"
    left_out = rf"{_RUN}(?:/\d+/(?:cwd|home|page|tmp){_END})?/?|{project}/?"
    return re.compile(rf"(?:{project}|{_RUN})[^\s'\"]*"), re.compile(left_out)


_NAMED, _LEFT_OUT = _patterns(ROOT)
CURE = "keep what matters alone, such as the last line of an error"


def named(what: str, text: str) -> str:
    """Say that what is to be kept would name a place on this machine; `""` where its text names none."""
    found = _NAMED.search(text)
    return f"{what} would name a place of this machine ({found[0]})" if found else ""


def without(text: str) -> str:
    """Return a text with the names of files in the project, and in the folder of a run, from there on."""
    return _LEFT_OUT.sub("", text)
