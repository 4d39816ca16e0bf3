"""What CI runs on a clean checkout installs what the machine lacks, or says what to install."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hooks import busy
from hooks.errors import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Notes what it is called with; packages with `firefox` in their names are unknown.
STUB = """#!/bin/sh
echo "${0##*/} $*" >> "$NOTED"
case "$0 $*" in */apt-cache*firefox*) exit 100;; esac
"""


def run(folder: Path, *there: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run the script on a machine that has some programs; return how that ended, and what it called."""
    for name in ("bash", "dirname", "env", "sh"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name in ("apt-cache", "apt-get", "curl", "make", *there):
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    for name, becomes in {"id": "echo 0", "timeout": 'shift; exec "$@"'}.items():
        (folder / name).write_text(f"#!/bin/sh\n{becomes}\n")
        (folder / name).chmod(0o755)
    env = {"PATH": str(folder), "NOTED": str(folder / "noted")}
    done = subprocess.run(
        [ROOT / ".ci" / "run"], env=env, capture_output=True, text=True, timeout=busy.stretched(60), check=False
    )
    return done, (folder / "noted").read_text().splitlines()


@pytest.mark.parametrize("lacks", ["", "chromium"])
def test_what_the_machine_lacks_is_installed(lacks: str, tmp_path: Path) -> None:
    done, called = run(tmp_path, *{"chromium", "firefox"} - {lacks})
    assert done.returncode == 0, done.stderr
    assert called[-2:] == ["make check", "make test DEVICE=cpu LOCK="]
    install = [f"apt-get -qq install -y --no-install-recommends {lacks}"] if lacks else []
    assert [line for line in called if " install " in line] == install


def test_what_the_archive_lacks_is_named(tmp_path: Path) -> None:
    done, called = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "apt has no firefox-esr here: install Chromium or Google Chrome, and Firefox, by hand"
    )
    assert not any("install" in line or "make" in line for line in called)
