"""Every page for everyone: axe finds nothing, the keyboard reaches everything, nothing sticks out when zoomed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.site.pages import PAGES, QUIZ_PAGE, name
from tests.site.survey import SCHEMES, STICKING_OUT, TARGET_SIZE, WIDTHS, ZOOMED
from tests.site.visit import visit
from tests.site.walk import walk

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

    from tests.site.survey import Look

# A page of the theme, and one with every kind of block.
WALKED = ["", QUIZ_PAGE]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_axe_finds_nothing(seen: dict[tuple[str, int], Look], page: str, width: int, scheme: str) -> None:
    assert seen[page, width].axe[scheme] == []


@pytest.mark.parametrize("width", [*WIDTHS, ZOOMED])
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_sticks_out(seen: dict[tuple[str, int], Look], page: str, width: int) -> None:
    assert seen[page, max(width, min(WIDTHS))].sticking_out[width] == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", WALKED, ids=name)
def test_tab_reaches_everything_and_shows_where_it_is(tab: Page, path: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    visit(tab, path)
    assert walk(lambda: tab.keyboard.press("Tab"), tab.evaluate) == []


@pytest.mark.parametrize("path", ["", QUIZ_PAGE])
def test_the_menu_of_a_narrow_screen_works_by_keyboard(tab: Page, path: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    visit(tab, path)
    menu = tab.get_by_role("button", name="Menu")
    menu.focus()
    assert menu.get_attribute("aria-expanded") == "false"
    tab.keyboard.press("Space")
    assert menu.get_attribute("aria-expanded") == "true"
    tab.locator("nav.md-nav--primary a.md-nav__link:visible").first.wait_for()
    assert _violations(tab) == []


def test_open_search_is_accessible(tab: Page) -> None:
    visit(tab, "")
    tab.keyboard.press("/")
    tab.keyboard.type("mirrored")
    tab.locator(".md-search-result__item").first.wait_for(state="visible")
    assert _violations(tab) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_answered_question_is_accessible(tab: Page, scheme: Literal["light", "dark"]) -> None:
    tab.emulate_media(color_scheme=scheme)
    visit(tab, QUIZ_PAGE)
    for box in tab.locator("fieldset.quiz").all()[:2]:
        box.locator("input").first.check()
        box.get_by_role("button", name="Check").click()
    assert _violations(tab) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_self_check_is_accessible_while_it_asks(tab: Page, scheme: Literal["light", "dark"], width: int) -> None:
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": width, "height": 900})
    visit(tab, "self-check/")
    tab.get_by_role("button", name="Start").click()
    tab.locator(".check-stage input").first.check()
    tab.get_by_role("button", name="Check").click()
    assert _violations(tab) == []
    tab.get_by_role("button", name="Stop").click()
    tab.get_by_label("Exam").check()
    tab.get_by_role("button", name="Start").click()
    for at in range(1, 11):
        tab.get_by_text(f"Question {at} of 10").wait_for()
        tab.locator(".check-stage input").first.check()
        tab.locator(".check-stage").get_by_role("button").first.click()
    tab.locator(".check-stage h2").wait_for()
    assert tab.evaluate(STICKING_OUT) == []
    assert _violations(tab) == []


def test_a_reader_whose_system_is_dark_gets_the_dark_theme(tab: Page) -> None:
    tab.emulate_media(color_scheme="dark")
    tab.goto("", wait_until="commit")
    tab.locator("header.md-header").wait_for()
    assert tab.evaluate("document.body.dataset.mdColorScheme") == "slate"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_forced_colours_keep_marks_borders_and_drawings(
    context: BrowserContext, scheme: Literal["light", "dark"]
) -> None:
    """Answers are told by words and marks; a drawing keeps the ground that its colours were chosen for."""
    tab = context.new_page()
    tab.emulate_media(forced_colors="active", color_scheme=scheme)
    visit(tab, QUIZ_PAGE)
    active = tab.locator(".md-tabs__item--active .md-tabs__link")
    assert "underline" in active.evaluate("(link) => getComputedStyle(link).textDecorationLine")
    assert tab.evaluate(STICKING_OUT) == []
    box = tab.locator("fieldset.quiz").first
    for right, said in (("0", "✗ Wrong."), ("1", "✓ Right.")):
        item = box.locator(f"li[data-right='{right}']").first
        item.locator("input").check()
        box.get_by_role("button", name="Check").click()
        assert item.locator(".quiz-told > strong").inner_text() == said
        assert (
            float(item.locator(".quiz-told").evaluate("(told) => parseFloat(getComputedStyle(told).borderLeftWidth)"))
            >= 2
        )
    stamp = tab.locator(".guide-output .guide-stamp").first
    assert stamp.evaluate("(stamp) => getComputedStyle(stamp).color") == tab.evaluate(
        "() => getComputedStyle(document.querySelector('article p')).color"
    )
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(14, 24, 28)"}[scheme]
    drawing = tab.locator("figure .fig").first
    assert drawing.evaluate("(figure) => getComputedStyle(figure).backgroundColor") == ground


def test_nothing_moves_for_those_who_ask_for_that(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    moving = tab.evaluate(
        """() => [...document.querySelectorAll("*")].filter((element) => {
          const { transitionProperty, animationName, scrollBehavior } = getComputedStyle(element);
          return transitionProperty !== "none" || animationName !== "none" || scrollBehavior !== "auto";
        }).map((element) => element.outerHTML.slice(0, 120))"""
    )
    assert moving == []


@pytest.mark.parametrize("page", WALKED, ids=name)
def test_drawings_and_questions_have_names(tab: Page, page: str) -> None:
    """What a screen reader says: a drawing its alternative text, a group of options its question."""
    visit(tab, page)
    pictures = tab.locator("article [role=img], article img")
    assert pictures.count() > 0
    for picture in pictures.all():
        assert len(picture.get_attribute("aria-label") or picture.get_attribute("alt") or "") > 20
    for box in tab.locator("fieldset.quiz").all():
        question = box.locator(".quiz-question").inner_text().strip()
        assert tab.get_by_role("group", name=question).count() == 1
        for option in box.locator(".quiz-options input").all():
            assert option.evaluate("(input) => input.labels[0].innerText.trim()")


def _violations(tab: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab, options={"resultTypes": ["violations"], "rules": TARGET_SIZE}).response["violations"]
    return [f"{rule['id']}: {[node['html'][:160] for node in rule['nodes'][:3]]}" for rule in found]
