"""What the tests of the site share: one strict build, one server, one browser."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.site import chromium
from tests.site.pages import ROOT
from tests.site.serve import address, reserved, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.site.survey import Look


@pytest.fixture(scope="session")
def site_address() -> Iterator[str]:
    """Return where the site will be served: it is built for this address, for instant navigation works nowhere else."""
    with reserved() as port:
        yield address(port)


@pytest.fixture(scope="session")
def built_site(site_address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly, once, and return its folder."""
    folder = tmp_path_factory.mktemp("built") / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "SITE_URL": site_address, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="session")
def unpacked(built_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the archive of the site, to be opened from a file, and return its folder."""
    (archive,) = built_site.glob("*.zip")
    folder = tmp_path_factory.mktemp("offline")
    with zipfile.ZipFile(archive) as content:
        content.extractall(folder)
    return folder / archive.stem


@pytest.fixture(scope="session")
def site(built_site: Path, site_address: str) -> Iterator[str]:
    """Serve the built site and return the address of its home page."""
    with serving(built_site, urlsplit(site_address).port or 80) as served:
        yield served


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Return the browser's path; without one the test says how to get it."""
    return chromium.path()


@pytest.fixture(scope="session")
def seen(browser_path: str, site: str, built_site: Path, request: pytest.FixtureRequest) -> dict[tuple[str, int], Look]:
    """Look once at every page that a selected test asks about."""
    from tests.site.seen import look_at

    asked = {_params(item)["page"] for item in request.session.items if "seen" in getattr(item, "fixturenames", ())}
    return look_at(browser_path, site, built_site, sorted(asked))


def _params(item: pytest.Item) -> dict[str, str]:
    return getattr(getattr(item, "callspec", None), "params", {})


@pytest.fixture
def context(browser: Browser, site: str) -> Iterator[BrowserContext]:
    """Open a fresh reader: nothing stored, a wide window. An error in the console fails the test."""
    reader = browser.new_context(base_url=site, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    reader.set_default_timeout(120_000)
    problems: list[str] = []
    reader.on("weberror", lambda error: problems.append(str(error.error)))
    reader.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield reader
    reader.close()
    assert problems == []


@pytest.fixture
def tab(context: BrowserContext) -> Page:
    """Open a tab of a fresh reader."""
    return context.new_page()
