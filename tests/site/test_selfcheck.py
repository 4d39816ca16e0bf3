"""The self-check page in a browser: practice, exam, progress, and without JavaScript."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup

from hooks import decks, glossary
from tests import until as patient
from tests.site.pages import QUIZ_PAGE
from tests.site.visit import DRAWN, reload, visit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, Route

    from tests.site.chromium import NewReader

URL = "self-check/"
BANK = re.compile(r'guideExam\.bank\("[^"]+", (\{.*\})\);\n', re.DOTALL)
LINK = re.compile(r'\b(?:href|src|data-again)="([^"]+)"')


@pytest.fixture(scope="module")
def boxes(built_site: Path) -> dict[str, str]:
    """Return every question as the self-check page gets it."""
    found: dict[str, str] = {}
    for file in (built_site / URL).glob("*.js"):
        bank = BANK.fullmatch(file.read_text("utf-8"))
        assert bank, file
        found |= json.loads(bank[1])
    return found


@pytest.fixture(scope="module")
def questions(built_site: Path) -> list[dict[str, Any]]:
    return json.loads((built_site / "verification.json").read_text("utf-8"))["questions"]


def test_the_place_of_an_option_gives_nothing_away(questions: list[dict[str, Any]]) -> None:
    """Nearly all questions with one right option have three."""
    keys = [question["key"] for question in questions if len(question["key"]) == 3]
    places = Counter(key.index(True) for key in keys if sum(key) == 1)
    shares = {place: places[place] / places.total() for place in range(3)}
    assert places.total() > 0.9 * sum(sum(question["key"]) == 1 for question in questions)
    assert all(0.25 < share < 0.45 for share in shares.values()), f"right options stand at {shares}; move some"


def test_the_length_of_an_option_gives_nothing_away(boxes: dict[str, str]) -> None:
    """Where one option is a quarter longer than all others, it is right about as often as a guess would be."""
    right, guessed = Counter[str](), 0.0
    for name, html in boxes.items():
        options = BeautifulSoup(html, "html.parser").select(".quiz-options li")
        longest, second = sorted(options, key=lambda option: len(option.get_text()), reverse=True)[:2]
        one = sum(option["data-right"] == "1" for option in options) == 1
        if one and len(longest.get_text()) > 1.25 * len(second.get_text()):
            right[name] = int(longest["data-right"] == "1")
            guessed += 1 / len(options)
    assert len(right) > 50
    assert right.total() < 1.2 * guessed, f"shorten some of {sorted(right.elements())}"


def enter(tab: Page) -> None:
    """Open the page and wait until what its scripts make has been drawn."""
    tab.goto(URL)
    tab.locator(".check-form").wait_for()
    tab.evaluate(DRAWN)


def start(tab: Page, **form: str) -> None:
    """Fill the form in and start."""
    enter(tab)
    if "number" in form:
        tab.get_by_label("Exam").check()
    for name, value in form.items():
        tab.locator(f"select[name={name}]").select_option(value)
    tab.get_by_role("button", name="Start").click()
    tab.locator(".check-stage fieldset.quiz").first.wait_for()


def choose(tab: Page, *, right: bool) -> None:
    """Choose every right option of the question that is asked, or one wrong one."""
    wanted = tab.locator(f".check-stage .quiz-options li[data-right='{int(right)}'] input")
    for option in wanted.all()[: None if right else 1]:
        option.check()


def test_a_second_press_asks_for_nothing_more(tab: Page) -> None:
    """On a slow network the questions come late, and a reader presses again."""
    held: list[Route] = []
    tab.route(re.compile(r"/self-check/.*\.js$"), lambda route: held.append(route))  # noqa: PLW0108 - it takes no built-in
    enter(tab)
    tab.get_by_label("Exam").check()
    begin = tab.get_by_role("button", name="Start")
    begin.click()
    assert tab.locator(".check-form [role=status]").inner_text() == "Loading the questions."
    begin.click()
    tab.evaluate(DRAWN)
    asked_for = tab.evaluate("[...document.scripts].filter((one) => /\\/self-check\\/.*\\.js$/.test(one.src)).length")
    # The page has asked before the route is told of it.
    patient.until(lambda: len(held) >= asked_for, "the questions", sleep=lambda s: tab.wait_for_timeout(1000 * s))
    assert len(held) == len({route.request.url for route in held}) > 1
    for route in held:
        route.continue_()
    tab.locator(".check-stage fieldset.quiz").wait_for()
    asked = tab.locator(".check-stage fieldset").get_attribute("data-quiz")
    tab.evaluate(DRAWN)
    assert tab.locator(".check-stage fieldset").get_attribute("data-quiz") == asked
    assert tab.locator(".check-form [role=status]").text_content() == ""


def test_the_list_is_shown_where_its_script_does_not_come(new_reader: NewReader, site: str) -> None:
    """To those who ask for less motion too: nothing moves."""
    page = new_reader(base_url=site, reduced_motion="reduce").new_page()
    page.route("**/self-check*.js", lambda route: route.abort())
    page.goto(URL)
    page.locator(".self-check .check-page").first.wait_for(state="visible")


def test_it_gathers_every_question(boxes: dict[str, str], questions: list[dict[str, Any]], tab: Page) -> None:
    known = sorted(question["id"] for question in questions)
    assert sorted(boxes) == known
    tab.goto(URL)
    listed = tab.locator("[data-question]").evaluate_all("(items) => items.map((item) => item.dataset.question)")
    assert sorted(listed) == known


def test_every_term_of_the_glossary_is_a_card(built_site: Path) -> None:
    soup = BeautifulSoup((built_site / URL / "index.html").read_text("utf-8"), "html.parser")
    listed = [summary.get_text() for summary in soup.select(".flashcards summary")]
    assert listed == [term.name for term in glossary.terms()]
    table = next((built_site / "decks").glob("*.csv")).read_text("utf-8")
    cards = [row["id"] for row in csv.DictReader(io.StringIO(table, newline="")) if row["section"] == decks.GLOSSARY]
    assert cards == [f"term-{term.id}" for term in glossary.terms()]


def test_every_link_of_a_question_leads_somewhere(boxes: dict[str, str], built_site: Path) -> None:
    ids: dict[str, set[str]] = {}
    dead = []
    listing = (built_site / URL / "index.html").read_text("utf-8")
    for url in {url for html in [*boxes.values(), listing] for url in LINK.findall(html)}:
        target = urlsplit(urljoin(f"http://site/{URL}", url))
        if target.netloc != "site":
            continue
        file = built_site / target.path.lstrip("/")
        file = file / "index.html" if file.is_dir() else file
        name = file.as_posix()
        if file.is_file() and name not in ids:
            ids[name] = (
                set(re.findall(r'\sid="?([^"\s>]+)', file.read_text("utf-8"))) if file.suffix == ".html" else set()
            )
        if not file.is_file() or (target.fragment and target.fragment not in ids[name]):
            dead.append(url)
    assert dead == []


def test_practice_says_why_and_counts_on_the_page_of_the_question(tab: Page) -> None:
    start(tab, which="all")
    assert tab.locator(".check-place").inner_text().startswith("Question 1 of ")
    choose(tab, right=False)
    tab.get_by_role("button", name="Check").click()
    assert tab.locator(".check-stage .quiz-told .quiz-reason").count() == 1
    choose(tab, right=True)
    tab.get_by_role("button", name="Check").click()
    assert tab.locator(".check-total").inner_text().startswith("1 of ")
    name = tab.locator(".check-stage fieldset").get_attribute("data-quiz")
    tab.get_by_role("button", name="Next").click()
    tab.get_by_text("Question 2 of").wait_for()
    tab.get_by_role("button", name="Previous").click()
    tab.get_by_text("Question 1 of").wait_for()
    assert tab.locator(".check-stage li[data-mark=right]").count() >= 1
    tab.get_by_role("button", name="Stop").click()
    item = tab.locator(f"[data-question={name}]")
    assert "✓ right" in (item.text_content() or "")
    tab.goto(urljoin(tab.url, item.locator("a").get_attribute("href") or ""))
    tab.locator(f"fieldset[data-quiz={name}] li[data-mark=right]").first.wait_for()


def test_practice_asks_what_is_not_yet_right(tab: Page) -> None:
    start(tab, which="all")
    total = int(tab.locator(".check-place").inner_text().split("·")[0].split()[-1])
    choose(tab, right=True)
    tab.get_by_role("button", name="Check").click()
    tab.get_by_role("button", name="Next").click()
    tab.get_by_text("Question 2 of").wait_for()
    choose(tab, right=False)
    tab.get_by_role("button", name="Check").click()
    tab.get_by_role("button", name="Stop").click()
    start(tab, which="wrong")
    assert tab.locator(".check-place").inner_text().startswith("Question 1 of 1 ")
    tab.get_by_role("button", name="Done").click()
    start(tab, which="open")
    assert tab.locator(".check-place").inner_text().startswith(f"Question 1 of {total - 1} ")


def test_an_exam_has_one_pass_and_a_score(tab: Page, questions: list[dict[str, Any]]) -> None:
    start(tab, number="10")
    for at in range(1, 11):
        tab.get_by_text(f"Question {at} of 10").wait_for()
        assert tab.locator(".check-stage").get_by_role("button").all_inner_texts() == [
            "Next" if at < 10 else "Finish",
            "Stop without a score",
        ]
        assert tab.locator(".check-stage .quiz-why").count() == 0
        if at <= 9:
            choose(tab, right=at <= 7)
        tab.locator(".check-stage").get_by_role("button").first.click()
    assert "Nothing is chosen" in tab.locator(".check-stage [role=status]").inner_text()
    tab.get_by_role("button", name="Finish").click()
    title = tab.locator(".check-stage h2")
    title.wait_for()
    assert title.inner_text() == "7 of 10 right"
    assert title.evaluate("(title) => title === document.activeElement")
    rows = [row.locator("td").all_inner_texts() for row in tab.locator(".check-stage tbody tr").all()]
    assert sum(int(row[0]) for row in rows) == 7
    assert sum(int(row[1]) for row in rows) == 10
    assert tab.locator(".check-stage tbody th[scope=row]").count() == len(rows)
    assert tab.locator(".check-stage thead th[scope=col]").all_inner_texts() == ["Section", "Right", "Asked"]
    plain = (
        "(cell) => ['color', 'fontWeight', 'borderTop', 'backgroundColor'].map((name) => getComputedStyle(cell)[name])"
    )
    looks = [tab.locator(f".check-stage tbody {cell}").first.evaluate(plain) for cell in ("th", "td")]
    assert looks[0] == looks[1]
    again = tab.locator(".check-again li").all_inner_texts()
    counts = [int(found[1]) if (found := re.search(r"\((\d+) questions\)$", text)) else 1 for text in again]
    assert sum(counts) == 3
    assert tab.locator(".check-stage details.quiz-why[open]").count() == 3
    assert tab.locator(".check-stage fieldset.quiz").count() == 10
    assert (
        tab.locator(".check-total").inner_text() == f"7 of {len(questions)} questions right, 2 answered but not right."
    )
    reload(tab)
    assert tab.locator(".check-stage h2").inner_text() == "7 of 10 right"
    tab.get_by_role("button", name="Close").click()
    tab.get_by_role("button", name="Start").wait_for()


def test_an_exam_keeps_to_its_sections(tab: Page) -> None:
    enter(tab)
    for box in tab.locator("input[name=section]").all()[1:]:
        box.uncheck()
    tab.get_by_label("Exam").check()
    tab.get_by_role("button", name="Start").click()
    for _ in range(10):
        tab.locator(".check-stage fieldset").wait_for()
        choose(tab, right=True)
        tab.locator(".check-stage").get_by_role("button").first.click()
    tab.locator(".check-stage h2").wait_for()
    rows = tab.locator(".check-stage tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [["Parallelism", "10", "10"]]
    assert tab.get_by_text("Nothing: every answer was right.").is_visible()


def test_what_has_the_focus_lies_below_the_header(tab: Page) -> None:
    enter(tab)
    start = tab.get_by_role("button", name="Start")
    start.focus()
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    start.press("Enter")
    tab.get_by_text("Question 1 of").wait_for()
    top = "(element) => element.getBoundingClientRect().top"
    header = tab.locator(".md-header").bounding_box()
    assert header is not None
    assert tab.locator(".check-place").evaluate(top) >= header["height"]


def test_without_a_section_nothing_starts(tab: Page) -> None:
    enter(tab)
    for box in tab.locator("input[name=section]").all():
        box.uncheck()
    tab.get_by_role("button", name="Start").click()
    assert tab.locator(".check-form [role=status]").inner_text() == "Choose at least one section."
    assert not tab.locator(".check-stage").is_visible()


def test_answers_can_be_cleared_and_brought_back(tab: Page) -> None:
    visit(tab, QUIZ_PAGE)
    tab.locator("fieldset.quiz li[data-right='1'] input").first.check()
    tab.get_by_role("button", name="Check").first.click()
    enter(tab)
    assert tab.locator(".check-total").inner_text().startswith("1 of ")
    tab.get_by_role("button", name="Clear all my answers").click()
    assert tab.locator(".check-total").inner_text().startswith("0 of ")
    tab.get_by_role("button", name="Clear all my answers").click()
    tab.get_by_role("button", name="Undo").click()
    assert tab.locator(".check-total").inner_text().startswith("1 of ")


def test_what_clears_answers_keeps_the_focus(tab: Page) -> None:
    focused = "document.activeElement.textContent"
    enter(tab)
    said = tab.locator(".check-form [role=status]")
    tab.get_by_role("button", name="Clear all my answers").focus()
    tab.keyboard.press("Enter")
    assert said.inner_text() == "Cleared."
    assert said.get_by_role("button").count() == 0, "what is told is read aloud, a button has its own name"
    tab.keyboard.press("Tab")
    assert tab.evaluate(focused) == "Undo"
    tab.keyboard.press("Enter")
    assert said.inner_text() == "Your answers are back."
    assert tab.evaluate(focused) == "Clear all my answers"
    assert tab.get_by_role("button", name="Undo").count() == 0
    tab.keyboard.press("Enter")
    tab.get_by_label("Exam").check()
    assert (said.inner_text(), tab.get_by_role("button", name="Undo").count()) == ("", 0)


def test_by_keyboard_alone(tab: Page) -> None:
    enter(tab)
    tab.locator("input[name=mode]").first.focus()
    tab.keyboard.press("ArrowDown")
    assert tab.locator("select[name=number]").is_visible()
    tab.get_by_role("button", name="Start").focus()
    tab.keyboard.press("Enter")
    tab.get_by_text("Question 1 of 10").wait_for()
    assert tab.evaluate("document.activeElement.matches('fieldset.quiz')")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    assert tab.locator(".check-stage input:checked").count() == 1
    tab.get_by_role("button", name="Next").focus()
    tab.keyboard.press("Enter")
    tab.get_by_text("Question 2 of 10").wait_for()
    assert tab.evaluate("document.activeElement.matches('fieldset.quiz')")


@pytest.mark.parametrize(
    "text",
    [
        "not JSON",
        "[]",
        '{"mode":"exam","ids":["<img src=x>"],"at":0}',
        '{"mode":"x","ids":["mirrored-compiled-outside-decay"]}',
    ],
)
def test_what_is_stored_is_not_trusted(tab: Page, text: str) -> None:
    tab.goto(URL)
    tab.evaluate("(text) => sessionStorage.setItem('tensorflow-at-scale:self-check', text)", text)
    reload(tab)  # to ask a question, the script would have fetched it
    assert tab.get_by_role("button", name="Start").is_visible()
    assert not tab.locator(".check-stage").is_visible()
    assert tab.locator(".check-stage img").count() == 0


def test_questions_that_cannot_be_loaded_say_so(new_reader: NewReader, site: str) -> None:
    page = new_reader(base_url=site).new_page()
    enter(page)
    page.route(re.compile(r"/self-check/[^/]+\.js$"), lambda route: route.abort())
    page.get_by_role("button", name="Start").click()
    page.get_by_text("The questions could not be loaded.").wait_for()
    page.unroute_all()
    page.get_by_role("button", name="Start").click()
    page.locator(".check-stage fieldset.quiz").wait_for()


def test_without_javascript_it_lists_the_questions(new_reader: NewReader, site: str, boxes: dict[str, str]) -> None:
    page = new_reader(base_url=site, java_script_enabled=False).new_page()
    page.goto(URL)
    assert page.locator("noscript p").is_visible()
    assert page.locator(".self-check [data-question] a").count() == len(boxes)
    page.locator(".check-page summary").first.click()
    page.locator(".check-page a").first.click()
    assert "#quiz-" in page.url
    page.goto(URL)
    card = page.locator(".flashcards details").first
    card.locator("summary").click()
    assert card.locator("p").is_visible()
