"""Search in a browser: what readers type finds the right page, and soon."""

from __future__ import annotations

import tomllib
from statistics import median
from typing import TYPE_CHECKING

import pytest

from hooks import tree
from tests import until as patient
from tests.site.pages import ROOT
from tests.site.serve import FOLDER
from tests.site.until import until
from tests.site.visit import visit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page, Route

    from tests.site.chromium import NewReader

LIST = ROOT / "tests" / "site" / "queries.toml"
FIRST, SOON, MANY = 0.95, 3, 60

# Types a query as a reader pastes it, and answers with the pages in the order shown, once they are shown.
ASK = """
async (query) => {
  const field = document.querySelector(".md-search__input");
  const meta = document.querySelector(".md-search-result__meta");
  const list = document.querySelector(".md-search-result__list");
  const say = (text) => {
    field.value = text;
    field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  };
  const answered = () => /\\d|no match/i.test(meta.textContent);
  const until = async (done) => {
    const start = performance.now();
    while (!done()) {
      if (performance.now() - start > PATIENCE) throw new Error(`no answer to ${query}: ${meta.textContent}`);
      await new Promise((resolve) => setTimeout(resolve));
    }
  };
  say("");
  await until(() => !answered() && !list.children.length);
  const start = performance.now();
  say(query);
  await until(() => answered() && (list.children.length || /no match/i.test(meta.textContent)));
  const time = performance.now() - start;
  const links = [...list.querySelectorAll(".md-search-result__item > a.md-search-result__link")];
  return { pages: links.map((link) => new URL(link.href).pathname), time };
}
""".replace("PATIENCE", f"{1000 * patient.PATIENCE:.0f}")


def queries() -> dict[str, set[str]]:
    """Return for each query the pages that answer it: the list's, and the page of each error text on the site."""
    found: dict[str, set[str]] = {}
    for page, kinds in tomllib.loads(LIST.read_text("utf-8")).items():
        for asked in kinds.values():
            for query in asked:
                found.setdefault(query, set()).add(page)
    return found


def errors(site: Path) -> dict[str, set[str]]:
    """Return for each error text of the site the pages that explain it; one may show more of a text than another."""
    found: dict[str, set[str]] = {}
    for file in sorted(site.rglob("index.html")):
        page, text = file.parent.relative_to(site).as_posix(), file.read_text("utf-8")
        if page != "errors" and 'class="error-entry"' in text:
            for entry in tree.read(text).of_class("error-entry"):
                for error in entry.of_class("guide-error"):
                    for code in error.named(["code"]):
                        found.setdefault(" ".join(code.text.split()).rstrip("."), set()).add(f"{page}/")
    return {
        text: {page for other in found for page in found[other] if other.startswith(text) or text.startswith(other)}
        for text in found
    }


@pytest.fixture
def ready(tab: Page) -> Page:
    """Return the home page with its search open and the index in it."""
    visit(tab, "")
    tab.keyboard.press("/")
    tab.locator(".md-search__input").press_sequentially("a")
    tab.locator(".md-search-result__item").first.wait_for(state="attached")
    return tab


def answers(tab: Page, query: str) -> list[str]:
    """Return the pages found, in order, relative to the home page."""
    return [path.removeprefix(FOLDER) for path in tab.evaluate(ASK, query)["pages"]]


def misses(tab: Page, asked: dict[str, set[str]]) -> tuple[list[str], list[str]]:
    """Return the queries whose page is not first, and those whose page is not among the first three."""
    late: list[str] = []
    lost: list[str] = []
    for query, pages in asked.items():
        found = answers(tab, query)
        if not pages & set(found[:1]):
            line = f"{query[:90]!r} should find {' or '.join(sorted(pages))}, found {found[:SOON]}"
            (late if pages & set(found[:SOON]) else lost).append(line)
    return late + lost, lost


def test_the_right_page_comes_first(ready: Page, record_property: Callable[[str, object], None]) -> None:
    asked = queries()
    assert len(asked) >= MANY
    late, lost = misses(ready, asked)
    record_property("first", 1 - len(late) / len(asked))
    assert lost == [], "\n".join(lost)
    assert len(late) <= (1 - FIRST) * len(asked), "\n".join(late)


def test_every_error_text_finds_its_cure(ready: Page, built_site: Path) -> None:
    asked = errors(built_site)
    assert asked
    late, lost = misses(ready, asked)
    assert lost == [], "\n".join(lost)
    assert len(late) <= (1 - FIRST) * len(asked), "\n".join(late)


# Notes when the first key goes down in the field, and when the first result is in the list.
WATCH = """
() => {
  const list = document.querySelector(".md-search-result__list");
  addEventListener("keydown", (event) => {
    if (event.target.matches(".md-search__input")) window.firstKey ??= performance.now();
  }, true);
  new MutationObserver(() => {
    if (list.children.length) window.firstResult ??= performance.now();
  }).observe(list, { childList: true });
}
"""


@pytest.mark.parametrize("typed", ["before", "after"])
@pytest.mark.parametrize("file", ["assets/search.js", "search/search_index.json"])
def test_what_does_not_come_is_asked_for_again(new_reader: NewReader, site: str, file: str, typed: str) -> None:
    """A reader may type before the page knows that the script or the index does not come, or after."""
    page = new_reader(base_url=site).new_page()
    asked: list[Route] = []

    def hold_one(route: Route) -> None:
        asked.append(route)
        if len(asked) > 1:
            route.continue_()

    page.route(f"**/{file}", hold_one)
    visit(page, "strategies/mirrored/")
    page.keyboard.press("/")
    # The request is announced before the route is asked about it.
    patient.until(lambda: asked, file, sleep=lambda seconds: page.wait_for_timeout(1000 * seconds))
    if typed == "before":
        page.keyboard.type("mirrored")
    with page.expect_event("requestfailed"):
        asked[0].abort()
    if typed == "after":
        page.keyboard.type("mirrored")
    page.locator(".md-search-result__item").first.wait_for(state="attached")
    assert len(asked) == 2


def test_the_index_is_fetched_once_when_search_is_opened(
    tab: Page, site: str, record_property: Callable[[str, object], None]
) -> None:
    """How soon results come depends on the machine: the times are noted, and that nothing is done twice is tested."""
    fetched: list[str] = []
    tab.on("request", lambda request: fetched.append(request.url))
    visit(tab, "strategies/mirrored/")
    tab.evaluate(WATCH)
    assert [url for url in fetched if "search" in url.removeprefix(site)] == []
    tab.keyboard.press("/")
    until(tab, "document.activeElement.matches('.md-search__input')")
    tab.keyboard.type("m")
    assert tab.locator(".md-search__input").input_value() == "m"  # else it is the key that is lost, not the question
    tab.locator(".md-search-result__item").first.wait_for(state="attached")
    first = tab.evaluate("firstResult - firstKey")
    tab.evaluate(ASK, "a text of several words that makes every index there is")
    later = [tab.evaluate(ASK, query)["time"] for query in ("prefetch", "mirrored", "logits", "shuffle", "staleness")]
    record_property("first_ms", round(first))
    record_property("next_ms", round(median(later)))
    asked = [url.removeprefix(site) for url in fetched if "search" in url.removeprefix(site)]
    assert asked.count("search/search_index.json") == 1
    assert len(asked) == len(set(asked))
    assert len(tab.workers) == 1, "it searches beside the page, in one index"
