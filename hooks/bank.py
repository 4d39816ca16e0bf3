"""Every question of the site in one list: where it stands, what to read again when the answer was wrong, its HTML.

The self-check page and the decks are made from it.
"""

from __future__ import annotations

import html as htmllib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from mkdocs.utils import get_relative_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hooks.used import Question

BOX = re.compile(r'<fieldset class="quiz" data-quiz="(?P<id>[^"]+)".*?</fieldset>', re.DOTALL)
HEADING = re.compile(r'<h[23] id="(?P<id>[^"]+)">(?P<text>.*?)</h[23]>', re.DOTALL)
PERMALINK = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
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
        anchor: the id of the section that explains it; empty for the whole page.
        heading: the title of that section.
        html: its `fieldset`; links are relative to its page.
    """

    question: Question
    page: PageHtml
    anchor: str
    heading: str
    html: str

    @property
    def url(self) -> str:
        """Return its address below the site's root."""
        return f"{self.page.url}#quiz-{self.question.id}"

    @property
    def again(self) -> str:
        """Return the address below the site's root of what explains it."""
        return f"{self.page.url}#{self.anchor}" if self.anchor else self.page.url


def gather(pages: Iterable[PageHtml]) -> list[Asked]:
    """Return every question of the pages, in order."""
    return [asked for page in pages if page.questions for asked in _of(page)]


def _of(page: PageHtml) -> list[Asked]:
    boxes = {box["id"]: box for box in BOX.finditer(page.html)}
    taught = page.html[: min(box.start() for box in boxes.values())]
    found = []
    for question in page.questions:
        anchor, heading = explained(taught, question)
        found.append(Asked(question, page, anchor, heading, boxes[question.id][0]))
    return found


def explained(html: str, question: Question) -> tuple[str, str]:
    """Return the section of a page that explains a question: where what proves an option is first used.

    What proves a right option counts before what proves a wrong one: the program of a claim, or a cited source.

    Args:
        html: the page up to its questions.
        question: the question.

    Returns:
        The id of the section and its title; both empty where no section uses any of it.
    """
    options = sorted(zip(question.proof, question.key, strict=True), key=lambda option: not option[1])
    for proof, _ in options:
        kind, _, what = proof.partition(": ")
        used = what.removeprefix("not ").partition(":")[0] if kind == "claim" else htmllib.escape(what)
        before = list(HEADING.finditer(html, 0, max(html.find(used), 0)))
        if before:
            return before[-1]["id"], plain(before[-1]["text"])
    return "", ""


def plain(html: str) -> str:
    """Return a piece of HTML as one line of text, without the link that a heading has to itself."""
    return " ".join(htmllib.unescape(TAG.sub("", PERMALINK.sub("", html))).split())


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
        path, anchor = urlsplit(target).path[1:], urlsplit(target).fragment
        found = urljoin(site, path) if site else get_relative_url(path, onto)
        return f'{link["attribute"]}="{htmllib.escape(found + (f"#{anchor}" if anchor else ""))}"'

    return LINK.sub(moved, html)
