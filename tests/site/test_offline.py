"""The archive of the site, unpacked and opened from a file: every link leads somewhere, search and questions work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.chromium import problems_of
from tests.site.visit import DRAWN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.site.chromium import NewReader

LINK = re.compile(r'<[a-z]+\s[^>]*?\b(?:href|src|data-again|data-bank)="([^"]+)"')
MIRRORED = "strategies/mirrored/index.html"


@pytest.fixture
def tab(new_reader: NewReader, unpacked: Path) -> Iterator[Page]:
    """Open a tab of a fresh reader without a network; what fails or leads to the web fails the test."""
    reader = new_reader(base_url=f"{unpacked.as_uri()}/", offline=True, reduced_motion="reduce")
    problems = problems_of(reader)
    reader.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else problems.append(asked.url))
    yield reader.new_page()
    reader.close()
    assert problems == []


def test_every_link_names_a_file_that_is_there(unpacked: Path) -> None:
    missing = []
    for page in sorted(unpacked.rglob("*.html")):
        for url in LINK.findall(page.read_text("utf-8")):
            parts = urlsplit(url)
            target = (page.parent / unquote(parts.path)).resolve()
            if not parts.scheme and parts.path and not (target.is_file() and target.is_relative_to(unpacked.resolve())):
                missing.append(f"{page.relative_to(unpacked)}: {url}")
    assert missing == []


def test_pages_lead_to_pages(tab: Page) -> None:
    tab.goto("index.html", wait_until="load")
    tab.locator(".md-tabs a").nth(2).click()
    tab.wait_for_url("**/strategies/index.html")
    tab.wait_for_load_state("load")
    tab.go_back(wait_until="load")
    assert tab.locator(".home-hero").is_visible()


def test_the_search_finds_pages(tab: Page) -> None:
    tab.goto(MIRRORED, wait_until="load")
    tab.locator(".md-search__input").click()
    tab.keyboard.type("prefetch")
    first = tab.locator(".md-search-result__link").first
    first.wait_for(state="visible")
    first.click()
    tab.wait_for_url("**/pipelines/prefetch/index.html*")
    assert tab.title().startswith("Prefetch")


def test_an_answer_counts_on_the_self_check(tab: Page) -> None:
    tab.goto(MIRRORED, wait_until="load")
    box = tab.locator("fieldset.quiz").first
    box.locator("li[data-right='1'] input").check()
    box.get_by_role("button", name="Check").click()
    assert box.locator("li[data-mark=right]").count() == 1
    tab.goto("self-check/index.html", wait_until="load")
    assert tab.locator(".check-total").inner_text().startswith("1 of ")
    tab.get_by_role("button", name="Start").click()
    tab.locator(".check-stage fieldset.quiz").wait_for()
    tab.locator(".check-place a").click()
    tab.wait_for_url("**/index.html*")


def test_a_drawing_moves(tab: Page) -> None:
    tab.goto("parallelism/pipeline-parallelism/index.html", wait_until="load")
    widget = tab.locator(".widget").first
    widget.locator(".widget-drawing svg").wait_for()
    tab.evaluate(DRAWN)
    before = widget.locator(".widget-drawing svg").get_attribute("aria-label")
    widget.locator("input[type=range]").first.press("ArrowRight")
    assert widget.locator(".widget-drawing svg").get_attribute("aria-label") != before


def test_a_demo_that_would_fetch_leaves_what_stands_in_its_place(tab: Page) -> None:
    tab.goto("deployment/tensorflow-js/index.html", wait_until="load")
    box = tab.locator(".widget[data-widget=digits]")
    tab.locator(".widget[data-state]").wait_for()  # the script has found it
    assert box.locator(".widget-fallback").is_visible()
    assert box.get_by_role("button", name="Load the model").count() == 0
