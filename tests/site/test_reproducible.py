"""Two builds of the same sources are the same, byte for byte: in another folder, at another time, with other hashes."""

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


def test_two_builds_are_equal_byte_for_byte(built_site: Path, site_address: str, tmp_path: Path) -> None:
    copy = tmp_path / "another" / "folder"
    copy_project(copy)
    for file in copy.rglob("*"):
        os.utime(file, (1_500_000_000, 1_500_000_000), follow_symlinks=False)
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(LATER)
    env = environment(site_address, LC_ALL="C", PYTHONHASHSEED="7", PYTHONPATH=str(clock), TZ="Asia/Tokyo")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert built.returncode == 0, built.stderr
    first, second = contents(built_site), contents(tmp_path / "site")
    assert first.keys() == second.keys()
    assert [path for path, content in first.items() if content != second[path]] == []
