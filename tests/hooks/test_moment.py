"""The time that built files carry."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hooks import busy, errors, moment

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.delenv("GIT_DIR", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C")  # git speaks many languages


def test_it_is_the_time_of_the_last_commit(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    env = {**os.environ, "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], [*names, "commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run(["git", *command], cwd=root, env=env, check=True, timeout=busy.stretched(30))
    assert moment.of_sources(root) == 1_700_000_000


def test_a_signature_that_git_shows_is_no_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`log.showSignature` puts what gpg says before it."""
    root, signed = tmp_path / "project", "gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n"
    subprocess.run(["git", "init", "-q", root], check=True, timeout=busy.stretched(30))

    def git(*words: str, said: str = "") -> str:
        command = ["git", "-C", str(root), *words]
        seconds = busy.stretched(30)
        done = subprocess.run(command, input=said, capture_output=True, text=True, timeout=seconds, check=True)
        return done.stdout.strip()

    who = "a <a@example.org> 1700000000 +0000"
    commit = f"tree {git('mktree')}\nauthor {who}\ncommitter {who}\n{signed}\none\n"
    git("reset", "-q", "--soft", git("hash-object", "-t", "commit", "-w", "--stdin", said=commit))
    git("config", "log.showSignature", "true")
    git("config", "gpg.program", "echo")
    assert moment.of_sources(root) == 1_700_000_000


def test_a_named_time_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    assert moment.of_sources(tmp_path) == 1_600_000_000
    for early in ("7", "²"):  # the second is a digit, and no number
        monkeypatch.setenv("SOURCE_DATE_EPOCH", early)
        assert moment.of_sources(tmp_path) == moment.EARLIEST


@pytest.mark.parametrize("late", ["5000000000", "99999999999999"])
def test_a_time_that_no_archive_can_hold_is_refused(late: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", late)
    with pytest.raises(errors.GuideError, match=rf"^SOURCE_DATE_EPOCH: {late} comes after 2107"):
        moment.of_sources(tmp_path)


def test_a_git_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earliest time in its place would give other bytes without a word."""
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(moment, "SECONDS", 0.2)
    with pytest.raises(errors.GuideError, match="git did not say within"):
        moment.of_sources(tmp_path)


def test_sources_without_a_history_get_the_earliest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    assert moment.of_sources(root) == moment.EARLIEST
    monkeypatch.setenv("PATH", "")
    assert moment.of_sources(root) == moment.EARLIEST


def test_a_git_that_refuses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the folder belongs to another user: the earliest time in its place would date the site 1980."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True, timeout=busy.stretched(30))
    with pytest.raises(errors.GuideError, match=r"git does not say .*any commits"):
        moment.of_sources(root)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):  # a machine may take every folder for safe
        monkeypatch.setenv(name, os.devnull)
    with pytest.raises(errors.GuideError, match=r"git does not say .*dubious ownership"):
        moment.of_sources(root)
    (root / "docs").mkdir()
    with pytest.raises(errors.GuideError, match=r"git does not say .*dubious ownership"):
        moment.of_sources(root / "docs")
