"""Wait for what a script of the page brings about.

Playwright's `wait_for_function` evaluates a text inside the page each time, which the site's policy forbids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests import until as patient

if TYPE_CHECKING:
    from playwright.sync_api import Page


def until(tab: Page, expression: str, argument: Any = None) -> None:
    """Wait until a JavaScript expression, or a function of `argument`, is true on the page.

    Raises:
        AssertionError: it is not true in time.
    """
    patient.until(
        lambda: tab.evaluate(expression, argument),
        expression,
        sleep=lambda seconds: tab.wait_for_timeout(1000 * seconds),
    )
