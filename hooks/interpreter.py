"""Start a function of the hooks in an interpreter of its own."""

from __future__ import annotations

import sys
from pathlib import Path

# Not that of `errors`, which imports MkDocs: a program's process gets what is imported here.
ROOT = Path(__file__).resolve().parents[1]


def command(module: str, function: str) -> list[str]:
    """Return the command of a new interpreter that calls a function of the hooks; what follows are its arguments."""
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    return [sys.executable, "-P", "-c", f"{path}; from hooks import {module}; del sys.path[0]; {module}.{function}()"]
