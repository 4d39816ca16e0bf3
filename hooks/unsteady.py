"""Claims about time on which two runs on one processor can disagree: a repetition does not compare them.

`pyproject.toml` lists them, `[tool.guide] unsteady`, as a question would name them: for the CPU. To mend the program is
better: give the claim a margin, or drop it. The list is for one that cannot be changed where it was found, because a
record from a GPU, which pages show, would be void. Nothing on a page may rest on such a claim.
"""

from __future__ import annotations

import functools
import tomllib

from hooks.errors import ROOT


@functools.cache
def listed() -> frozenset[str]:
    """Return the claims, each as `section/program.py:name`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return frozenset(project["tool"]["guide"]["unsteady"])


def is_listed(program: str, device: str, name: str) -> bool:
    """Tell whether a claim of a program, by its path under `snippets/`, is listed for a device."""
    return device == "cpu" and f"{program}:{name}" in listed()
