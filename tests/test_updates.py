"""What Dependabot may propose: newer versions of all that no program's record holds."""

from __future__ import annotations

from typing import Any

import yaml

from hooks import programs, records
from hooks.errors import ROOT
from tests.audit.__main__ import NPM

FILE = ROOT / ".github" / "dependabot.yml"


def update(ecosystem: str) -> dict[str, Any]:
    """Return what is asked for one package manager."""
    updates = yaml.safe_load(FILE.read_text("utf8"))["updates"]
    (found,) = (one for one in updates if one["package-ecosystem"] == ecosystem)
    return found


def test_what_a_program_names_is_moved_by_hand() -> None:
    named = {package for program in programs.all_programs() for package in records.packages_of(program)}
    ignored = {one["dependency-name"] for one in update("uv")["ignore"]}
    assert named - ignored == set(), f"programs name these: add them to `ignore` in {FILE}"
    assert ignored - named == set(), f"no program names these: take them out of `ignore` in {FILE}"


def test_npm_packages_that_no_program_names_are_proposed() -> None:
    beside = {file for program in programs.all_programs() for file in program.companions}
    expected = {f"/{folder}" for folder in NPM if ROOT / folder / "package-lock.json" not in beside}
    assert len(expected) < len(NPM)
    assert set(update("npm")["directories"]) == expected, f"name these folders in {FILE}"
