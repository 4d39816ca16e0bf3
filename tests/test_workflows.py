"""What the workflows may do: the right to write belongs to jobs that run git alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from hooks.errors import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / ".github" / "workflows"
# In a job that may write: commands of its steps, and actions, which run no code of the project or of a package.
COMMANDS = {"cd", "git", "rm", "touch"}
ACTIONS = {"actions/download-artifact"}


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each job of each workflow, with its name."""
    for file in sorted(FOLDER.glob("*.y*ml")):
        for name, job in yaml.safe_load(file.read_text("utf8"))["jobs"].items():
            yield f"{file.name}: {name}", job


def test_a_job_that_may_write_runs_git_alone() -> None:
    writing = {name: job for name, job in jobs() if "write" in job["permissions"].values()}
    assert list(writing) == ["publish.yml: publish"]
    for job in writing.values():
        used = {step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step}
        parts = [part for step in job["steps"] for part in re.split(r"&&|\|\|?|[;\n`]|\$\(", step.get("run", ""))]
        run = {part.split()[0] for part in parts if part.strip()}
        assert used <= ACTIONS
        assert run <= COMMANDS


def test_what_is_published_was_verified() -> None:
    needs = {name.partition(": ")[2]: job.get("needs") for name, job in jobs() if name.startswith("publish.yml")}
    assert needs == {"verify": None, "build": "verify", "publish": "build"}
