"""Go to a page and wait until it stands still: loaded, drawn, and asking for nothing.

Playwright's `networkidle` alone says too little. It is half a second without a request since the navigation began, and
on a busy machine that is over before the page has asked for its first script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Chromium drops the keys that come before a page has been drawn.
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def visit(tab: Page, path: str) -> None:
    """Go to a page that has scripts, and wait until it stands still."""
    tab.goto(path, wait_until="load")
    settle(tab)


def reload(tab: Page) -> None:
    """Load the page anew, and wait until it stands still."""
    tab.reload(wait_until="load")
    settle(tab)


def settle(tab: Page) -> None:
    """Wait until the page of a tab stands still."""
    tab.wait_for_load_state("load")
    tab.evaluate(DRAWN)
    tab.wait_for_load_state("networkidle")
