"""What the tests of the modules and those of the built site share."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.direct import ask_directly
from tests.plugin_blocks import PLUGIN, Collected
from tests.site import chromium
from tests.until import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext

    from hooks.blocks import Block
    from tests.site.chromium import NewReader

ask_directly()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a browser for the tests that do something on a page; a process can have only one Playwright at a time."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def blocks(request: pytest.FixtureRequest) -> Callable[[Path], list[Block]]:
    """Return what gives the blocks of a page: those that are tests of this session, where it was collected."""
    collected: Collected = request.config.pluginmanager.getplugin(PLUGIN)
    return collected.blocks


@pytest.fixture
def new_reader(browser: Browser) -> Iterator[NewReader]:
    """Return what opens a fresh reader, who has stored nothing; all are closed with the test, also one that fails."""
    with ExitStack() as readers:

        def opened(**options: Any) -> BrowserContext:
            reader = readers.enter_context(browser.new_context(**options))
            reader.set_default_timeout(1000 * PATIENCE)
            return reader

        yield opened
