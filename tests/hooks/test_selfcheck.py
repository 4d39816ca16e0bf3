"""The self-check page: a list of links without JavaScript, and the questions beside it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from hooks import bank, selfcheck
from tests.hooks import house
from tests.hooks.house import MANY, QUIZ

if TYPE_CHECKING:
    from pathlib import Path

URL = "self-check/"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bank.Asked]:
    house.build(tmp_path / "snippets", monkeypatch)
    pages = []
    for url, title, section, text in (
        ("strategies/one/", "One <1>", "Strategies", QUIZ),
        ("heads/two/", "Two", "Model heads", MANY),
        ("strategies/three/", "Three", "Strategies", QUIZ.replace("id: weights", "id: third")),
    ):
        html, used = house.render(text)
        pages.append(bank.PageHtml(url, title, section, html, used.questions))
    return bank.gather(pages)


def test_the_list_has_every_question_by_section_and_page(asked: list[bank.Asked]) -> None:
    page = BeautifulSoup(selfcheck.fill(f"<p>{selfcheck.MARK}</p>", asked, URL), "html.parser")
    assert [heading.text for heading in page.select("h2")] == ["Strategies", "Model heads"]
    assert [s.get_text(" ", strip=True) for s in page.select("summary")] == [
        "One <1> 1 question",
        "Three 1 question",
        "Two 1 question",
    ]
    links = {str(item["data-question"]): item.a["href"] for item in page.select("li") if item.a}
    assert links == {
        "weights": "../strategies/one/#quiz-weights",
        "third": "../strategies/three/#quiz-third",
        "many": "../heads/two/#quiz-many",
    }
    first = page.select("li a")[0]
    assert first.text == "What is true of the weights?"
    assert page.select_one(".self-check[data-search-exclude]")


def test_a_page_without_the_mark_is_left_alone(asked: list[bank.Asked]) -> None:
    assert selfcheck.fill("<p>text</p>", asked, URL) == "<p>text</p>"


def test_each_section_has_a_script_that_hands_over_its_questions(asked: list[bank.Asked]) -> None:
    files = selfcheck.files(asked, URL)
    assert [re.sub(r"\.[0-9a-f]{8}\.js$", "", path) for path in files] == [
        "self-check/strategies",
        "self-check/model-heads",
    ]
    banks = [re.fullmatch(r"guideExam\.bank\((.+?), (\{.+\})\);\n", text, re.DOTALL) for text in files.values()]
    held = {json.loads(found[1]): json.loads(found[2]) for found in banks if found}
    assert {name: list(boxes) for name, boxes in held.items()} == {
        "strategies": ["weights", "third"],
        "model-heads": ["many"],
    }
    assert held["strategies"]["weights"].startswith("<fieldset")
    assert all("<" not in text for text in files.values())
    page = BeautifulSoup(selfcheck.listing(asked, URL), "html.parser")
    assert [f"{URL}{section['data-bank']}" for section in page.select("section")] == list(files)


def test_a_script_is_named_by_its_content(asked: list[bank.Asked]) -> None:
    assert selfcheck.files(asked, URL) == selfcheck.files(asked, URL)
    fewer = selfcheck.files(asked[:2], URL)
    assert set(fewer) != set(selfcheck.files(asked, URL))
    assert len(set(fewer) & set(selfcheck.files(asked, URL))) == 1
