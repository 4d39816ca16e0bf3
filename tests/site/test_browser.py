"""What a reader's browser does: nothing fails, nothing is fetched elsewhere, answers outlive navigation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest

from hooks import redirects
from tests.site.pages import LEADS_ON, PAGES, QUIZ_PAGE, name
from tests.site.survey import WIDTHS
from tests.site.until import until
from tests.site.visit import reload, visit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.site.chromium import NewReader
    from tests.site.survey import Look

POLICY = re.compile(r'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="([^"]+)">')

# Whose tables have the most columns.
WIDE_TABLES = ["coming-from-the-official-tutorials/", "how-this-is-verified/", "strategies/support-table/"]
# The addresses of links that are printed with their address.
SPELLED = """() => [...document.querySelectorAll("article a[href]")]
  .filter((link) => getComputedStyle(link, "::after").content.includes("("))
  .map((link) => link.href)"""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_fails(seen: dict[tuple[str, int], Look], page: str) -> None:
    assert [problem for width in WIDTHS for problem in seen[page, width].problems] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_breaks_its_policy(seen: dict[tuple[str, int], Look], page: str) -> None:
    assert [broken for width in WIDTHS for broken in seen[page, width].policy] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_is_fetched_elsewhere(seen: dict[tuple[str, int], Look], page: str) -> None:
    assert [url for width in WIDTHS for url in seen[page, width].elsewhere] == []


def test_every_page_that_was_built_is_looked_at(built_site: Path) -> None:
    found = (file for file in built_site.rglob("index.html") if LEADS_ON not in file.read_text("utf-8"))
    built = {file.parent.relative_to(built_site).as_posix() for file in found}
    assert {page.strip("/") or "." for page in PAGES} == built


def test_all_pages_have_one_policy(built_site: Path) -> None:
    """Instant navigation adds up the policies of the pages it passes, so they must not differ.

    A page that only leads on is left by a load of the next one.
    """
    policies: dict[str, list[str]] = {}
    for file in sorted(built_site.rglob("*.html")):
        html = file.read_text("utf-8")
        found = POLICY.search(html)
        assert found, f"{file.relative_to(built_site)} has no policy as the first element of its head"
        if LEADS_ON in html:
            assert found[1].endswith("script-src 'self'"), "it has no script of its own"
            continue
        policies.setdefault(found[1], []).append(file.relative_to(built_site).as_posix())
    assert len(policies) == 1, policies
    assert "unsafe" not in next(iter(policies))


def test_the_policy_is_in_force(new_reader: NewReader, site: str) -> None:
    """A script and a style that are not the site's do nothing: the checks above can see a violation."""
    page = new_reader(base_url=site).new_page()
    page.goto("")
    ran = page.evaluate(
        """async () => {
          const broken = [];
          addEventListener("securitypolicyviolation", (event) => broken.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.setAttribute("style", "color: red");
          const image = new Image();
          image.src = "https://example.org/pixel.png";
          for (let n = 0; broken.length < 3 && n < 300; n++) await new Promise((resolve) => setTimeout(resolve, 100));
          return { ran: window.ran ?? false, broken: broken.sort() };
        }"""
    )
    assert ran == {"ran": False, "broken": ["img-src", "script-src-elem", "style-src-attr"]}


