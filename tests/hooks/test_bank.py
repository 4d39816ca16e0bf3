"""Questions gathered from pages: where they stand, what explains them, and links that hold elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hooks import bank
from hooks.errors import GuideError
from tests.hooks import house
from tests.hooks.house import MANY, PATH, QUIZ

if TYPE_CHECKING:
    from pathlib import Path

TAUGHT = f"""\
<h2 id="before">Before<a class="headerlink" href="#before" title="x">&para;</a></h2>
<h2 id="mirrored">What <code>scope</code> does<a class="headerlink" href="#mirrored" title="x">&para;</a></h2>
<p title="from {PATH}, CPU">4</p>
<h2 id="questions">Questions</h2>
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bank.PageHtml:
    house.build(tmp_path / "snippets", monkeypatch)
    html, used = house.render(QUIZ + "\n" + MANY)
    return bank.PageHtml("strategies/page/", "A page", "Strategies", TAUGHT + html, used.questions)


def test_every_question_is_found_with_its_html(page: bank.PageHtml) -> None:
    found = bank.gather([bank.PageHtml("", "Home", "Home", "<h1>Home</h1>", []), page])
    assert [one.question.id for one in found] == ["weights", "many"]
    assert [one.url for one in found] == ["strategies/page/#quiz-weights", "strategies/page/#quiz-many"]
    assert all(one.html.startswith("<fieldset") and one.html.endswith("</fieldset>") for one in found)
    assert "Which are true?" in found[1].html
    assert "Which are true?" not in found[0].html


def test_html_in_a_reason_does_not_cut_a_question(page: bank.PageHtml) -> None:
    raw = "<fieldset><p>x</p></fieldset>"
    whole = bank.gather([replace(page, html=page.html.replace("The gradients", f"{raw} The gradients"))])[0]
    assert whole.html.replace(f"{raw} ", "") == bank.gather([page])[0].html


@pytest.mark.parametrize("raw", ["<fieldset>", "</fieldset>", MANY])
def test_a_question_that_cannot_be_cut_out_is_named(page: bank.PageHtml, raw: str) -> None:
    more = house.render(MANY)[0] if raw is MANY else raw
    kept = replace(page, html=page.html.replace(house.render(MANY)[0], "") if raw is MANY else page.html)
    broken = replace(kept, html=kept.html.replace("The gradients", f"{more} The gradients"))
    with pytest.raises(GuideError, match=rf":\d+: question `{'many' if raw is MANY else 'weights'}` stands in another"):
        bank.gather([broken])


def test_it_is_explained_where_its_program_is_first_used(page: bank.PageHtml) -> None:
    one = bank.gather([page])[0]
    assert (one.again, one.heading) == ("strategies/page/#mirrored", "A page: What scope does")


def explained(page: bank.PageHtml, taught: str, *others: bank.PageHtml, **changes: Any) -> tuple[str, str]:
    """Return what explains the first question of a page that teaches something else."""
    questions = [replace(page.questions[0], **changes), *page.questions[1:]]
    changed = replace(page, html=page.html.replace(TAUGHT, taught), questions=questions)
    one = bank.gather([*others, changed])[0]
    return one.again, one.heading


def test_a_cited_source_explains_it_or_else_what_proves_a_wrong_option(page: bank.PageHtml) -> None:
    proof = ["claim: elsewhere/b.py:a", f"claim: {PATH}:a", "source: https://example.org/?a&b"]
    cited = '<h2 id="cited">Cited</h2><a href="https://example.org/?a&amp;b">x</a>'
    key = [False, False, True]
    assert explained(page, TAUGHT + cited, proof=proof, key=key) == ("strategies/page/#cited", "A page: Cited")
    assert explained(page, TAUGHT, proof=proof, key=key) == ("strategies/page/#mirrored", "A page: What scope does")


def test_a_card_on_another_page_explains_what_its_own_page_does_not_show(page: bank.PageHtml) -> None:
    card = '<details class="guide-card" id="program-strategies-mirrored"><summary>x</summary></details>'
    other = bank.PageHtml("strategies/other/", "The other", "Strategies", card, [])
    assert explained(page, "<p>x</p>", other) == ("strategies/other/#program-strategies-mirrored", "The other")
    assert explained(page, f"<p>{PATH}</p>", other) == ("strategies/page/", "A page")


def test_without_a_section_or_a_card_the_whole_page_explains_it(page: bank.PageHtml) -> None:
    assert explained(page, TAUGHT.replace(PATH, "elsewhere.py")) == ("strategies/page/", "A page")


@pytest.mark.parametrize(
    ("link", "moved"),
    [
        ("#here", "../strategies/page/#here"),
        ("../other/#there", "../strategies/other/#there"),
        ("../other/?q=a#there", "../strategies/other/?q=a#there"),
        ("../../glossary/", "../glossary/"),
        ("../../programs/a.py", "../programs/a.py"),
        ("https://example.org/a?b=1&amp;c#d", "https://example.org/a?b=1&amp;c#d"),
    ],
)
def test_links_hold_on_another_page(link: str, moved: str) -> None:
    html = bank.rebase(f'<a href="{link}">x</a>', "strategies/page/", onto="self-check/")
    assert html == f'<a href="{moved}">x</a>'


def test_links_become_absolute() -> None:
    html = bank.rebase('<img src="../a.svg"><a href="#b">x</a>', "strategies/page/", site="https://example.org/guide/")
    assert html == (
        '<img src="https://example.org/guide/strategies/a.svg">'
        '<a href="https://example.org/guide/strategies/page/#b">x</a>'
    )


def test_a_question_makes_sense_without_its_page(request: pytest.FixtureRequest) -> None:
    """Exam, practice and cards ask it alone, so its first line points at nothing that stands around it."""
    points = re.compile(r"\b(?:above|below)[.,:?]|\bin the run\b|\bthe run shows?\b|\bthis page\b", re.IGNORECASE)
    pages = (request.config.rootpath / "docs").rglob("*.md")
    asked = [line for page in pages for line in page.read_text("utf8").splitlines() if line.startswith("/// quiz |")]
    assert asked
    assert [line for line in asked if points.search(line)] == []
