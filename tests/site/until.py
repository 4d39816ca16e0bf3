"""Wait for what a script of the page brings about.

Playwright's `wait_for_function` evaluates a text inside the page each time, which the site's policy forbids.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 60.0  # seconds; the machine may be doing something else


def until(tab: Page, expression: str, argument: Any = None) -> None:
    """Wait until a JavaScript expression, or a function of `argument`, is true on the page.

    Raises:
        AssertionError: it is not true in time.
    """
    end = time.monotonic() + PATIENCE
    while not tab.evaluate(expression, argument):
        assert time.monotonic() < end, f"after {PATIENCE:.0f} s it is still not true: {expression}"
        tab.wait_for_timeout(50)
