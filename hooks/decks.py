"""The questions and the glossary as cards to take away: an Anki package and a table in CSV.

Ids are made from the ids of questions and words, which never change, so that an import over an older package replaces
texts and leaves a reader's history alone. The same sources give the same bytes.
Source: https://github.com/kerrickstaley/genanki
"""

from __future__ import annotations

import csv
import io
import sqlite3
from base64 import b64decode, b64encode
from functools import partial
from hashlib import sha256
from itertools import count, groupby
from typing import TYPE_CHECKING, NamedTuple

import genanki  # type: ignore[import-untyped]

from hooks import bank, tree
from hooks.archive import zipped
from hooks.cache import remember
from hooks.selfcheck import slug
from hooks.used import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hooks.bank import Asked
    from hooks.flashcards import Word
    from hooks.tree import Element

FOLDER = "decks"
FIELDS = ("Front", "Back", "Link", "Id")
# Chosen once. Anki knows the note type by it: another number would make a second type beside the first.
MODEL_ID = 1_763_705_101
# What ids are made with: it stays when the site is renamed.
SPACE = "tensorflow-at-scale"
GLOSSARY = "Glossary"
CSS = """\
.card { font: 18px/1.5 system-ui, sans-serif; max-width: 40em; margin: 0 auto; padding: 1em; }
ol { list-style: upper-alpha; } ol.steps { list-style: decimal; } li { margin: 0.3em 0; }
code { font: 0.9em/1.4 ui-monospace, monospace; }
.why { margin: 0.2em 0 0.8em; opacity: 0.85; } .link { font-size: 0.8em; }
"""
# The class of a numbered list before the options.
STEPS = "steps"
PARAGRAPHS = ("p", "li", "div", "tr")
# A character that no page holds stands before each line of code.
CODE = "\ue000"
BACK = '{{FrontSide}}<hr id="answer">{{Back}}<p class="link"><a href="{{Link}}">On its page</a></p>'


class Card(NamedTuple):
    """One card: its id, the part of the site it belongs to, both sides as HTML, and where it stands on the site."""

    id: str
    deck: str
    front: str
    back: str
    link: str


def cards(asked: Iterable[Asked], words: Iterable[Word], site: str) -> list[Card]:
    """Return a card for each question and each word.

    Args:
        asked: the questions.
        words: the words of the glossary.
        site: the site's address; links become absolute.
    """
    found = []
    for _, group in groupby(asked, key=lambda one: one.page.url):
        page = list(group)
        inputs = [site, *(part for one in page for part in (one.url, one.page.section, one.html))]
        made = remember("decks", inputs, partial(_questions, page, site))
        found += [Card(*card) for card in made]
    for word in words:
        meaning = bank.rebase(word.meaning, word.url, site=site)
        front = f"<p>What is meant by <b>{word.name}</b>?</p>"
        found.append(Card(f"term-{word.id}", GLOSSARY, front, meaning, f"{site}{word.url}#{word.id}"))
    return found


def _questions(page: list[Asked], site: str) -> list[Card]:
    """Return the cards of a page's questions."""
    return [_question(one, site) for one in page]


def _question(one: Asked, site: str) -> Card:
    """Return the card of a question: its options in front, right or wrong with the reasons behind."""
    box = next(tree.read(bank.rebase(one.html, one.page.url, site=site)).named({"fieldset"}))
    asked = " ".join(part.inner.strip() for part in _in(box, "legend", "span"))
    parts = bank.stem(box)
    for steps in (one for part in parts for one in (part, *part.walk()) if one.name == "ol"):
        steps.attributes["class"] = STEPS  # letters belong to options
    stem = "".join(map(tree.markup, parts))
    labels = [label for options in box.of_class("quiz-options") for label in options.named({"label"})]
    options = "".join(
        f"<li>{span.inner.strip()}</li>" for label in labels for span in label.elements if span.name == "span"
    )
    told = ""
    for item in (item for reasons in box.of_class("quiz-reasons") for item in reasons.elements):
        verdict, reason = next(item.of_class("quiz-verdict")), next(item.of_class("quiz-reason"))
        reason.children = [
            part for part in reason.children if isinstance(part, str) or "quiz-proof" not in part.classes
        ]
        mark = "✓" if "quiz-right" in item.classes else "✗"
        told += f'<li>{mark} {verdict.inner.strip()}<div class="why">{reason.inner.strip()}</div></li>'
    front = f"<p>{asked}</p>{stem}<ol>{options}</ol>"
    return Card(one.question.id, one.page.section, front, f"<ol>{told}</ol>", site + one.url)


