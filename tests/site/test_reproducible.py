"""Builds of the same sources are the same, byte for byte: elsewhere, at another time, and from what one has kept."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.site.copied import copy_project, environment

if TYPE_CHECKING:
    from pathlib import Path

# Python imports a module of this name when it starts: it puts the clock four hundred days forward.
LATER = """
import datetime, time

ahead, clock = 400 * 86400, time.time

class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(clock() + ahead, tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.timezone.utc).replace(tzinfo=None)

datetime.datetime = Later
time.time = lambda: clock() + ahead
"""


def contents(site: Path) -> dict[str, bytes]:
    """Return every file under `site` by its path."""
    return {file.relative_to(site).as_posix(): file.read_bytes() for file in site.rglob("*") if file.is_file()}


def build(project: Path, site: Path, env: dict[str, str]) -> Path:
    """Build a project and return the folder of its site."""
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "--site-dir", str(site)]
    built = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert built.returncode == 0, built.stderr
    return site


def different(one: Path, other: Path) -> list[str]:
    """Return the files that two sites do not share."""
    first, second = contents(one), contents(other)
    return sorted(path for path in first.keys() | second.keys() if first.get(path) != second.get(path))


def test_builds_are_equal_byte_for_byte(built_site: Path, site_address: str, tmp_path: Path) -> None:
    copy = tmp_path / "another" / "folder"
    copy_project(copy)
    for file in copy.rglob("*"):
        os.utime(file, (1_500_000_000, 1_500_000_000), follow_symlinks=False)
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(LATER)
    # Not as in CI, which keeps no pages.
    env = environment(
        site_address, CI="", FRESH="", LC_ALL="C", PYTHONHASHSEED="7", PYTHONPATH=str(clock), TZ="Asia/Tokyo"
    )
    assert different(built_site, build(copy, tmp_path / "new", env)) == []
    pages = copy / ".cache" / "pages"
    kept = {file.name for file in pages.iterdir()}
    assert len(kept) > 50
    assert different(built_site, build(copy, tmp_path / "kept", env)) == []
    assert {file.name for file in pages.iterdir()} == kept
