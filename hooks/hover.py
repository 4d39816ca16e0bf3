"""The first use of a glossary term on a page: a link to its entry whose definition shows on hover, focus and touch.

Where the author links a term to the glossary already, that link gets the definition. A page on which a term means
something else says so in its front matter, `other-meaning`, and the term stays plain there. The definitions stand once
at the end of the page, hidden; `docs/assets/terms.js` shows them. Without the script the links lead to the glossary.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER

from hooks import front, glossary, place
from hooks.markup import sub, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.glossary import Term

# Where a word is a name, a label, or belongs to something that is clicked.
CLOSED = frozenset(
    {
        "a",
        "button",
        "code",
        "data",
        "fieldset",
        "figcaption",
        "label",
        "legend",
        "pre",
        "script",
        "style",
        "summary",
        "svg",
        "th",
    }
    | {f"h{level}" for level in range(1, 7)}
)
LINKED = re.compile(r"(?:^|/)glossary(?:\.md|/)#(?P<id>[\w-]+)$")
SKIPPED = {"admonition-title"}
# What Python-Markdown leaves in a text for a tag of raw HTML in it.
RAW = HTML_PLACEHOLDER % r"(?P<raw>\d+)"
TAG = re.compile(rf"<(/?)(?:{'|'.join(sorted(CLOSED))})(?![\w-])", re.IGNORECASE)


class Terms(Treeprocessor):
    """Marks the first use of each term and adds the definitions that the page needs."""

    def run(self, root: Element) -> None:
        """Walk over the finished tree, in the order of reading."""
        page = place.current()
        known = glossary.terms()
        if not known or page.file == glossary.PAGE or not page.file.startswith("docs/"):
            return
        address = posixpath.relpath(glossary.PAGE, posixpath.dirname(page.file))
        other = front.other_meanings(page.source, page.file)
        plain = {term.id for term in known if not (term.linked and other.isdisjoint(map(str.lower, term.forms())))}
        marker = _Marker(known, plain, address, self.md.htmlStash.rawHtmlBlocks)
        marker.walk(root)
        if marker.used:
            notes = sub(root, "div", class_="term-notes", hidden="", data_search_exclude="")
            for term in marker.used.values():
                note = sub(notes, "div", id=f"term-{term.id}")
                note.text = self.md.htmlStash.store(words(term.text))


class _Marker:
    """Walks over one page. Terms that are `plain` are marked only where the author links them."""

    def __init__(self, known: list[Term], plain: set[str], address: str, raw: list[Any]) -> None:
        self.by_id = {term.id: term for term in known}
        self.by_form = {form: term for term in known for form in term.forms()}
        self.plain, self.address, self.raw = plain, address, raw
        self.inside = 0  # how many tags of raw HTML are open in which nothing is marked
        self.used: dict[str, Term] = {}
        forms = sorted(self.by_form, key=len, reverse=True)  # `parameter server` before `server`
        # Wherever the lines of its source break.
        words = "|".join(r"\s+".join(map(re.escape, form.split())) for form in forms)
        self.pattern = re.compile(rf"{RAW}|(?<![\w/-])(?:{words})(?![\w/-])", re.IGNORECASE)

    def walk(self, element: Element) -> None:
        """Mark what stands in an element, then what stands in its children and between them."""
        if element.tag == "a":
            self._link(element)
        if element.tag in CLOSED or SKIPPED & set(element.get("class", "").split()):
            return
        if element.text:
            self._mark(element, None, element.text)
        for child in list(element):
            self.walk(child)
            if child.tail:
                self._mark(element, child, child.tail)

    def _link(self, element: Element) -> None:
        """Give a link to the glossary its definition."""
        linked = LINKED.search(element.get("href", ""))
        if linked and linked["id"] in self.by_id:
            element.set("class", f"{element.get('class', '')} term".strip())
            element.set("aria-describedby", f"term-{linked['id']}")
            self.used.setdefault(linked["id"], self.by_id[linked["id"]])

    def _mark(self, parent: Element, after: Element | None, text: str) -> None:
        """Turn the first uses in a piece of text into links; the piece follows `after`, or starts the parent."""
        at = list(parent).index(after) + 1 if after is not None else 0
        done = 0
        for start, end, term in self._first_uses(text):
            link = Element("a", {"class": "term", "href": f"{self.address}#{term.id}"})
            link.set("aria-describedby", f"term-{term.id}")
            link.text = text[start:end]
            link.tail = text[end:]
            before = text[done:start]
            if after is None:
                parent.text = before
            else:
                after.tail = before
            parent.insert(at, link)
            after, at, done = link, at + 1, end

    def _first_uses(self, text: str) -> Iterator[tuple[int, int, Term]]:
        for found in self.pattern.finditer(text):
            if found["raw"]:
                self._raw_tag(self.raw[int(found["raw"])])
                continue
            if self.inside:
                continue
            term = self.by_form[" ".join(found[0].lower().split())]
            if term.id not in self.used and term.id not in self.plain:
                self.used[term.id] = term
                yield found.start(), found.end(), term

    def _raw_tag(self, html: Any) -> None:
        """Note that a tag of raw HTML, which the tree does not know, opens or closes something."""
        for close in TAG.findall(html) if isinstance(html, str) else ():
            self.inside = max(0, self.inside + (-1 if close else 1))
