"""Whatever is broken in a page, a program, a record or a question must be noticed, and said with file and line."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hooks.errors import ROOT
from tests.mutations.small import PAGE
from tests.mutations.table import MUTATIONS, PROGRAM_MUTATIONS, Mutation

if TYPE_CHECKING:
    from pathlib import Path

CONTROL = Mutation("control", PAGE, "# Plain\n", "# Plain\n\nA word more.\n", "", "tests")
ALL = [CONTROL, *MUTATIONS, *PROGRAM_MUTATIONS]


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Try every mutation whose test was selected, in one process that forks, and return what was answered."""
    chosen = [getattr(item, "callspec", None) for item in request.session.items]
    wanted = {one.params["mutation"] for one in chosen if one is not None and "mutation" in one.params}
    folder = tmp_path_factory.mktemp("mutations")
    first = _worker(folder, [{"kind": ["prepare"], "name": "prepare", "real": str(ROOT)}])
    assert "crash" not in first["prepare"], first["prepare"]
    jobs = [
        {
            **dataclasses.asdict(m),
            "kind": ["build", "tests"] if m is CONTROL else [m.stage],
            "rehash": m in PROGRAM_MUTATIONS,
        }
        for m in ALL
        if m.name in wanted
    ]
    return _worker(folder, jobs)


def _worker(folder: Path, jobs: list[dict[str, object]]) -> dict[str, dict[str, str]]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "mutations" / "worker.py"), str(folder)],
        input="\n".join(json.dumps(job) for job in jobs),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {answer["name"]: answer for answer in map(json.loads, done.stdout.splitlines())}


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
    assert len({m.name for m in ALL}) == len(ALL) >= 41
