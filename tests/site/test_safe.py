"""Nothing that a reader types, follows or has stored is read as HTML: it does nothing, and the page goes on working."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.site.pages import PAGES, QUIZ_PAGE, name
from tests.site.until import until
from tests.site.visit import visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = '"\'><img src=x onerror="hacked=1"><script>hacked=1</script>'
# Puts the text in the place of every text that is stored, whatever it is stored under; numbers and keys stay.
SPOIL = """
(hostile) => {
  const spoilt = (value) => typeof value === "string" ? hostile
    : Array.isArray(value) ? [...value.map(spoilt), hostile]
    : value && typeof value === "object"
      ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, spoilt(part)])) : value;
  let count = 0;
  for (const storage of [localStorage, sessionStorage]) {
    for (const key of Object.keys(storage)) {
      let read = storage[key];
      try { read = JSON.parse(read); } catch { /* a text as it is */ }
      storage[key] = JSON.stringify(spoilt(read));
      count += 1;
    }
  }
  return count;
}
"""
HARM = "() => [typeof window.hacked, document.querySelectorAll('img[src=x], [onerror]').length]"
UNHARMED = ["undefined", 0]


@pytest.mark.parametrize("page", [page for page in ("", QUIZ_PAGE, "self-check/") if page in PAGES], ids=name)
def test_what_is_stored_is_not_trusted(tab: Page, page: str) -> None:
    visit(tab, QUIZ_PAGE)
    _answer(tab)
    tab.locator("label.md-header__button[for^=__palette]:visible").click()
    assert tab.evaluate(SPOIL, HOSTILE) >= 2
    visit(tab, page)
    assert tab.evaluate(HARM) == UNHARMED
    visit(tab, QUIZ_PAGE)
    _answer(tab)
    assert tab.locator("li[data-mark]").count() >= 1
    assert tab.evaluate(HARM) == UNHARMED


def test_what_is_typed_into_search_is_text(tab: Page) -> None:
    visit(tab, "")
    tab.keyboard.press("/")
    tab.keyboard.insert_text(f"mirrored {HOSTILE}")
    until(tab, r"/\d|no match/i.test(document.querySelector('.md-search-result__meta').textContent)")
    assert tab.evaluate(HARM) == UNHARMED


@pytest.mark.parametrize("part", [f"?q={quote(HOSTILE)}", f"?h={quote(HOSTILE)}", f"#{quote(HOSTILE)}"], ids="qh#")
def test_what_an_address_says_is_text(tab: Page, part: str) -> None:
    visit(tab, QUIZ_PAGE + part)
    assert tab.evaluate(HARM) == UNHARMED


def _answer(tab: Page) -> None:
    box = tab.locator("fieldset.quiz").first
    box.locator("input").first.check()
    box.get_by_role("button", name="Check").click()
