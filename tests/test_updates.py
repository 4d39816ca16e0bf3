"""What Dependabot may propose: newer versions of all that no program's record holds."""

from __future__ import annotations

from typing import Any

import yaml

from hooks import programs, records
from hooks.errors import ROOT

FILE = ROOT / ".github" / "dependabot.yml"
NPM = "package-lock.json"


def update(ecosystem: str) -> dict[str, Any]:
    """Return what is asked for one package manager."""
    updates = yaml.safe_load(FILE.read_text("utf8"))["updates"]
    (found,) = (one for one in updates if one["package-ecosystem"] == ecosystem)
    return found


def test_what_a_program_names_is_moved_by_hand() -> None:
    named = sorted({package for program in programs.all_programs() for package in records.packages_of(program)})
    assert [one["dependency-name"] for one in update("uv")["ignore"]] == named, f"name them in {FILE.name}"


def test_npm_packages_that_no_program_names_are_proposed() -> None:
    asked = {ROOT / folder.lstrip("/") for folder in update("npm")["directories"]}
    beside = {file.parent for program in programs.all_programs() for file in program.companions if file.name == NPM}
    held = {file.parent for folder in ("snippets", "tests") for file in (ROOT / folder).glob(f"*/{NPM}")}
    assert beside
    assert asked == held - beside, f"name them in {FILE.name}"
