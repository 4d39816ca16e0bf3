"""The Anki package and the CSV: what lies in them, and that a later import replaces and never doubles."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from hooks import bank, decks
from hooks.flashcards import Word
from tests.hooks import house
from tests.hooks.house import MANY, QUIZ

if TYPE_CHECKING:
    from pathlib import Path

NAME = "A Guide"
SITE = "https://example.org/guide/"
WORD = Word("device", "Logical device", '<p>A processor. <a href="#host">Host</a></p>', "glossary/")
WHEN = 1_700_000_000
# What the first release gave them.
GUIDS = {"weights": "E@xn!wP#c>", "many": "O=Q#8;Lf25", "term-device": "P*u/oY^Vym"}
DECKS = ["1433569373", "1744539598"]


def made(*texts: str) -> list[decks.Card]:
    pages = []
    for text in texts:
        html, used = house.render(text)
        pages.append(bank.PageHtml("strategies/page/", "Page", "Strategies", html, used.questions))
    return decks.cards(bank.gather(pages), [WORD], SITE)


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[decks.Card]:
    house.build(tmp_path / "snippets", monkeypatch)
    return made(QUIZ, MANY)


def opened(package: bytes, folder: Path) -> dict[str, Any]:
    """Return what Anki reads from a package."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        assert archive.namelist() == ["collection.anki2", "media"]
        assert json.loads(archive.read("media")) == {}
        (folder / "collection").write_bytes(archive.read("collection.anki2"))
    with sqlite3.connect(folder / "collection") as database:
        models, named = database.execute("select models, decks from col").fetchone()
        notes = database.execute("select id, guid, mid, mod, flds from notes").fetchall()
        cards = database.execute("select id, nid, did from cards").fetchall()
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    database.close()
    held = {note[4].split("\x1f")[3]: note for note in notes}
    assert len(held) == len(notes)
    return {"models": json.loads(models), "decks": json.loads(named), "notes": held, "cards": cards}


def test_a_package_holds_a_note_for_each_card(found: list[decks.Card], tmp_path: Path) -> None:
    held = opened(decks.package(found, name=NAME, when=WHEN), tmp_path)
    assert sorted(held["notes"]) == ["many", "term-device", "weights"]
    assert {note[2] for note in held["notes"].values()} == {decks.MODEL_ID}
    assert [field["name"] for field in held["models"][str(decks.MODEL_ID)]["flds"]] == list(decks.FIELDS)
    names = {int(number): deck["name"] for number, deck in held["decks"].items()}
    places = {note: names[deck] for _, note, deck in held["cards"]}
    assert {ident: places[note[0]] for ident, note in held["notes"].items()} == {
        "weights": "A Guide::Strategies",
        "many": "A Guide::Strategies",
        "term-device": "A Guide::Glossary",
    }


def test_ids_are_what_they_were(found: list[decks.Card], tmp_path: Path) -> None:
    """Readers' history hangs on these numbers: a change makes every card new to them."""
    held = opened(decks.package(found, name=NAME, when=WHEN), tmp_path)
    assert decks.MODEL_ID == 1763705101
    assert decks.FIELDS == ("Front", "Back", "Link", "Id")
    assert {ident: note[1] for ident, note in held["notes"].items()} == GUIDS
    assert sorted(deck for deck in held["decks"] if deck != "1") == DECKS


def test_a_later_import_replaces_and_never_doubles(found: list[decks.Card], tmp_path: Path) -> None:
    """Anki finds a note by its guid and takes the newer text."""
    before = opened(decks.package(found, name=NAME, when=WHEN), tmp_path)
    changed = made(MANY.replace("id: many", "id: new"), QUIZ.replace("They are equal", "They agree"), MANY)
    after = opened(decks.package(changed, name=NAME, when=WHEN + 60), tmp_path)
    assert set(after["notes"]) == {*before["notes"], "new"}
    for ident, (note, guid, model, when, text) in before["notes"].items():
        assert after["notes"][ident][:3] == (note, guid, model)
        assert after["notes"][ident][3] > when
        assert (after["notes"][ident][4] != text) is (ident == "weights")
    assert len({note[1] for note in after["notes"].values()}) == 4
    assert {card[:2] for card in before["cards"]} < {card[:2] for card in after["cards"]}
    assert set(before["decks"]) == set(after["decks"])


def test_the_same_sources_give_the_same_bytes(found: list[decks.Card]) -> None:
    assert decks.files(found, name=NAME, when=WHEN) == decks.files(found, name=NAME, when=WHEN)
    assert list(decks.files(found, name=NAME, when=WHEN)) == ["decks/a-guide.apkg", "decks/a-guide.csv"]


def test_the_front_does_not_give_the_answer_away(found: list[decks.Card]) -> None:
    front, back = found[0].front, found[0].back
    assert "What is true of the <em>weights</em>?" in front
    assert front.count("<li>") == 3
    assert not any(word in front for word in ("✓", "✗", "Right", "Wrong", "summed"))
    assert back.count("✓") == 1
    assert back.count("✗") == 2
    assert "The gradients are summed." in back
    assert "Computed:" not in back


def test_the_front_has_the_stem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    (card, *_) = made(QUIZ.replace("- [x]", house.STEM))
    assert '<ol class="steps">\n<li>First.</li>' in card.front
    lines = ["1. First.", "2. Then on two devices:", "if x:", "    y = 1", "A. They are equal."]
    assert decks.text(card.front).splitlines()[1:6] == lines


def test_links_are_absolute(found: list[decks.Card]) -> None:
    assert found[0].link == f"{SITE}strategies/page/#quiz-weights"
    assert found[2].link == f"{SITE}glossary/#device"
    assert f'href="{SITE}glossary/#host"' in found[2].back


def test_the_table_is_plain_text(found: list[decks.Card]) -> None:
    rows = list(csv.DictReader(io.StringIO(decks.table(found))))
    assert [row["id"] for row in rows] == ["weights", "many", "term-device"]
    assert rows[0]["front"].splitlines() == [
        "What is true of the weights? Choose one.",
        "A. They are equal.",
        "B. They differ.",
        "C. Nobody knows.",
    ]
    assert rows[0]["back"].splitlines()[:2] == ["A. ✓ Right: They are equal.", "The gradients are summed."]
    assert "<" not in rows[0]["back"]
    assert rows[2]["section"] == "Glossary"


def test_the_table_keeps_the_lines_of_code() -> None:
    pre = "<pre><span></span><code>if x:\n\n    <b>y</b>  = 1\n</code></pre>"
    html = f"<p>What\n  is  <em>y</em>?</p>\n<div>{pre}</div>\n<ol>\n<li>One.</li>\n</ol>"
    assert decks.text(html) == "What is y?\nif x:\n\n    y  = 1\nA. One."
