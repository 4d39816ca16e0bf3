"""The site in Firefox: nothing fails, questions and search work, the keyboard reaches everything, axe finds nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tests.site import firefox
from tests.site.pages import QUIZ_PAGE, name
from tests.site.survey import SCHEMES, STICKING_OUT, ZOOMED
from tests.site.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.site.firefox import Firefox

PAGES = ["", QUIZ_PAGE, "labs/mirrored-scaling/", "glossary/"]
# Firefox stops with Tab at what scrolls; the theme says so to axe only once it has come into view.
AXE_OPTIONS = {"rules": {"scrollable-region-focusable": {"enabled": False}}}
SAID = "({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html])"
FIRST = "fieldset.quiz .quiz-options > li[data-right='{right}']"
TOLD = "() => document.querySelectorAll('li[data-mark={word}] .quiz-told').length === 1"
SCHEME = {"light": "default", "dark": "slate"}


@pytest.fixture(scope="module")
def browser(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox.running(firefox.path(), tmp_path_factory.mktemp("firefox"), site) as started:
        yield started


@pytest.fixture
def tab(browser: Firefox) -> Iterator[Firefox]:
    """Show the home page to a reader who has stored nothing. A problem on a page fails the test."""
    browser.fresh()
    browser.go("")
    browser.run("() => { localStorage.clear(); }")
    yield browser
    violations = browser.run("() => window.policyViolations")
    assert [*browser.problems, *violations] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_opens_without_a_problem(tab: Firefox, page: str) -> None:
    for width in (1440, 390, ZOOMED):
        tab.size(width)
        tab.go(page)
        title, text = tab.run("() => [document.querySelector('h1')?.innerText.trim(), document.body.innerText]")
        assert title, text[:300]
        assert tab.run(STICKING_OUT) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("page", ["", QUIZ_PAGE], ids=name)
def test_axe_finds_nothing(tab: Firefox, page: str, scheme: str) -> None:
    tab.go(page)
    tab.run(f"() => {{ document.body.dataset.mdColorScheme = '{SCHEME[scheme]}'; }}")
    tab.run(f"() => {{ {AXE_SCRIPT} }}")
    found = tab.run(f"() => axe.run({json.dumps(AXE_OPTIONS)}).then({SAID})")
    assert found == []


def test_a_question_says_wrong_and_right_and_remembers(tab: Firefox) -> None:
    tab.go(QUIZ_PAGE)
    for right, word in (("0", "wrong"), ("1", "right")):
        chosen = FIRST.format(right=right) + " input"
        tab.click(chosen)
        tab.wait(f"() => document.querySelector({json.dumps(chosen)}).checked")
        tab.click("fieldset.quiz .quiz-check")
        tab.wait(TOLD.format(word=word))
    tab.go(QUIZ_PAGE)
    tab.wait(TOLD.format(word="right"))


def test_the_archive_works_from_a_file(unpacked: Path, tmp_path: Path) -> None:
    with firefox.running(firefox.path(), tmp_path, f"{unpacked.as_uri()}/") as tab:
        tab.fresh()
        tab.go(f"{QUIZ_PAGE}index.html")
        chosen = FIRST.format(right="1") + " input"
        tab.click(chosen)
        tab.click("fieldset.quiz .quiz-check")
        tab.wait(TOLD.format(word="right"))
        tab.press("/")
        tab.press("prefetch")
        tab.wait("() => /prefetch/.test(document.querySelector('.md-search-result__item a')?.href)")
        tab.press(firefox.ENTER)
        tab.wait("() => /prefetch.index.html/.test(location.href) && document.querySelector('h1')?.innerText")
        # The theme asks for nothing as soon as the field has the focus, and warns that there is no index yet.
        problems = [problem for problem in tab.problems if not problem.startswith("console warn")]
        assert [*problems, *tab.run("() => window.policyViolations")] == []


def test_search_finds_by_keyboard(tab: Firefox) -> None:
    tab.press("/")
    tab.press("MirroredStrategy")
    # Results of a part of the word come first, and have another mark; the search takes the whole one for two words.
    tab.wait("() => document.querySelector('.md-search-result__link')?.search === '?h=mirrored+strategy'")
    found = tab.run("() => document.querySelector('.md-search-result__link').getAttribute('href')")
    assert "mirrored" in found or "multi-worker" in found
    tab.press(firefox.ENTER)
    tab.wait("() => /mirrored|multi-worker/.test(location.pathname)")


@pytest.mark.parametrize("page", ["", QUIZ_PAGE], ids=name)
def test_tab_reaches_everything_and_shows_where_it_is(tab: Firefox, page: str) -> None:
    tab.go(page)
    assert walk(lambda: tab.press(firefox.TAB), tab.run) == []
