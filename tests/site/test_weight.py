"""What a first visit costs: bytes as they travel, and requests."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from tests.site.pages import CONCEPT_PAGES, QUIZ_PAGE, name
from tests.site.survey import WIDTHS
from tests.site.visit import visit
from tests.until import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.site.survey import Look

BYTES = 91_000
REQUESTS = 12
# Fetched once for all pages, and weighed on its own.
INDEX = "search/search_index.json"
# Fetched when a reader opens a card, as those who look at the pages do.
OPENED = "programs/"

# Each kind of page: the home page, questions, a drawing to move, the demo, the self-check, a lab.
KINDS = [
    "",
    QUIZ_PAGE,
    "parallelism/pipeline-parallelism/",
    "deployment/tensorflow-js/",
    "self-check/",
    "labs/mirrored-scaling/",
]
# Source: https://web.dev/articles/cls
WATCH_SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, startTime, sources } of list.getEntries())
    if (!hadRecentInput) {
      const moved = sources.map(({ node, previousRect: from, currentRect: to }) => `${node?.nodeName}
        ${node?.className} ${node?.textContent?.slice(0, 40)}: ${JSON.stringify([from, to])}`);
      shifts.push({ value, startTime, moved });
    }
}).observe({ type: "layout-shift", buffered: true });
"""

# What a browser says of its work on the styles of a page, by element.
STYLED = "devtools.timeline,disabled-by-default-devtools.timeline"


def weights(requests: list[str], site: Path) -> dict[str, int]:
    """Return the compressed size of each requested file."""
    files = {path: site / path / "index.html" if (site / path).is_dir() else site / path for path in requests}
    return {path: len(gzip.compress(file.read_bytes(), 6)) for path, file in files.items() if path != INDEX}


@pytest.mark.parametrize("page", CONCEPT_PAGES, ids=name)
def test_a_concept_page_is_light(
    seen: dict[tuple[str, int], Look], built_site: Path, page: str, record_property: Callable[[str, object], None]
) -> None:
    requests = [path for path in seen[page, max(WIDTHS)].requests if not path.startswith(OPENED)]
    sizes = weights(requests, built_site)
    record_property("bytes", sum(sizes.values()))
    record_property("requests", len(requests))
    table = "\n".join(f"{size:7,} {path or 'home'}" for path, size in sorted(sizes.items(), key=lambda item: -item[1]))
    assert sum(sizes.values()) <= BYTES, f"{sum(sizes.values()):,} bytes\n{table}"
    assert len(requests) <= REQUESTS, requests


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", KINDS, ids=name)
def test_nothing_shifts_while_a_page_loads(tab: Page, page: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    tab.add_init_script(WATCH_SHIFTS)
    visit(tab, page)
    # Two frames: an observer is told after the frame in which something moved.
    shifts = tab.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(shifts))))"
    )
    # To three decimals, as the score is given.
    assert round(sum(shift["value"] for shift in shifts), 3) == 0, shifts


def test_a_page_is_styled_once_while_it_loads(tab: Page) -> None:
    """Count how often a browser looks at the style of most elements again: it takes a phone a tenth of a second."""
    client = tab.context.browser.new_browser_cdp_session()  # type: ignore[union-attr]
    events: list[dict[str, Any]] = []
    ended: list[object] = []
    client.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    client.on("Tracing.tracingComplete", lambda part: ended.append(part))  # noqa: PLW0108 - it takes no built-in
    client.send(
        "Tracing.start", {"transferMode": "ReportEvents", "traceConfig": {"includedCategories": STYLED.split(",")}}
    )
    try:
        visit(tab, QUIZ_PAGE)
        count = tab.evaluate("document.querySelectorAll('body *').length")
    finally:  # the next test has the same browser
        client.send("Tracing.end")
    until(lambda: ended, "the end of the trace", sleep=lambda seconds: tab.wait_for_timeout(1000 * seconds))
    styled = [event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree"]
    assert max(styled) > 0
    assert len([elements for elements in styled if elements > 0.5 * count]) <= 1, sorted(styled, reverse=True)[:9]
