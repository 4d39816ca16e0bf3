"""The words of the glossary as cards to turn over. A page shows them where it has `<!-- guide:flashcards -->`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hooks import bank
from hooks.errors import GuideError
from hooks.glossary import PAGE
from hooks.markup import tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hooks.glossary import Term

MARK = "<!-- guide:flashcards -->"


class Word(NamedTuple):
    """A word of the glossary: its anchor, its name as HTML, what it means as HTML, the address of the glossary."""

    id: str
    name: str
    meaning: str
    url: str


def words(terms: Iterable[Term], html: str, url: str) -> list[Word]:
    """Return the terms with their meaning as the glossary shows it: what stands below the heading of each.

    Args:
        terms: the terms.
        html: the content of the glossary; links are relative to it.
        url: its address below the site's root.

    Raises:
        GuideError: a term has no heading there.
    """
    found = []
    for term in terms:
        opening = rf'<h3\b[^>]*\sid="{re.escape(term.id)}"[^>]*>'
        heading = re.search(rf"{opening}(.*?)</h3>(.*?)(?=<h[1-3]\b|$)", html, re.DOTALL)
        if heading is None:
            cause = f"the heading of the term {term.name!r} does not have the anchor `{term.id}`"
            cure = (
                "write the term in plain words, which no other heading of the page says, or name its anchor: `{#word}`"
            )
            raise GuideError(PAGE, term.line, cause, cure)
        found.append(Word(term.id, bank.PERMALINK.sub("", heading[1]).strip(), heading[2].strip(), url))
    return found


def fill(content: str, found: list[Word], url: str) -> str:
    """Return the HTML of a page with the cards in place of their mark.

    Args:
        content: the page.
        found: the words.
        url: the page's address below the site's root.
    """
    return content.replace(MARK, cards(found, url)) if MARK in content else content


def cards(found: list[Word], url: str) -> str:
    """Return the words as HTML: each opens to show its meaning, also without JavaScript."""
    parts = [
        tag("details", tag("summary", word.name) + bank.rebase(word.meaning, word.url, onto=url)) for word in found
    ]
    return tag("div", "".join(parts), class_="flashcards", data_search_exclude="")
