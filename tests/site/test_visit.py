"""A visit ends when the page stands still, also where a script works on after the last request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.site.visit import visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Longer than the half second without a request that Playwright takes for the end.
WORK = "const until = performance.now() + 2000; while (performance.now() < until);"


def test_a_visit_ends_after_the_load(tab: Page) -> None:
    events: list[str] = []
    tab.route("**/long/", lambda route: route.fulfill(content_type="text/html", body="<script src=work.js></script>"))
    tab.route("**/work.js", lambda route: route.fulfill(content_type="text/javascript", body=WORK))
    tab.on("load", lambda _: events.append("load"))
    visit(tab, "long/")
    events.append("visit ended")
    assert events == ["load", "visit ended"]
