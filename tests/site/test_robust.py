"""What readers do to a site: with and without instant navigation, Back and Forward, two tabs, no storage.

Instant navigation works only where the site is served under its own address, so a second server has none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.site.chromium import problems_of
from tests.site.pages import QUIZ_PAGE
from tests.site.serve import serving
from tests.site.until import until
from tests.site.visit import reload, settle, visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page

    from tests.site.chromium import NewReader

SELF_CHECK = "self-check/"
WIDGET_PAGE = "parallelism/pipeline-parallelism/"
QUIZ_KEY = "tensorflow-at-scale:quiz"
# What a browser does that keeps nothing, and one whose storage is full.
DENIED = """
for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, {
    configurable: true, get() { throw new DOMException("denied", "SecurityError"); },
  });
"""
NONE = DENIED.replace('throw new DOMException("denied", "SecurityError");', "return null;")
FULL = 'Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };'


class Reader(NamedTuple):
    """A reader's browser, and whether pages replace each other without a load."""

    context: BrowserContext
    instant: bool

    def open(self, path: str) -> Page:
        tab = self.context.new_page()
        visit(tab, path)
        tab.evaluate("window.sameDocument = true")
        return tab

    def follow(self, tab: Page, path: str, until: str) -> None:
        """Go to a page as a link does."""
        tab.evaluate(
            """(path) => {
              const link = document.createElement("a");
              link.href = new URL(path, document.querySelector(".md-logo").href);
              link.textContent = "there";
              document.querySelector("article").append(link);
              link.click();
            }""",
            path,
        )
        self.arrived(tab, path, until)

    def back(self, tab: Page, path: str, until: str, *, forward: bool = False) -> None:
        """Press Back, or Forward."""
        tab.evaluate("(by) => history.go(by)", 1 if forward else -1)
        self.arrived(tab, path, until)

    def arrived(self, tab: Page, path: str, until: str) -> None:
        tab.wait_for_url(f"**/{path}")
        tab.locator(until).first.wait_for()
        settle(tab)
        assert (tab.evaluate("window.sameDocument") or False) is self.instant


@pytest.fixture(scope="module")
def elsewhere(built_site: Path) -> Iterator[str]:
    with serving(built_site) as address:
        yield address


@pytest.fixture(params=["instant", "plain"])
def reader(request: pytest.FixtureRequest, new_reader: NewReader, site: str, elsewhere: str) -> Iterator[Reader]:
    """Open a fresh reader; an error in the console fails the test."""
    instant = request.param == "instant"
    context = new_reader(base_url=site if instant else elsewhere, reduced_motion="reduce")
    problems = problems_of(context)
    yield Reader(context, instant)
    context.close()
    # Elsewhere the theme asks for a site map at the address for which the site was built.
    assert [text for text in problems if instant or "sitemap" not in text] == []


def answer(tab: Page, *, right: bool = True) -> None:
    """Choose an option of the first question of a page, or of the one that the self-check asks, and check it."""
    box = tab.locator("fieldset.quiz").first
    box.locator(f"li[data-right='{int(right)}'] input").first.check()
    box.get_by_role("button", name="Check").click()
    box.locator("li[data-mark]").first.wait_for()


def answered(tab: Page) -> str:
    return tab.locator(".check-total").inner_text().partition(" of ")[0]


def test_answers_outlive_back_and_forward(reader: Reader) -> None:
    tab = reader.open(QUIZ_PAGE)
    answer(tab)
    reader.follow(tab, SELF_CHECK, ".check-form")
    assert answered(tab) == "1"
    reader.back(tab, QUIZ_PAGE, ".quiz-total")  # what the script writes last
    assert tab.locator("fieldset.quiz").first.locator("li[data-mark=right]").count() == 1
    assert tab.locator(".quiz-check").count() == tab.locator("fieldset.quiz").count()
    reader.back(tab, SELF_CHECK, ".check-form", forward=True)
    assert answered(tab) == "1"
    assert tab.locator(".check-form").count() == 1


def test_an_exam_is_taken_up_where_it_was_left(reader: Reader) -> None:
    tab = reader.open(SELF_CHECK)
    tab.get_by_label("Exam").check()
    tab.get_by_role("button", name="Start").click()
    tab.locator(".check-stage .quiz-options input").first.check()
    tab.get_by_role("button", name="Next").click()
    tab.get_by_text("Question 2 of 10").wait_for()
    asked = tab.locator(".check-stage fieldset").get_attribute("data-quiz")
    reader.follow(tab, "glossary/", "#device")
    reader.back(tab, SELF_CHECK, ".check-stage fieldset")
    assert tab.get_by_text("Question 2 of 10").is_visible()
    assert tab.locator(".check-stage fieldset").get_attribute("data-quiz") == asked
    reload(tab)
    assert tab.locator(".check-stage fieldset").get_attribute("data-quiz") == asked


