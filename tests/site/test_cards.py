"""The card of a whole program: its code comes when a reader opens it, and a link leads there where no script does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.site.pages import QUIZ_PAGE, ROOT
from tests.site.until import until
from tests.site.visit import visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.site.chromium import NewReader

PROGRAM = "strategies/mirrored.py"
CARD = "details#program-strategies-mirrored"


def test_the_code_comes_when_the_card_opens(tab: Page) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    visit(tab, QUIZ_PAGE)
    card = tab.locator(CARD)
    assert not [url for url in asked if "programs/" in url]
    card.locator("summary").click()
    card.locator("pre").wait_for()
    source = (ROOT / "snippets" / PROGRAM).read_text("utf-8")
    assert card.locator("pre code").evaluate("(code) => code.textContent") == source
    assert card.locator("pre code span").count() > 10
    assert not card.locator(".program-read").count()
    card.locator("summary").click()
    card.locator("summary").click()
    assert card.locator("pre").count() == 1


def test_its_code_can_be_copied(tab: Page) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(tab, QUIZ_PAGE)
    card = tab.locator(CARD)
    card.locator("summary").click()
    card.get_by_role("button", name="Copy").click()
    tab.locator(".md-dialog", has_text="Copied").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == (ROOT / "snippets" / PROGRAM).read_text("utf-8")


def test_a_copy_that_is_refused_is_said(tab: Page) -> None:
    tab.add_init_script(
        "navigator.clipboard.writeText = () => Promise.reject(new DOMException('x', 'NotAllowedError'))"
    )
    visit(tab, QUIZ_PAGE)
    tab.locator("main .highlight").get_by_role("button", name="Copy").first.click()
    tab.get_by_role("status").filter(has_text="Could not copy").wait_for()


def test_without_encryption_there_is_nothing_to_copy_with(tab: Page) -> None:
    tab.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })")
    visit(tab, QUIZ_PAGE)
    card = tab.locator(CARD)
    card.locator("summary").click()
    card.locator("pre").wait_for()
    assert not tab.get_by_role("button", name="Copy").count()


def test_a_part_is_copied_with_the_imports_that_it_needs(tab: Page) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(tab, "heads/binary/")
    block = tab.locator(".highlight[data-needs]").first
    block.get_by_role("button", name="Copy").click()
    tab.locator(".md-dialog", has_text="Copied").wait_for()
    code = str(block.locator("code").evaluate("(code) => code.textContent"))
    needs = str(block.get_attribute("data-needs"))
    assert "import keras\n" in needs
    assert "import keras" not in code
    assert tab.evaluate("navigator.clipboard.readText()") == f"{needs}\n\n{code}"


def test_where_the_code_does_not_come_the_link_stays(new_reader: NewReader, site: str) -> None:
    reader = new_reader(base_url=site)
    page = reader.new_page()
    visit(page, QUIZ_PAGE)
    card = page.locator(CARD)
    reader.set_offline(True)
    with page.expect_event("requestfailed"):
        card.locator("summary").click()
    assert card.get_by_role("link", name="Read mirrored.py").is_visible()
    reader.set_offline(False)
    # The page hears of the failure a little later than the test does.
    until(page, f"!document.querySelector('{CARD} .program-read').dataset.asked")
    card.locator("summary").click()
    card.locator("summary").click()
    card.locator("pre").wait_for()


def test_without_scripts_a_link_leads_to_the_program(new_reader: NewReader, site: str, built_site: Path) -> None:
    page = new_reader(base_url=site, java_script_enabled=False).new_page()
    page.goto(QUIZ_PAGE)
    page.locator(f"{CARD} summary").click()
    link = page.get_by_role("link", name="Read mirrored.py")
    assert link.is_visible()
    assert str(link.get_attribute("href")).endswith(f"programs/{PROGRAM}")
    assert (built_site / "programs" / PROGRAM).is_file()
