"""Lines that stand in several programs, because each is whole by itself."""

from __future__ import annotations

import pytest

from hooks import programs


def test_what_starts_tasks_is_the_same_in_all_programs() -> None:
    """What is mended in one is mended in all."""
    found: dict[str, list[str]] = {}
    for program in programs.all_programs():
        if section := program.sections.get("cluster"):
            found.setdefault(section.text, []).append(program.path)
    assert sum(map(len, found.values())) > 1, "no program shares the section any more: remove this test"
    if len(found) != 1:
        groups = "\n".join(", ".join(paths) for paths in found.values())
        pytest.fail(f"the section `cluster` is not the same in all; the programs that agree:\n{groups}", pytrace=False)
