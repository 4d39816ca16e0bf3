"""The table of modules in CONTRIBUTING.md names every module of the hooks, and no other."""

from __future__ import annotations

import re
from fnmatch import filter as matching

from hooks.errors import ROOT

NAME = re.compile(r"`([^`]+)`")


def test_the_table_names_every_module() -> None:
    modules = {file.stem for file in (ROOT / "hooks").glob("*.py")} - {"__init__"}
    text = (ROOT / "CONTRIBUTING.md").read_text("utf8").partition("\n| module | what it does |\n")[2]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    first = [name for row in rows for name in NAME.findall(row.split("|")[1])]
    assert modules - {module for name in NAME.findall("".join(rows)) for module in matching(modules, name)} == set()
    assert [name for name in first if not matching(modules, name)] == []
