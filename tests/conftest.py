"""What the tests of the modules and those of the built site share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.site import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a browser for the tests that do something on a page; a process can have only one Playwright at a time."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.FLAGS)
        yield running
        running.close()
