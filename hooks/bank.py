"""Every question of the site in one list: where it stands, what to read again when the answer was wrong, its HTML.

The self-check page and the decks are made from it.
"""

from __future__ import annotations

import html as htmllib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit, urlunsplit

from mkdocs.utils import get_relative_url

from hooks import quiz_key
from hooks.errors import GuideError
from hooks.markup import anchor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hooks.tree import Element
    from hooks.used import Question

FIELDSET = re.compile(r'<fieldset\b(?:[^>]*\sdata-quiz="(?P<id>[^"]+)")?[^>]*>|</fieldset>')
HEADING = re.compile(r'<h[23]\b[^>]*\sid="(?P<id>[^"]+)"[^>]*>(?P<text>.*?)</h[23]>', re.DOTALL)
CARD = re.compile(r'<details[^>]* id="(?P<id>program-[^"]+)"')
PERMALINK = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
# What `hooks.quiz` adds below the legend and the stem.
NO_STEM = {"quiz-options", "quiz-why"}
LINK = re.compile(r'(?P<attribute>\b(?:href|src))="(?P<url>[^"]*)"')


@dataclass(frozen=True)
class PageHtml:
    """A page that may hold questions.

    Attributes:
        url: its address below the site's root.
        title: its title.
        section: the title of the part of the site that it belongs to.
        html: its content, with links that a browser can follow.
        questions: its questions, as the Markdown extension noted them.
    """

    url: str
    title: str
    section: str
    html: str
    questions: list[Question]


@dataclass(frozen=True)
class Asked:
    """A question where it stands.

    Attributes:
        question: what the Markdown extension noted of it.
        page: its page.
        again: the address below the site's root of what explains it.
        heading: what to call that: a page, or a page and its section.
        html: its `fieldset`; links are relative to its page.
    """

    question: Question
    page: PageHtml
    again: str
    heading: str
    html: str

    @property
    def url(self) -> str:
        """Return its address below the site's root."""
        return f"{self.page.url}#quiz-{self.question.id}"


def gather(pages: Iterable[PageHtml]) -> list[Asked]:
    """Return every question of the pages, in order.

    Raises:
        GuideError: a question holds another, or HTML in it ends it too early or never.
    """
    pages = list(pages)
    cards = {card["id"]: page for page in reversed(pages) for card in CARD.finditer(page.html)}
    return [asked for page in pages if page.questions for asked in _of(page, cards)]


def _of(page: PageHtml, cards: Mapping[str, PageHtml]) -> list[Asked]:
    boxes = _boxes(page.html)
    for question in page.questions:
        if question.id not in boxes:
            cause = f"question `{question.id}` stands in another one, or its `fieldset` does not end where it does"
            raise GuideError(question.page, question.line, cause, "put no question and no `fieldset` into a question")
    taught = page.html[: min(start for start, _ in boxes.values())]
    found = []
    for question in page.questions:
        again, heading = _explained(taught, question, page, cards)
        found.append(Asked(question, page, again, heading, page.html[slice(*boxes[question.id])]))
    return found


def _boxes(html: str) -> dict[str, tuple[int, int]]:
    """Return where each question that stands in no other starts and ends, without one before an end too many."""
    boxes: dict[str, tuple[int, int]] = {}
    above: list[re.Match[str]] = []
    for tag in FIELDSET.finditer(html):
        if tag[0] != "</fieldset>":
            above.append(tag)
            continue
        opening = above.pop() if above else None
        if opening is None and boxes:
            boxes.popitem()
        elif opening and opening["id"] and not above:
            boxes[opening["id"]] = (opening.start(), tag.end())
    return boxes


def _explained(taught: str, question: Question, page: PageHtml, cards: Mapping[str, PageHtml]) -> tuple[str, str]:
    """Return the address and the name of what explains a question, looked for in this order.

    The section of its page where what proves an option is first used; the page, where that is above all sections; the
    card of a program on another page; the page. What proves a right option counts before what proves a wrong one.

    Args:
        taught: the page up to its questions.
        question: the question.
        page: its page.
        cards: the pages by the ids of the programs' cards.
    """
    options = sorted(zip(question.proof, question.key, strict=True), key=lambda option: not option[1])
    proofs = [_used(proof) for proof, _ in options]
    for proof in proofs:
        if before := list(HEADING.finditer(taught, 0, max(taught.find(proof), 0))):
            text = plain(before[-1]["text"])
            return f"{page.url}#{before[-1]['id']}", f"{page.title}: {text}"
    if not any(proof in taught for proof in proofs):
        for proof in proofs:
            card = anchor("program", proof)
            if card in cards:
                return f"{cards[card].url}#{card}", cards[card].title
    return page.url, page.title


def _used(proof: str) -> str:
    """Return what stands in a page's HTML where a proof of a question is used: a program, or a cited address."""
    key = quiz_key.parse(proof)
    return htmllib.escape(key.source) if key.source else key.claims[0].reference.program


def plain(html: str) -> str:
    """Return a piece of HTML as one line of text, without the link that a heading has to itself."""
    return " ".join(htmllib.unescape(TAG.sub("", PERMALINK.sub("", html))).split())


def stem(box: Element) -> list[Element]:
    """Return the blocks of a question's `fieldset` between its words and its options."""
    return [part for part in box.elements if part.name != "legend" and not NO_STEM.intersection(part.classes)]


def rebase(html: str, url: str, *, onto: str = "", site: str = "") -> str:
    """Return a piece of a page whose links hold elsewhere.

    Args:
        html: the piece.
        url: the address of its page, below the site's root.
        onto: the address of the page that it moves to, below the site's root.
        site: the site's address; with it, links become absolute.
    """
    root = "http://site/"

    def moved(link: re.Match[str]) -> str:
        target = urljoin(root + url, htmllib.unescape(link["url"]))
        if not target.startswith(root):
            return link[0]
        parts = urlsplit(target)
        path, rest = parts.path[1:], urlunsplit(("", "", "", parts.query, parts.fragment))
        found = urljoin(site, path) if site else get_relative_url(path, onto)
        return f'{link["attribute"]}="{htmllib.escape(found + rest)}"'

    return LINK.sub(moved, html)
