"""Questions in a browser: without the script, with it, by keyboard, with a storage that fails or lies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.hooks import house
from tests.hooks.house import MANY, QUIZ
from tests.site import serve
from tests.site.chromium import problems_of
from tests.site.visit import DRAWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.site.chromium import NewReader

ASSETS = Path(__file__).resolve().parents[2] / "docs" / "assets"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>T</title>'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    '<link rel="stylesheet" href="quiz.css"><script src="instant.js"></script></head>'
    '<body><main><article class="md-typeset">{}</article></main>'
    '<script src="progress.js"></script><script src="quiz.js"></script><script src="paper.js"></script></body></html>'
)
KEY = "tensorflow-at-scale:quiz"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        house.build(tmp_path_factory.mktemp("house") / "snippets", patch)
        html = house.render(QUIZ + "\n" + MANY)[0]
        other = house.render(QUIZ.replace("id: weights", "id: other"))[0]
    (folder / "index.html").write_text(PAGE.replace("{}", html), encoding="utf-8")
    (folder / "other.html").write_text(other, encoding="utf-8")
    for name in ("progress.js", "quiz.js", "paper.js", "quiz.css"):
        (folder / name).write_text((ASSETS / name).read_text("utf-8"), encoding="utf-8")
    (folder / "instant.js").write_text("window.document$ = {subscribe(f) { this.emit = f; f(); }};", encoding="utf-8")
    with serve.serving(folder) as address:
        yield address


@pytest.fixture
def page(new_reader: NewReader, site: str) -> Iterator[Page]:
    """Return the page with the questions; a script error or a breach of the policy fails the test."""
    context = new_reader()
    opened, wrong = context.new_page(), problems_of(context)
    opened.goto(site)
    ready(opened)
    yield opened
    context.close()
    assert [text for text in wrong if "favicon" not in text and "404" not in text] == []


def ready(page: Page) -> None:
    """Wait until the script is through with all questions, a few at a time, and the page has been drawn."""
    page.locator(".quiz-total").wait_for()
    page.evaluate(DRAWN)


def status(page: Page, box: str) -> str:
    return page.locator(f"#quiz-{box} .quiz-actions [role=status]").inner_text()


def choose(page: Page, box: str, *options: int, check: bool = True) -> None:
    for option in options:
        page.locator(f"#quiz-{box} .quiz-options label").nth(option).click()
    if check:
        page.locator(f"#quiz-{box} .quiz-check").click()


def stored(page: Page) -> Any:
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')"))


def test_without_javascript(new_reader: NewReader, site: str) -> None:
    page = new_reader(java_script_enabled=False).new_page()
    page.goto(site)
    box = page.locator("#quiz-weights")
    assert box.locator("button").count() == 0
    box.locator("label").nth(1).click()
    assert box.locator("input").nth(1).is_checked()
    assert not box.locator(".quiz-reason").first.is_visible()
    box.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "Right: They are equal. The gradients are summed." in " ".join(box.locator(".quiz-why").inner_text().split())


def test_wrong_then_right(page: Page) -> None:
    page.locator("#quiz-weights .quiz-check").click()
    assert status(page, "weights") == "Choose an answer first."
    choose(page, "weights", 1)
    assert status(page, "weights").startswith("Not right.")
    told = page.locator("#quiz-weights .quiz-told")
    assert told.count() == 1
    assert "Wrong." in told.inner_text()
    assert "That would be N models." in told.inner_text()
    described = page.locator("#quiz-weights input").nth(1).get_attribute("aria-describedby")
    assert page.locator(f"#{described}").count() == 1
    assert page.locator(".quiz-total").inner_text() == "This page: 0 of 2 questions right."
    choose(page, "weights", 0, check=False)
    assert told.count() == 0
    assert status(page, "weights") == ""
    choose(page, "weights")
    assert status(page, "weights").startswith("Right.")
    assert told.count() == 3
    assert page.locator(".quiz-total").inner_text() == "This page: 1 of 2 questions right."
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))


def test_several_answers(page: Page) -> None:
    choose(page, "many", 0)
    assert status(page, "many").startswith("Not complete")
    choose(page, "many", 2)
    assert status(page, "many").startswith("Not right.")
    choose(page, "many", 2, 1)
    assert status(page, "many").startswith("Right.")


def test_keyboard_alone(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert page.locator("#quiz-weights input").nth(1).is_checked()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Check"
    page.keyboard.press("Enter")
    assert status(page, "weights").startswith("Right.")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") in ("SUMMARY", "A")


def test_progress_is_restored_in_silence(page: Page) -> None:
    choose(page, "weights", 0)
    choose(page, "many", 0)
    page.reload()
    ready(page)
    assert page.locator("#quiz-weights input").nth(0).is_checked()
    assert page.locator("#quiz-weights li[data-mark=right]").count() == 1
    assert page.locator("#quiz-weights .quiz-told").inner_text() == "✓ Right."
    assert page.locator("#quiz-many .quiz-told").inner_text() == "✓ Right. Not complete: more answers are right."
    assert page.locator(".quiz-total").inner_text() == "This page: 1 of 2 questions right."
    assert [s.inner_text() for s in page.locator("[role=status]").all()] == [""] * 3
    assert set(stored(page)) == {"weights", "many"}


def test_answers_can_be_cleared(page: Page) -> None:
    page.evaluate(f"localStorage.setItem('{KEY}', JSON.stringify({{elsewhere: {{picked: ['a'], right: true}}}}))")
    choose(page, "weights", 0)
    page.locator(".quiz").nth(1).locator("input").first.check()  # picked, not checked
    page.locator(".quiz-reset").click()
    assert page.locator("input:checked").count() == 0
    assert page.locator(".quiz-told").count() == 0
    assert page.locator(".quiz-total").inner_text() == "This page: 0 of 2 questions right."
    assert page.locator(".quiz-score [role=status]").inner_text() == "Cleared."
    assert set(stored(page)) == {"elsewhere"}


@pytest.mark.parametrize(
    "denial",
    [
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('denied'); }})",
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }",
    ],
    ids=["denied", "full"],
)
def test_a_storage_that_fails(page: Page, site: str, denial: str) -> None:
    page.add_init_script(denial)
    page.goto(site)
    ready(page)
    choose(page, "weights", 0)
    assert status(page, "weights").startswith("Right.")
    assert page.locator(".quiz-total").inner_text() == "This page: 1 of 2 questions right."


@pytest.mark.parametrize(
    "text",
    [
        "not JSON",
        "[]",
        "null",
        "7",
        '{"weights": null}',
        '{"weights": {"picked": "abc"}}',
        '{"weights": {"picked": [1, null, {}]}}',
        '{"weights": {"picked": ["<img src=x onerror=hacked=1>"], "right": "<script>hacked=1</script>"}}',
        '{"__proto__": {"picked": ["x"], "right": true}}',
    ],
)
def test_stored_data_is_not_trusted(page: Page, text: str) -> None:
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])
    page.reload()
    ready(page)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("article img, article script").count() == 0
    assert page.locator("input:checked").count() == 0
    assert page.locator(".quiz-total").inner_text() == "This page: 0 of 2 questions right."
    choose(page, "weights", 0)
    assert stored(page)["weights"]["right"] is True


def test_an_option_that_changed_is_not_restored(page: Page) -> None:
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, '{"weights": {"picked": ["00000000"]}}'])
    page.reload()
    ready(page)
    assert page.locator("#quiz-weights input:checked").count() == 0
    assert page.locator(".quiz-told").count() == 0


def test_an_answer_counts_by_the_question_as_it_is_now(page: Page) -> None:
    choose(page, "weights", 1)
    page.evaluate("(key) => localStorage.setItem(key, localStorage[key].replace('false', 'true'))", KEY)
    page.reload()
    ready(page)
    assert stored(page)["weights"]["right"] is True
    assert page.locator(".quiz-total").inner_text() == "This page: 0 of 2 questions right."


def test_two_tabs(page: Page, site: str) -> None:
    second = page.context.new_page()
    second.goto(site)
    ready(second)
    choose(page, "many", 2, check=False)
    choose(second, "weights", 0)
    page.wait_for_selector("#quiz-weights li[data-mark=right]")
    assert page.locator("#quiz-weights input").nth(0).is_checked()
    assert page.locator("#quiz-many input").nth(2).is_checked(), "a choice not yet checked is kept"
    assert page.locator(".quiz-total").inner_text() == "This page: 1 of 2 questions right."
    assert status(page, "weights") == ""


def test_instant_navigation(page: Page) -> None:
    page.evaluate(
        """async () => {
          const text = await (await fetch("other.html")).text();
          const fresh = new DOMParser().parseFromString(text, "text/html").body.children;
          document.querySelector("article").replaceChildren(...fresh);
          document$.emit();
        }"""
    )
    page.locator("#quiz-other .quiz-check").wait_for()
    assert page.locator(".quiz-check").count() == 1
    choose(page, "other", 0)
    assert page.locator(".quiz-total").inner_text() == "This page: 1 of 1 questions right."
    page.evaluate("document$.emit()")
    assert page.locator(".quiz-check").count() == 1


def test_print_shows_questions_and_answers(page: Page) -> None:
    choose(page, "weights", 1)
    answers = page.locator("details.quiz-why[open]")
    assert answers.count() == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert answers.count() == 2
    page.emulate_media(media="print")
    assert page.locator(".quiz-why .quiz-reason").first.is_visible()
    assert not page.locator(".quiz-check").first.is_visible()
    assert not page.locator(".quiz-told").first.is_visible()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert answers.count() == 0


@pytest.mark.parametrize("name", ["progress.js", "quiz.js"])
def test_the_script_never_parses_markup(name: str) -> None:
    script = (ASSETS / name).read_text("utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|\.style\b", script)
