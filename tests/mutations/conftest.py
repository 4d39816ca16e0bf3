"""Every mutation whose test was selected is tried in one process, beside other tests."""

from __future__ import annotations

import dataclasses
import json
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from hooks.busy import MOST
from hooks.devices import cores
from hooks.errors import ROOT
from tests import child
from tests.mutations.table import ALL, CONTROL, PROGRAM_MUTATIONS
from tests.plugin_ahead import ahead_of

if TYPE_CHECKING:
    from tests.plugin_ahead import Run

# A loaded machine takes minutes.
SECONDS = 1200


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin with the mutations."""
    chosen = [getattr(item, "callspec", None) for item in session.items]
    wanted = {one.params["mutation"] for one in chosen if one is not None and "mutation" in one.params}
    ahead_of(session.config).begin(session, "answers", partial(answer, wanted))


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest) -> dict[str, dict[str, str]]:
    """Return what was answered to each mutation."""
    return ahead_of(request.config).result("answers")


def answer(wanted: set[str], run: Run) -> dict[str, dict[str, str]]:
    """Try mutations and return what was answered to each.

    Args:
        wanted: their names.
        run: runs the process that tries them.
    """
    with TemporaryDirectory(prefix="mutations-") as folder:
        first = _worker(run, folder, [{"kind": ["prepare"], "name": "prepare", "real": str(ROOT)}])
        assert "recorded" in first["prepare"], f"it crashed, or was killed: {first['prepare']}"
        jobs = [
            {
                **dataclasses.asdict(m),
                "kind": ["build", "tests"] if m is CONTROL else [m.stage],
                "rehash": m in PROGRAM_MUTATIONS,
            }
            for m in ALL
            if m.name in wanted
        ]
        return _worker(run, folder, jobs)


def _worker(run: Run, folder: str, jobs: list[dict[str, object]]) -> dict[str, dict[str, str]]:
    # Each has an alarm alone, which cannot be stretched while it waits.
    limits = [str(cores()), f"{MOST * child.PATIENCE:.0f}"]
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), folder, *limits]
    printed = run(command, seconds=SECONDS, text="\n".join(map(json.dumps, jobs)))
    return {one["name"]: one for one in map(json.loads, printed.splitlines())}