def _in(element: Element, *path: str) -> list[Element]:
    """Return the elements that a path of names leads to, each directly in the one before."""
    found = [element]
    for name in path:
        found = [child for one in found for child in one.elements if child.name == name]
    return found


def number(name: str, base: int, span: int) -> int:
    """Return a number for a name, always the same, in `[base, base + span)`."""
    return base + int.from_bytes(sha256(name.encode()).digest()[:8]) % span


def package(found: list[Card], *, name: str, when: int) -> bytes:
    """Return an Anki package: a deck for each part of the site, under one that bears its name.

    Args:
        found: the cards.
        name: the name of the deck.
        when: the time at which the notes changed, in seconds since 1970. Anki takes over a note that is newer.
    """
    template = {"name": "Card", "qfmt": "{{Front}}", "afmt": BACK}
    fields = [{"name": field} for field in FIELDS]
    model = genanki.Model(MODEL_ID, name, fields=fields, templates=[template], css=CSS)
    decks: dict[str, genanki.Deck] = {}
    for card in found:
        title = f"{name}::{card.deck}"
        deck = decks.setdefault(title, genanki.Deck(number(f"deck {SPACE} {card.deck}", 1 << 30, 1 << 30), title))
        # The id is the last field, so that the note is found by it too.
        values = [card.front, card.back, card.link, card.id]
        deck.add_note(
            genanki.Note(
                model, values, tags=[slug(card.deck)], guid=genanki.guid_for(SPACE, card.id), due=len(deck.notes)
            )
        )
    database = sqlite3.connect(":memory:")
    genanki.Package(list(decks.values())).write_to_db(database.cursor(), when, _ids(decks.values()))
    database.commit()
    content = database.serialize()
    database.close()
    return zipped({"collection.anki2": content, "media": b"{}"}, when)


def _ids(decks: Iterable[genanki.Deck]) -> Iterator[int]:
    """Return the ids of notes and cards in the order in which they are written. Anki reads them as milliseconds."""
    for deck in decks:
        for note in deck.notes:
            yield number(f"note {note.guid}", 1_500_000_000_000, 1 << 37)
            yield number(f"card {note.guid}", 1_500_000_000_000, 1 << 37)


def table(found: list[Card]) -> str:
    """Return the cards as CSV, as text without markup."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["id", "section", "front", "back", "link"])
    writer.writerows([card.id, card.deck, text(card.front), text(card.back), card.link] for card in found)
    return buffer.getvalue()


def text(markup: str) -> str:
    """Return a piece of HTML as text: a line for each paragraph, options with their letters, code as it stands."""
    lines = _lines(tree.read(markup)).split("\n")
    told = (line[1:].rstrip() if line.startswith(CODE) else " ".join(line.split()) for line in lines)
    return "\n".join(said for said, line in zip(told, lines, strict=True) if said or line.startswith(CODE))


def _lines(parent: Element) -> str:
    numbered = STEPS in parent.classes
    marks = map(str, count(1)) if numbered else iter(LETTERS if parent.name == "ol" else "")
    out = ""
    for child in parent.children:
        if isinstance(child, str):
            out += child.replace("\n", " ")
            continue
        if child.name == "pre":
            out += "".join(f"\n{CODE}{line}" for line in child.text.strip("\n").split("\n")) + "\n"
            continue
        mark = next(marks, "") if child.name == "li" else ""
        said = (f"{mark}. " if mark else "") + _lines(child)
        out += f"\n{said}\n" if child.name in PARAGRAPHS else said
    return out


def files(found: list[Card], *, name: str, when: int) -> dict[str, bytes]:
    """Return what lies in the folder of the site, by its path below the site's root."""

    def make() -> tuple[str, str]:
        return b64encode(package(found, name=name, when=when)).decode(), table(found)

    deck, rows = remember("packages", [name, str(when), *(part for card in found for part in card)], make)
    stem = f"{FOLDER}/{slug(name)}"
    return {f"{stem}.apkg": b64decode(deck), f"{stem}.csv": rows.encode()}