def test_a_question_says_wrong_and_right(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    for right in ("0", "1"):
        _answer(tab, right)
        word = {"0": "wrong", "1": "right"}[right]
        assert tab.locator("fieldset.quiz").first.locator(f"li[data-mark={word}]").count() == 1


def test_answers_outlive_instant_navigation_back_and_reload(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    _answer(tab, "1")
    score = tab.locator(".quiz-total").inner_text()
    tab.evaluate("window.sameDocument = true")
    tab.locator(".md-tabs a").first.click()
    tab.locator(".home-hero").wait_for()
    assert tab.evaluate("window.sameDocument"), "the page was loaded anew: instant navigation is off"
    until(tab, "getComputedStyle(document.querySelector('.home-hero')).display === 'grid'")
    tab.go_back()
    tab.locator("fieldset.quiz .quiz-check").first.wait_for()
    assert tab.evaluate("window.sameDocument")
    assert tab.locator("fieldset.quiz").first.locator("li[data-mark=right]").count() == 1
    assert tab.locator(".quiz-total").inner_text() == score
    box = tab.locator("fieldset.quiz").nth(1)
    box.locator("input").first.check()
    box.get_by_role("button", name="Check").click()
    assert box.locator("li[data-mark]").count() >= 1
    reload(tab)
    tab.locator("fieldset.quiz .quiz-check").first.wait_for()
    assert tab.locator("fieldset.quiz").first.locator("li[data-mark=right]").count() == 1


def test_a_question_works_without_javascript(new_reader: NewReader, site: str) -> None:
    page = new_reader(base_url=site, java_script_enabled=False).new_page()
    page.goto(QUIZ_PAGE)
    box = page.locator("fieldset.quiz").first
    box.locator("label").first.click()
    assert box.locator("input").first.is_checked()
    box.locator("summary").focus()
    page.keyboard.press("Enter")
    assert box.locator(".quiz-reasons").is_visible()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_print_shows_the_answers_and_hides_the_controls(new_reader: NewReader, site: str, *, script: bool) -> None:
    page = new_reader(base_url=site, java_script_enabled=script).new_page()
    page.goto(QUIZ_PAGE)
    page.emulate_media(media="print")
    for hidden in ("header.md-header", "footer.md-footer", ".md-sidebar--secondary"):
        assert not page.locator(hidden).first.is_visible(), hidden
    reasons = page.locator("fieldset.quiz .quiz-reason p")
    assert reasons.count() > 0
    assert all(box is not None and box["height"] > 0 for box in (reason.bounding_box() for reason in reasons.all()))
    page.emulate_media(media="screen")


def test_paper_is_light_and_spells_out_links_to_other_sites_only(new_reader: NewReader, site: str) -> None:
    page = new_reader(base_url=site, color_scheme="dark").new_page()
    visit(page, QUIZ_PAGE)
    answers = page.locator("details.quiz-why[open]")
    assert page.evaluate("document.body.dataset.mdColorScheme") == "slate"
    assert answers.count() == 0
    page.emulate_media(media="print")
    until(page, "document.body.dataset.mdColorScheme === 'default'")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    spelled = page.evaluate(SPELLED)
    assert len(spelled) > 0
    assert [address for address in spelled if address.startswith(site)] == []
    assert answers.count() > 0
    page.emulate_media(media="screen")
    until(page, "document.body.dataset.mdColorScheme === 'slate'")
    assert answers.count() == 0


@pytest.mark.parametrize("page", WIDE_TABLES, ids=name)
def test_paper_cuts_no_table(new_reader: NewReader, site: str, page: str) -> None:
    # A4 less the margins of print.css.
    paper = new_reader(base_url=site, viewport={"width": 672, "height": 900}).new_page()
    visit(paper, page)
    paper.emulate_media(media="print")
    edges = paper.locator("article table").evaluate_all(
        "(all) => all.map((table) => table.getBoundingClientRect().right)"
    )
    assert edges
    assert max(edges) <= 672


def test_links_in_text_are_underlined_and_terms_look_otherwise(tab: Page) -> None:
    look = """(links) => links.map((link) => {
      const { textDecorationLine, textDecorationStyle } = getComputedStyle(link);
      return `${textDecorationLine} ${textDecorationStyle}`;
    })"""
    visit(tab, QUIZ_PAGE)
    assert set(tab.locator("article p a.term").evaluate_all(look)) == {"underline dotted"}
    visit(tab, "coming-from-the-official-tutorials/")
    links = tab.locator("article :is(th, td, p) a:not(.headerlink, .term)")
    assert set(links.evaluate_all(look)) == {"underline solid"}


def test_copy_takes_the_whole_block(new_reader: NewReader, site: str) -> None:
    page = new_reader(base_url=site, permissions=["clipboard-read", "clipboard-write"]).new_page()
    visit(page, QUIZ_PAGE)
    block = page.locator(".highlight:has(.md-code__button)").first
    block.get_by_title("Copy to clipboard").click()
    page.locator(".md-dialog", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").strip() == block.locator("code").inner_text().strip()


def test_the_theme_button_goes_round_and_is_kept(tab: Page) -> None:
    visit(tab, "")
    schemes = []
    for _ in range(3):
        tab.locator("label.md-header__button[for^=__palette]:visible").click()
        schemes.append(tab.evaluate("document.body.dataset.mdColorScheme"))
    assert schemes == ["default", "slate", "default"]
    tab.locator("label.md-header__button[for^=__palette]:visible").click()
    tab.locator("label.md-header__button[for^=__palette]:visible").click()
    tab.goto("glossary/")
    assert tab.evaluate("document.body.dataset.mdColorScheme") == "slate"


def test_a_wrong_address_says_so_and_leads_home(tab: Page, site: str) -> None:
    response = tab.request.get("no/such/page/")
    assert response.status == 404
    tab.goto("404.html")
    tab.get_by_role("link", name="home page").click()
    tab.wait_for_url(site)


def test_a_heading_that_went_to_another_page_is_followed_there(tab: Page, built_site: Path) -> None:
    pages = ((file, file.read_text("utf-8")) for file in sorted(built_site.rglob("index.html")))
    left = ((file, link) for file, text in pages for link in redirects.OLD.finditer(text))
    file, link = next((file, link) for file, link in left if link["to"])
    old = f"/{file.parent.relative_to(built_site).as_posix()}/"
    tab.goto(f"{old[1:]}#{link['anchor']}")
    tab.wait_for_url(f"**{urljoin(old, link['to'])}")
    tab.wait_for_selector(":target", state="attached")


def _answer(tab: Page, right: str) -> None:
    """Choose the right, or a wrong, option of the first question and check it."""
    box = tab.locator("fieldset.quiz").first
    box.locator(f".quiz-options > li[data-right='{right}'] input").first.check()
    box.get_by_role("button", name="Check").click()
