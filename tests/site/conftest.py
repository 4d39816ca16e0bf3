"""What the tests of the site share: one strict build, one server, one browser."""

from __future__ import annotations

import json
import sys
import zipfile
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.plugin_ahead import ahead_of
from tests.site import builds, chromium
from tests.site.copied import environment
from tests.site.pages import ROOT
from tests.site.serve import address, reserved, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import BrowserContext, Page

    from tests.plugin_ahead import Run
    from tests.site.chromium import NewReader
    from tests.site.survey import Look


class Site:
    """The site that the tests look at, and what is done for them beside other tests.

    It is built for the address that it is served at, for instant navigation works nowhere else. What depends on the
    environment is found out here: tests change it while the work goes on.
    """

    def __init__(self, session: pytest.Session) -> None:
        stack = ExitStack()
        session.config.add_cleanup(stack.close)
        self.stack, self.ahead = stack, ahead_of(session.config)
        self.port = stack.enter_context(reserved())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="site-")))
        home = address(self.port)
        self.builds, self.browser = builds.Builds(folder, home, environment(home)), chromium.found()
        self.asked = {_params(item)["page"] for item in session.items if "seen" in getattr(item, "fixturenames", ())}
        if self.asked:  # now: it reads the environment, which tests change
            from tests.site.seen import look_at

            self.look_at = look_at
        for fixture, work in {
            "built_site": self.serve,
            "seen": self.look,
            "properdocs": self.builds.properdocs,
            "zensical": self.builds.zensical,
            "elsewhere": self.builds.elsewhere,
            "read_by_page": self.read_by_page,
        }.items():
            self.ahead.begin(session, fixture, work)

    def serve(self, run: Run) -> Path:
        """Build the site, serve it, and return its folder."""
        folder = self.builds.ours(run)
        self.stack.enter_context(serving(folder, self.port))
        return folder

    def look(self, run: Run) -> dict[tuple[str, int], Look]:
        """Look once at every page that a selected test asks about."""
        browser, site = self.browser or chromium.path(), self.ahead.result("built_site")
        return self.look_at(run, browser, self.builds.address, site, sorted(self.asked))

    def read_by_page(self, run: Run) -> dict[str, list[str]]:
        """Note which files of the project each page reads."""
        env = {"FRESH": "1", "NO_MKDOCS_2_WARNING": "1"}
        command = [sys.executable, "-m", "tests.site.reads"]
        files: dict[str, list[str]] = json.loads(run(command, seconds=builds.SECONDS, cwd=ROOT, env=env))
        return files


SITE = pytest.StashKey[Site]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin with the site."""
    if not session.config.option.collectonly:
        session.config.stash[SITE] = Site(session)


@pytest.fixture(scope="session")
def built_site(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the site, built strictly."""
    return ahead_of(request.config).result("built_site")


@pytest.fixture(scope="session")
def site(built_site: Path, request: pytest.FixtureRequest) -> str:
    """Return the address of the home page of the built site, which is served."""
    return request.config.stash[SITE].builds.address


@pytest.fixture(scope="session")
def properdocs(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the site that ProperDocs builds."""
    return ahead_of(request.config).result("properdocs")


@pytest.fixture(scope="session")
def zensical(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the site that Zensical builds."""
    return ahead_of(request.config).result("zensical")


@pytest.fixture(scope="session")
def elsewhere(request: pytest.FixtureRequest) -> builds.Elsewhere:
    """Return the site built elsewhere, at another time, twice."""
    return ahead_of(request.config).result("elsewhere")


@pytest.fixture(scope="session")
def read_by_page(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """Return the files that each page reads while it is rendered."""
    return ahead_of(request.config).result("read_by_page")


@pytest.fixture(scope="session")
def unpacked(built_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the archive of the site, to be opened from a file, and return its folder."""
    (archive,) = built_site.glob("*.zip")
    folder = tmp_path_factory.mktemp("offline")
    with zipfile.ZipFile(archive) as content:
        content.extractall(folder)
    return folder / archive.stem


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Return the browser's path; without one the test says how to get it."""
    return chromium.path()


@pytest.fixture(scope="session")
def seen(browser_path: str, site: str, request: pytest.FixtureRequest) -> dict[tuple[str, int], Look]:
    """Return what every page shows at every width."""
    return ahead_of(request.config).result("seen")


def _params(item: pytest.Item) -> dict[str, str]:
    return getattr(getattr(item, "callspec", None), "params", {})


@pytest.fixture
def context(new_reader: NewReader, site: str) -> Iterator[BrowserContext]:
    """Open a fresh reader: nothing stored, a wide window. An error in the console fails the test."""
    reader = new_reader(base_url=site, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    problems = chromium.problems_of(reader)
    yield reader
    reader.close()
    assert problems == []


@pytest.fixture
def tab(context: BrowserContext) -> Page:
    """Open a tab of a fresh reader."""
    return context.new_page()
