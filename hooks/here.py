"""Places on this machine in a text that is kept: in another checkout, or in another run, they are others."""

from __future__ import annotations

import re

from hooks.errors import ROOT

# A name ends here. What is kept is JSON: before a name may stand a line break that is written `\n`.
_END = r"""(?=[/\s'"\\:)\],]|$)"""
_START = r"(?:(?<![\w.-])|(?<=\\[nrt]))"
_ROOT = rf"{_START}{re.escape(str(ROOT))}{_END}"
# The folder of a runner, a lab or a kernel (`launch`, `lab_runs`, `kernels`): `mkdtemp` adds eight characters.
_RUN = rf"(?:/[^/\s'\"]+)*/guide-(?:lab-|kernel-)?[a-z0-9_]{{8}}{_END}"
_NAMED = re.compile(rf"(?:{_ROOT}|{_RUN})[^\s'\"]*")
# With it goes the folder that a program runs in, which `server` makes.
_LEFT_OUT = re.compile(rf"{_RUN}(?:/\d+/(?:cwd|home|page|tmp){_END})?/?|{_ROOT}/?")
CURE = "keep what matters alone, such as the last line of an error"


def named(what: str, text: str) -> str:
    """Say that what is to be kept would name a place on this machine; `""` where its text names none."""
    found = _NAMED.search(text)
    return f"{what} would name a place of this machine ({found[0]})" if found else ""


def without(text: str) -> str:
    """Return a text with the names of files in the project, and in the folder of a run, from there on."""
    return _LEFT_OUT.sub("", text)