def test_a_drawing_moves_after_back_and_forward(reader: Reader) -> None:
    tab = reader.open("glossary/")
    reader.follow(tab, WIDGET_PAGE, ".widget-drawing svg")
    reader.back(tab, "glossary/", "#device")
    reader.back(tab, WIDGET_PAGE, ".widget-drawing svg", forward=True)
    widget = tab.locator(".widget").first
    assert widget.locator(".widget-controls").count() == 1
    drawing = widget.locator(".widget-drawing svg")
    before = drawing.get_attribute("aria-label")
    widget.locator("input[type=range]").first.press("ArrowRight")
    assert drawing.get_attribute("aria-label") != before


def test_two_tabs_agree(reader: Reader) -> None:
    check, page = reader.open(SELF_CHECK), reader.open(QUIZ_PAGE)
    answer(page)
    until(check, "document.querySelector('.check-total').textContent.startsWith('1 of ')")
    check.get_by_role("button", name="Clear all my answers").click()
    until(page, "!document.querySelector('fieldset.quiz li[data-mark]')")
    assert page.locator(".quiz-total").inner_text().startswith("This page: 0 of ")


def test_two_tabs_have_one_theme(reader: Reader) -> None:
    one, other = reader.open(QUIZ_PAGE), reader.open("glossary/")
    shown = "document.body.dataset.mdColorScheme + document.querySelector('[data-guide=palette] input:checked').id"
    for _ in range(3):
        one.locator("label.md-header__button[for^=__palette]:visible").click()
        until(other, f"{shown} === {json.dumps(one.evaluate(shown))}")


def test_each_tab_has_its_own_exam(reader: Reader) -> None:
    first, second = reader.open(SELF_CHECK), reader.open(SELF_CHECK)
    first.get_by_role("button", name="Start").click()
    first.locator(".check-stage fieldset").wait_for()
    reload(second)
    second.get_by_role("button", name="Start").wait_for()


def test_a_page_from_the_browsers_cache_shows_the_present(reader: Reader) -> None:
    """A page that Back takes out of the browser's cache heard of nothing that happened meanwhile."""
    again = "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
    page, check = reader.open(QUIZ_PAGE), reader.open(SELF_CHECK)
    answer(page)
    until(check, "document.querySelector('.check-total').textContent.startsWith('1 of ')")
    for tab in (page, check):
        tab.evaluate(f"localStorage.removeItem('{QUIZ_KEY}'); {again}")
    assert page.locator("li[data-mark]").count() == 0
    assert answered(check) == "0"


@pytest.mark.parametrize("failing", [DENIED, NONE, FULL], ids=["denied", "none", "full"])
def test_a_storage_that_fails(reader: Reader, failing: str) -> None:
    reader.context.add_init_script(failing)
    tab = reader.open(QUIZ_PAGE)
    answer(tab)
    assert tab.locator(".quiz-total").inner_text().startswith("This page: 1 of ")
    reader.follow(tab, SELF_CHECK, ".check-form")
    # Without a storage only the page itself can remember, and a load ends it.
    assert answered(tab) == ("1" if reader.instant else "0")
    tab.locator("select[name=which]").select_option("all")
    tab.get_by_role("button", name="Start").click()
    answer(tab)
    assert answered(tab) == ("2" if reader.instant else "1")
    reader.follow(tab, WIDGET_PAGE, ".widget-drawing svg")
    tab.locator(".md-search__input").click()
    tab.keyboard.type("prefetch")
    tab.locator(".md-search-result__link").first.wait_for(state="visible")
    tab.keyboard.press("Escape")
    tab.locator("label.md-header__button[for^=__palette]:visible").click()
    assert tab.evaluate("document.body.dataset.mdColorScheme") == "default"


@pytest.mark.parametrize("text", ["not JSON", "[]", '{"mirrored-weights-after-step": {"picked": ["<img src=x>"]}}'])
def test_what_is_stored_is_not_trusted(reader: Reader, text: str) -> None:
    tab = reader.open(SELF_CHECK)
    tab.evaluate("([key, text]) => localStorage.setItem(key, text)", [QUIZ_KEY, text])
    reload(tab)
    assert answered(tab) == "0"
    assert tab.locator("article img").count() == 0
    tab.locator("select[name=which]").select_option("all")
    tab.get_by_role("button", name="Start").click()
    answer(tab)
    assert answered(tab) == "1"
