"""Whatever is broken in a page, a program, a record or a question must be noticed, and said with file and line."""

from __future__ import annotations

import pytest

from tests.mutations.table import ALL, CONTROL


@pytest.mark.parametrize("mutation", [m.name for m in ALL])
def test_noticed(mutation: str, answers: dict[str, dict[str, str]]) -> None:
    """The stage that should notice it does, with the message that a contributor needs."""
    tried = next(m for m in ALL if m.name == mutation)
    answer = answers[mutation]
    assert "crash" not in answer, answer["crash"]
    assert "died" not in answer, "it was killed: the check itself did not end"
    if tried is CONTROL:
        assert answer == {"name": "control", "build": "", "tests": ""}
        return
    said = answer.get(tried.stage, "")
    assert said, f"not noticed: {answer}"
    assert tried.says in said
    assert "Traceback (most recent call last)" not in answer.get("build", ""), (
        "a contributor gets a message, not a traceback"
    )


def test_names_are_unique() -> None:
    """Each mutation has its own answer."""
    assert len({m.name for m in ALL}) == len(ALL) >= 149
