"""The guide's syntax as one Python-Markdown extension: `hooks.extension` in mkdocs.yml registers all of it.

A Markdown extension does not know the address of its page, so links that need it are placeholders, which the site's
hook replaces in the page's HTML:

* `/__root__/programs/strategies/mirrored.py`: relative to the site's root; programs are copied there.
* `/__source__/snippets/strategies/mirrored.py#L12`: a file in the repository, by `extra.repository` of mkdocs.yml.
* `/__repository__/issues/new`: what the repository's site has at that address; `/__repository__/` is its home.
* `/__program__/strategies/mirrored.py`: the card of that program, `#program-strategies-mirrored` on the page that has
  it. Where the same page has it, the extension has already made it `#program-strategies-mirrored`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from pymdownx.blocks import BlocksExtension, BlocksProcessor

from hooks import fences, links, needs, place, successor
from hooks.card import Card
from hooks.errorblock import ErrorBlock
from hooks.errors import ROOT, GuideError, near
from hooks.figure import FigureBlock
from hooks.hover import Terms
from hooks.markup import anchor
from hooks.output import Output
from hooks.quiz import Quiz
from hooks.reported import Reported
from hooks.survey import Survey
from hooks.table import Table
from hooks.used import start
from hooks.value import Value
from hooks.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown import Markdown

BLOCKS = (Quiz, Output, Card, Table, ErrorBlock, Reported, FigureBlock, Widget, Survey)
UNREAD = re.compile(r"(?m)^[ ]{0,3}(?P<line>/{3,}(?:[ \t].*)?)$")
SAYING = re.compile(r"[ >]*/{3,}[ ]*(?:figure|reported)[ ]*\|", re.IGNORECASE)  # blocks whose options hold sentences
SENTENCE = re.compile(r"(?P<name>(?P<indent>[ >]+)(?P<option>alt|text|needs):[ ]+)(?P<text>[^\s\"'|>].*?)[ ]*")
WRAPPED = re.compile(r"(?![\w-]+:)[ ]*\S")  # what follows the indentation of an option and is no option
CARD = re.compile(r'href="/__program__/(?P<path>[^"#]+)"')
CODE = {"pre", "code", "script", "style"}


class Unread(Treeprocessor):
    """Stops the build for a block that was never closed or that no extension knows: it would be shown as text."""

    def __init__(self, md: Markdown, manager: BlocksProcessor) -> None:
        """Keep the manager, whose stack holds open blocks."""
        super().__init__(md)
        self.manager = manager

    def run(self, root: Element) -> None:
        """Look at the parsed page before inline patterns run."""
        for entry in self.manager.stack:
            block = entry.block
            start_of = f"{'/' * block.length} {block.NAME}" + (f" | {block.argument}" if block.argument else "")
            cure = f"end it with a line `{'/' * block.length}` after an empty line or its last line"
            if hasattr(block, "error"):
                raise block.error(f"`{start_of}` is never closed", cure)
            raise place.error(start_of, f"`{start_of}` is never closed", cure)
        for text in _texts(root):
            if match := UNREAD.search(text):
                line, (_, *below) = match["line"].strip(), text[match.start() :].split("\n")
                raise GuideError(place.current().file, _line(line, "".join(below[:1])), *self._unread(line))

    def _unread(self, line: str) -> tuple[str, str]:
        """Return why a line with slashes was not read as the start or the end of a block, and the cure."""
        name = line.strip("/").partition("|")[0].strip()
        if not name:
            fences.check_slashes(place.current().source, place.current().file)  # it knows the line
            return f"`{line}` belongs to no block", "correct or remove the line"
        if name.lower() not in self.manager.blocks:
            return f"`{line}` starts no block that is known", f"correct its name ({near(name, self.manager.blocks)})"
        cause = f"`{line}` starts no block that can be read: its title, or the options below it, are not right for it"
        return cause, "write one title after `|`, and options that it takes as lines `    name: value`"


class Addresses(Treeprocessor):
    """Stops the build for a link that is empty or that no browser can read: MkDocs fails on it without a place."""

    def run(self, root: Element) -> None:
        """Look at the links that Markdown made."""
        for element in root.iter():
            for name in {"a": ("href",), "img": ("src",)}.get(element.tag, ()):
                address = element.get(name)
                if address is not None and not (address and links.readable(address)):
                    needle = f"]({address})" if f"]({address})" in place.current().source else address
                    raise place.error(needle, f"a link that leads nowhere: {address!r}", "write an address")


class Sentences(Preprocessor):
    """Quotes the sentences that options hold, so that a colon or a `#` in them is no YAML."""

    def run(self, lines: list[str]) -> list[str]:
        """Look at the lines below the first of a block; code in fences is out of sight by now."""
        for first, line in enumerate(lines):
            if not SAYING.match(line):
                continue
            for n in range(first + 1, len(lines)):
                match = SENTENCE.fullmatch(lines[n])
                if not match:
                    break
                below = "".join(lines[n + 1 : n + 2])
                if below.startswith(match["indent"]) and WRAPPED.match(below, match.end("indent")):
                    at = _line(lines[n].strip(" >"), below.strip(" >"))
                    cause = f"`{match['option']}` goes over two lines"
                    raise GuideError(place.current().file, at, cause, "write it on one line")
                lines[n] = match["name"] + json.dumps(match["text"], ensure_ascii=False)
        return lines


class Cards(Postprocessor):
    """Points links to programs whose card is on the same page at that card."""

    def run(self, text: str) -> str:
        """Replace the placeholders that need no other page."""
        known = self.md.guide.programs  # type: ignore[attr-defined]

        def local(match: re.Match[str]) -> str:
            return f'href="#{anchor("program", match["path"])}"' if match["path"] in known else match[0]

        return CARD.sub(local, text) if known else text


class GuideExtension(BlocksExtension):
    """Registers the blocks, the values in sentences, and the check that nothing was left unread."""

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: BlocksProcessor) -> None:  # noqa: N802
        """Register everything on `md`."""
        for block in BLOCKS:
            block_mgr.register(block, self.getConfigs())
        for name in ("legend", "section", "figure", "figcaption"):
            if name not in md.block_level_elements:
                md.block_level_elements.append(name)
        md.inlinePatterns.register(Value(md), "guide-value", 185)  # after code spans (190), before escapes (180)
        md.preprocessors.register(needs.Needs(md), "guide-needs", 35)  # before snippets are read in (32)
        md.preprocessors.register(Sentences(md), "guide-sentences", 15)  # after fences are taken out (25)
        md.treeprocessors.register(Unread(md, block_mgr), "guide-unread", 100)
        md.treeprocessors.register(Terms(md), "guide-terms", 12)  # after inline patterns (20), before MkDocs' links (0)
        md.treeprocessors.register(Addresses(md), "guide-addresses", 11)
        md.postprocessors.register(Cards(md), "guide-cards", 5)  # after raw HTML is back (30)
        md.postprocessors.register(needs.Lines(md), "guide-needs-lines", 6)
        md.postprocessors.register(successor.Reasons(md), "guide-reasons", 4)
        md.postprocessors.register(successor.Links(md), "guide-links", 3)
        md.registerExtension(self)
        self.md = md

    def reset(self) -> None:
        """Start a page: Python-Markdown calls it once for each."""
        successor.enter(self.md, ROOT)
        start(self.md, place.current().file)


def _line(text: str, below: str) -> int:
    """Return the line of the page that has a text and this one below it, else the first that has the text."""
    lines = [line.strip(" >\t") for line in place.current().source.split("\n")]
    found = [n for n, line in enumerate(lines, 1) if line == text]
    return next((n for n in found if below and lines[n : n + 1] == [below.strip()]), found[0] if found else 0)


def _texts(root: Element) -> Iterator[str]:
    """Yield the texts of the tree outside code."""
    if root.tag not in CODE:
        if root.text:
            yield root.text
        for child in root:
            yield from _texts(child)
    if root.tail:
        yield root.tail


def makeExtension(**kwargs: Any) -> GuideExtension:  # noqa: N802
    """Return the extension; Python-Markdown calls it."""
    return GuideExtension(**kwargs)
