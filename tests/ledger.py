"""The whole runs of the tests under load, a line of JSON for each: `make sturdy` adds them, failed ones too.

A line says what a run was made of, so that it can be repeated, and how it ended.
"""

from __future__ import annotations

import json
import re
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hooks import atomic, busy, devices
from hooks.errors import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE = ROOT / "tests" / "sturdy.jsonl"


def counts(said: str) -> dict[str, int]:
    """Return how many tests passed, failed and so on, from what pytest printed; empty where it did not come to its end.

    Args:
        said: all that it printed; the last line that ends with its seconds counts.
    """
    ends = re.findall(r"^=*\s*(\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d+(?:\.\d+)?s\b", said, re.MULTILINE)
    return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", ends[-1] if ends else "")}


def commit(repository: Path) -> str:
    """Return the commit that is checked out, with `+` where tracked files other than the ledger differ from it."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(repository), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=busy.stretched(60), check=True).stdout

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", f":(exclude){FILE.relative_to(ROOT)}")
    return git("rev-parse", "HEAD").strip()[:12] + ("+" if changed else "")


def add(
    file: Path,
    made_of: str,
    *,
    seed: str,
    at_once: int,
    seconds: float,
    tests: dict[str, int],
    failed: Iterable[str],
    left: Iterable[str],
) -> None:
    """Add the line of a run that has ended.

    Args:
        file: the ledger.
        made_of: the commit.
        seed: of its order.
        at_once: how many runs there were beside each other, itself included.
        seconds: that it took.
        tests: how many had which outcome.
        failed: the tests that failed.
        left: what it left behind.
    """
    line = {
        "commit": made_of,
        "ended": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "seed": seed,
        "at once": at_once,
        "cores": devices.cores(),
        "seconds": round(seconds),
        "tests": tests,
        "failed": sorted(failed),
        "left": sorted(left),
    }
    with atomic.alone(file):
        before = file.read_text("utf-8") if file.exists() else ""
        atomic.write(file, before + json.dumps(line, ensure_ascii=False) + "\n")


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the lines, oldest first."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def clean(runs: list[dict[str, Any]]) -> int:
    """Return how many runs, counted from the newest, had no fault; those of changed sources do not count."""
    count = 0
    for run in reversed(runs):
        if run["failed"] or run["left"]:
            break
        count += not run["commit"].endswith("+")
    return count
