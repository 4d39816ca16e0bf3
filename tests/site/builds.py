"""Builds of the site that tests compare: ours, ours elsewhere at another time, those of builders that may follow."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.site.copied import copy_project
from tests.site.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugin_ahead import Run

SECONDS = 900
MKDOCS = ("mkdocs", "build", "-q", "--strict", "--site-dir")
# Python imports a module of this name when it starts: it puts the clock four hundred days forward.
LATER = """
import datetime, time

ahead, clock, clock_ns = 400 * 86400, time.time, time.time_ns

class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(clock() + ahead, tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.timezone.utc).replace(tzinfo=None)

# A function, with the later time where none is given. No Python function, which a class would bind: `logging` does.
class Told:
    def __init__(self, function, now, place=0):
        self.function, self.now, self.place = function, now, place

    def __call__(self, *given):
        if given[self.place :] in ((), (None,)):
            given = (*given[: self.place], self.now())
        return self.function(*given)

datetime.datetime = Later
time.time, time.time_ns = lambda: clock() + ahead, lambda: clock_ns() + ahead * 10**9
time.gmtime, time.localtime, time.ctime = (Told(one, time.time) for one in (time.gmtime, time.localtime, time.ctime))
time.asctime, time.strftime = Told(time.asctime, time.localtime), Told(time.strftime, time.localtime, 1)
"""


def clock_ahead(folder: Path) -> dict[str, str]:
    """Make a folder, and return the environment in which Python finds its clock four hundred days ahead."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(LATER)
    return {"PYTHONPATH": str(folder)}


def contents(site: Path) -> dict[str, bytes]:
    """Return every file under `site` by its path."""
    return {file.relative_to(site).as_posix(): file.read_bytes() for file in site.rglob("*") if file.is_file()}


@dataclass(frozen=True)
class Elsewhere:
    """Two builds of a copy, the second from the pages that the first has kept, and what was kept after each."""

    first: Path
    second: Path
    kept: set[str]
    kept_again: set[str]


@dataclass(frozen=True)
class Builds:
    """Makes the builds.

    Attributes:
        folder: where to, an empty one.
        address: of the home page.
        env: the environment of a build for that address.
    """

    folder: Path
    address: str
    env: dict[str, str]

    def ours(self, run: Run) -> Path:
        """Build the project with MkDocs and return the folder of the site."""
        _build(run, ROOT, self.env, *MKDOCS, str(self.folder / "ours"))
        return self.folder / "ours"

    def elsewhere(self, run: Run) -> Elsewhere:
        """Build a copy in another folder, at another time, with other settings of the system, twice."""
        copy = self.folder / "another" / "folder"
        copy_project(copy)
        for file in copy.rglob("*"):
            os.utime(file, (1_500_000_000, 1_500_000_000), follow_symlinks=False)
        # Not as in CI, which keeps no pages.
        other = {"LC_ALL": "C", "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", **clock_ahead(self.folder / "clock")}
        env = {**self.env, "CI": "", "FRESH": "", **other}

        def build(site: Path) -> set[str]:
            _build(run, copy, env, *MKDOCS, str(site))
            return {file.name for file in (copy / ".cache" / "pages").iterdir()}

        first, second = self.folder / "first", self.folder / "second"
        return Elsewhere(first, second, kept=build(first), kept_again=build(second))

    def properdocs(self, run: Run) -> Path:
        """Build with ProperDocs and return the folder of the site."""
        copy = self.folder / "successor" / "project"
        copy_project(copy, drawn=True)
        _build(run, copy, self.env, "properdocs", *MKDOCS[1:], str(self.folder / "properdocs"))
        return self.folder / "properdocs"

    def zensical(self, run: Run) -> Path:
        """Build with Zensical, strictly, and return the folder of the site, which is the copy's own."""
        copy = self.folder / "zensical"  # of its own: with --clean it empties `.cache` too
        copy_project(copy)
        words = ("zensical", "build", "--clean", "--strict", "--config-file", "mkdocs.yml")
        _build(run, copy, self.env, *words)
        return copy / "site"


def _build(run: Run, project: Path, env: dict[str, str], *words: str) -> None:
    run([sys.executable, "-m", *words], seconds=SECONDS, cwd=project, env=env)
