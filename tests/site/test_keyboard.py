"""A reader without a mouse: every control of a concept page does its work by keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.site.pages import QUIZ_PAGE
from tests.site.until import until
from tests.site.visit import visit

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

# More presses than any page has stops before its text.
FAR = 60
NARROW: ViewportSize = {"width": 390, "height": 844}


def test_the_first_stop_skips_to_the_text(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.innerText.trim()") == "Skip to content"
    assert tab.locator(".md-skip").bounding_box() is not None
    tab.keyboard.press("Enter")
    # The browser leaves the link a moment after it has changed the address.
    until(tab, "location.hash.length > 1 && document.activeElement === document.body")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('article') !== null")


def test_search_opens_moves_and_leads_to_a_page(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    tab.keyboard.press("/")
    tab.keyboard.type("prefetch")
    assert tab.locator(".md-search-result__meta").get_attribute("role") == "status"
    # Results of a part of the word come first, and are drawn anew below the reader.
    until(tab, "document.querySelector('.md-search-result__link')?.search === '?h=prefetch'")
    tab.keyboard.press("ArrowDown")
    first = tab.evaluate("document.activeElement.href")
    tab.keyboard.press("Enter")
    tab.wait_for_url(first)
    tab.keyboard.press("/")
    until(tab, "document.activeElement.matches('.md-search__input')")
    tab.keyboard.press("Escape")
    until(tab, "!document.activeElement.matches('.md-search__input')")


def test_search_that_closed_around_its_reader_opens_with_the_next_key(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    tab.keyboard.press("/")
    until(tab, "document.activeElement.matches('.md-search__input')")
    # What the theme does an eighth of a second after a page has loaded.
    tab.evaluate("document.getElementById('__search').checked && document.getElementById('__search').click()")
    assert tab.evaluate("document.activeElement.matches('.md-search__input')")
    tab.keyboard.type("prefetch")
    tab.locator(".md-search-result__item").first.wait_for(state="visible")
    assert tab.evaluate("document.querySelector('.md-search__input').value") == "prefetch"
    tab.keyboard.press("Escape")
    until(tab, "!document.activeElement.matches('.md-search__input') && !document.getElementById('__search').checked")


def test_a_text_that_comes_without_a_key_is_searched(tab: Page) -> None:
    """A text is pasted with the mouse, or spoken."""
    visit(tab, QUIZ_PAGE)
    tab.locator(".md-search__input").click()
    tab.keyboard.insert_text("prefetch")
    tab.locator(".md-search-result__item").first.wait_for(state="visible")


def test_search_of_a_narrow_screen_takes_the_focus_and_gives_it_back(tab: Page) -> None:
    tab.set_viewport_size(NARROW)
    visit(tab, QUIZ_PAGE)
    search = tab.get_by_role("button", name="Search")
    search.click()
    assert tab.evaluate("document.activeElement.matches('.md-search__input')")
    tab.keyboard.type("prefetch")
    tab.locator(".md-search-result__item").first.wait_for(state="visible")
    tab.keyboard.press("Escape")
    until(tab, "document.activeElement.matches('.guide-search') && !document.getElementById('__search').checked")


@pytest.mark.parametrize("link", ["strategies/mirrored/", "glossary/#replica"])
def test_the_focus_goes_to_the_page_that_a_link_leads_to(tab: Page, link: str) -> None:
    """Where no page is loaded, nothing else tells those who do not see it."""
    visit(tab, "strategies/one-device/")
    tab.evaluate("window.sameDocument = true")
    tab.locator(f"article a[href$='/{link}']").first.press("Enter")
    tab.wait_for_url(f"**/{link}")
    place = "#replica" if "#" in link else "article h1"
    until(tab, f"document.activeElement === document.querySelector('{place}')")
    assert tab.evaluate("window.sameDocument")


def test_the_lists_of_the_narrow_menu_work_by_keyboard(tab: Page) -> None:
    """One list covers another: what is covered, and what has not been opened, is no stop."""
    tab.set_viewport_size(NARROW)
    visit(tab, "strategies/one-device/")
    tab.get_by_role("button", name="Menu").press("Enter")
    text = "document.activeElement.ariaLabel || document.activeElement.innerText.trim()"
    assert tab.evaluate(text) == "One device"
    tab.keyboard.press("Tab")
    assert tab.evaluate(text) == "MirroredStrategy"
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("Enter")
    assert tab.evaluate(text) == "When to use it"
    inside = "document.activeElement.closest('.md-sidebar--primary .md-nav--secondary') !== null"
    for _ in range(tab.locator(".md-sidebar--primary .md-nav--secondary a").count() - 1):
        tab.keyboard.press("Tab")
        assert tab.evaluate(inside), tab.evaluate(text)
    tab.keyboard.press("Tab")
    assert not tab.evaluate(inside)
    assert not tab.evaluate("document.activeElement.closest('.md-sidebar--primary')")
    tab.get_by_role("button", name="Menu").press("Enter")
    tab.keyboard.press("Shift+Tab")
    assert tab.evaluate(text) == "Back from Table of contents"
    tab.keyboard.press("Enter")
    assert tab.evaluate(text) == "One device"
    tab.get_by_role("button", name="Back from The strategies").press("Space")
    assert tab.evaluate(text) == "The strategies"
    tab.get_by_role("button", name="Back from Strategies").press("Space")
    assert tab.evaluate("document.activeElement.title") == "TensorFlow at Scale"
    tab.get_by_role("button", name="Pages of Strategies").press("Enter")
    assert tab.evaluate(text) == "The strategies"
    tab.keyboard.press("Enter")
    assert tab.evaluate(text) == "One device"


def test_the_names_of_groups_are_no_stop_beside_their_pages(tab: Page) -> None:
    """On a wide screen all groups are open, and their names do nothing."""
    visit(tab, "strategies/one-device/")
    group = tab.locator(".md-nav__item--section > button", has_text="The same results")
    assert group.locator(".md-ellipsis").is_visible()
    group.evaluate("group => group.focus()")
    assert not group.evaluate("group => group === document.activeElement")


@pytest.mark.parametrize(("path", "first"), [("", "TensorFlow at Scale"), (QUIZ_PAGE, "One device")])
def test_the_menu_of_a_narrow_screen_takes_the_focus_and_gives_it_back(tab: Page, path: str, first: str) -> None:
    tab.set_viewport_size(NARROW)
    visit(tab, path)
    menu = tab.get_by_role("button", name="Menu")
    menu.press("Enter")
    assert tab.evaluate("document.activeElement.title || document.activeElement.innerText.trim()") == first
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('.md-sidebar--primary') !== null")
    tab.keyboard.press("Escape")
    assert menu.get_attribute("aria-expanded") == "false"
    assert tab.evaluate("document.activeElement.matches('.guide-menu')")
    # Nothing behind an open menu has the focus: it closes.
    menu.press("Enter")
    tab.locator("article a").first.focus()
    assert menu.get_attribute("aria-expanded") == "false"
    assert tab.evaluate("document.activeElement.closest('article') !== null")


def test_the_header_covers_nothing_that_has_the_focus(tab: Page) -> None:
    """Backwards: a browser scrolls what it goes to just into view, at the top."""
    visit(tab, QUIZ_PAGE)
    tab.locator(".md-footer a").first.focus()
    end = tab.evaluate("document.querySelector('.md-header').getBoundingClientRect().bottom")
    for _ in range(FAR):
        tab.keyboard.press("Shift+Tab")
        text, top = tab.evaluate(
            "[document.activeElement.innerText, document.activeElement.getBoundingClientRect().top]"
        )
        assert top >= end, text


def test_the_theme_changes(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    _tab_to(tab, "[data-guide=palette] input")
    seen = set()
    for _ in range(3):
        tab.keyboard.press("Enter")
        seen.add(tab.evaluate("document.body.dataset.mdColorScheme"))
    assert seen == {"default", "slate"}


def test_a_question_is_answered_and_its_reasons_are_opened(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    box = tab.locator("fieldset.quiz").first
    box.locator(".quiz-check").wait_for()
    summary = tab.locator("article details.guide-program > summary").last
    summary.focus()
    _tab_to(tab, "fieldset.quiz input")
    tab.keyboard.press("Space")
    tab.keyboard.press("ArrowDown")
    assert box.locator("input").nth(1).is_checked()
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert box.locator("li[data-mark] .quiz-told").count() >= 1
    assert box.get_by_role("status").inner_text().strip()
    _tab_to(tab, "fieldset.quiz summary")
    tab.keyboard.press("Enter")
    assert box.locator(".quiz-reasons").is_visible()


def test_a_program_opens(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    card = tab.locator("article details.guide-program").first
    card.locator("summary").focus()
    tab.keyboard.press("Enter")
    card.locator("pre").wait_for()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('details.guide-program') !== null")


def _tab_to(tab: Page, selector: str) -> None:
    for _ in range(FAR):
        tab.keyboard.press("Tab")
        if tab.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{FAR} presses of Tab do not reach {selector}")
