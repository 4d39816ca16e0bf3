"""The ledger of loaded runs says what a run was made of and how it ended."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hooks import busy
from hooks.errors import ROOT
from tests import ledger, sturdy

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ("....\n4250 passed, 12 skipped in 1240.97s (0:20:40)\n", {"passed": 4250, "skipped": 12}),
        ("== 1 failed, 2 passed, 1 error in 3.02s ==\nand more\n", {"failed": 1, "passed": 2, "error": 1}),
        ("1 passed in 0.50s\n...\n3 passed in 2.00s\n", {"passed": 3}),
        ("no tests ran in 0.01s\n", {}),
        ("it stopped\n", {}),
    ],
)
def test_the_last_line_of_pytest_counts(said: str, counts: dict[str, int]) -> None:
    assert ledger.counts(said) == counts


def test_a_commit_with_changes_is_marked_but_the_ledger_is_no_change(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=busy.stretched(60), check=True).stdout

    book, source = tmp_path / ledger.FILE.relative_to(ROOT), tmp_path / "source"
    book.parent.mkdir()
    for file in (book, source):
        file.write_text("")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    head = git("rev-parse", "HEAD")[:12]
    book.write_text("a line\n")
    assert ledger.commit(tmp_path) == head
    source.write_text("changed\n")
    assert ledger.commit(tmp_path) == f"{head}+"


def test_clean_runs_are_counted_from_the_newest(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    assert ledger.lines(file) == []

    def add(made_of: str, failed: tuple[str, ...] = (), left: tuple[str, ...] = ()) -> None:
        facts: dict[str, Any] = {"seed": "7-0", "at_once": 2, "seconds": 3.6, "tests": {"passed": 2}}
        ledger.add(file, made_of, failed=failed, left=left, **facts)

    for number, (made_of, failed, left) in enumerate(
        [("a", (), ()), ("b", ("FAILED x",), ()), ("c", (), ()), ("d+", (), ()), ("e", (), ()), ("f", (), ("file y",))]
    ):
        add(made_of, failed, left)
        assert ledger.clean(ledger.lines(file)) == [1, 0, 1, 1, 2, 0][number]
    first, second = ledger.lines(file)[:2]
    assert (first["commit"], first["seed"], first["seconds"], first["tests"]) == ("a", "7-0", 4, {"passed": 2})
    assert second["failed"] == ["FAILED x"]


def test_what_is_kept_is_whole() -> None:
    """Only `make sturdy` writes it: every line that is there names its run and its outcome."""
    for run in ledger.lines(ledger.FILE):
        assert set(run) == {"commit", "ended", "seed", "at once", "cores", "seconds", "tests", "failed", "left"}
        assert run["failed"] or run["tests"].get("passed", 0) > 1000


@pytest.mark.parametrize(("words", "lines"), [(["--load"], 2), ([], 0), (["--load", "docs/pipelines"], 0)])
def test_only_a_loaded_run_of_the_whole_suite_gets_a_line(
    words: list[str], lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = [sturdy.Outcome(Counter(), [], 2.0, f"5-{number}", {"passed": 3}) for number in range(2)]
    commits, added = iter(["a", "a", "b"]), list[tuple[str, str]]()
    monkeypatch.setattr(sys, "argv", ["sturdy", "--runs", "2", *words])
    monkeypatch.setattr(sturdy, "repeat", lambda *_: (one for one in ended))
    monkeypatch.setattr(sturdy.ledger, "commit", lambda _: next(commits))
    monkeypatch.setattr(sturdy.ledger, "add", lambda _, made_of, **facts: added.append((made_of, facts["seed"])))
    assert sturdy.main() == 0
    # The sources changed before the second ended.
    assert added == [("a", "5-0"), ("a+", "5-1")][:lines]


def test_a_run_that_is_ended_early_gets_a_line_where_a_test_had_failed_or_it_had_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever stops it has seen the failure: it would not be counted. Nor would one that waits to be told."""
    added: list[tuple[str, list[str]]] = []

    def repeat(*arguments: Any) -> Generator[sturdy.Outcome]:
        for seed, failed, ended, tests in (
            ("5-0", ["FAILED a.py::b"], False, {}),
            ("5-1", ["FAILED the run: exit code 2"], False, {}),
            ("5-2", [], True, {"passed": 1}),
            ("5-3", [], True, {}),  # nothing is known of it
        ):
            arguments[-1](sturdy.Outcome(Counter(failed), [], 2.0, seed, tests), ended)
        yield from ()

    monkeypatch.setattr(sys, "argv", ["sturdy", "--runs", "2", "--load"])
    monkeypatch.setattr(sturdy, "repeat", repeat)
    monkeypatch.setattr(sturdy.ledger, "commit", lambda _: "a")
    monkeypatch.setattr(sturdy.ledger, "add", lambda *_, **facts: added.append((facts["seed"], [*facts["failed"]])))
    assert sturdy.main() == 0
    assert added == [("5-0", ["FAILED a.py::b"]), ("5-2", [])]
