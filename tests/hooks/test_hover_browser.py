"""Definitions in a browser: on hover, on focus, on the first tap; Escape and leaving hide them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site import serve
from tests.site.chromium import problems_of
from tests.site.visit import DRAWN
from tests.until import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.site.chromium import NewReader

ASSETS = Path(__file__).resolve().parents[2] / "docs" / "assets"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"
LINK = '<a class="term" href="other.html" aria-describedby="term-{0}">{0}</a>'
PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>T</title>'
    '<meta name="viewport" content="width=device-width">'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    '<link rel="stylesheet" href="site.css"><link rel="stylesheet" href="terms.css"></head>'
    f'<body><article class="md-typeset"><p id="p">A {LINK.format("replica")} and, at the end of a long line of words '
    f"that goes on and on until it meets the edge of the window, a {LINK.format('worker')}.</p>"
    '<div class="term-notes" hidden><div id="term-replica">One <code>copy</code>.</div>'
    '<div id="term-worker">A process, with a definition that is longer than a narrow window is wide.</div></div>'
    '</article><script src="terms.js"></script></body></html>'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "other.html").write_text("<!doctype html><title>Other</title>", encoding="utf-8")
    for name in ("terms.js", "terms.css", "site.css"):
        (folder / name).write_text((ASSETS / name).read_text("utf-8"), encoding="utf-8")
    with serve.serving(folder) as address:
        yield address


@pytest.fixture(params=[False, True], ids=["mouse", "touch"])
def page(request: pytest.FixtureRequest, new_reader: NewReader, site: str) -> Iterator[Page]:
    context = new_reader(viewport={"width": 390, "height": 700}, has_touch=request.param)
    opened, wrong = context.new_page(), problems_of(context)
    opened.goto(site)
    opened.evaluate(DRAWN)
    yield opened
    context.close()
    assert [text for text in wrong if "favicon" not in text and "404" not in text] == []


mouse = pytest.mark.parametrize("page", [False], indirect=True, ids=["mouse"])
touch = pytest.mark.parametrize("page", [True], indirect=True, ids=["touch"])


@mouse
def test_hover_shows_and_leaving_hides(page: Page) -> None:
    note = page.locator(".term-note")
    page.get_by_role("link", name="replica").hover()
    note.wait_for()
    assert note.inner_text() == "One copy."
    note.hover()
    page.wait_for_timeout(400)
    assert note.is_visible(), "a reader can move onto the definition"
    page.mouse.move(5, 600)
    note.wait_for(state="hidden")


@mouse
def test_focus_shows_and_escape_hides(page: Page) -> None:
    page.keyboard.press("Tab")
    note = page.locator(".term-note")
    assert note.inner_text() == "One copy."
    page.keyboard.press("Escape")
    assert not note.is_visible()
    page.keyboard.press("Tab")
    assert "A process" in note.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/other.html")


@mouse
def test_a_click_follows_the_link(page: Page) -> None:
    page.get_by_role("link", name="worker").click()
    page.wait_for_url("**/other.html")


@touch
def test_the_first_tap_shows_and_the_second_follows(page: Page) -> None:
    note, link = page.locator(".term-note"), page.get_by_role("link", name="replica")
    link.tap()
    assert note.is_visible()
    assert "Tap the word again" in note.inner_text()
    page.touchscreen.tap(5, 600)
    assert not note.is_visible()
    page.get_by_role("link", name="worker").tap()
    assert "A process" in note.inner_text()
    link.tap()
    assert note.inner_text().startswith("One copy.")
    assert not page.url.endswith("other.html")
    link.tap()
    page.wait_for_url("**/other.html")


def test_the_definition_stays_in_the_window(page: Page) -> None:
    link = page.get_by_role("link", name="worker")
    link.focus()
    link.press("Shift")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    page.locator(".term-note").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    inside = "(box => box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight)"
    assert page.evaluate(f"{inside}(document.querySelector('.term-note').getBoundingClientRect())")


def test_screen_readers_get_the_definition_as_description(page: Page) -> None:
    from playwright.sync_api import expect

    expect(page.get_by_role("link", name="replica")).to_have_accessible_description(
        "One copy.", timeout=1000 * PATIENCE
    )


def test_the_script_never_parses_markup() -> None:
    script = (ASSETS / "terms.js").read_text("utf-8")
    assert not any(
        word in script for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
    )
