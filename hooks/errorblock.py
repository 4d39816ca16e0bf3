"""`/// error`: the exact text of an error that a program provokes; the content is its cause and its fix."""

from __future__ import annotations

import html
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from hooks import locks, place, reference
from hooks.markup import GuideBlock, card, stamp, sub, tag
from hooks.reference import Missing
from hooks.used import Use, used

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


class ErrorBlock(GuideBlock):
    """`/// error | section/program.py:name` with cause and fix as its content."""

    NAME = "error"
    SHAPE = "/// error | section/program.py:name, then its cause and fix"
    CLASS = "error-entry"
    CONTENT = True

    def build(self, block: Element, content: list[Element]) -> None:
        """Show the recorded text, then cause and fix, then the program that provokes it."""
        ref = reference.parse(self.argument)
        text, record = reference.entry(ref, "errors")
        if not isinstance(text, str) or not text.strip():
            raise Missing(f"the error `{ref}` has no text", "record the program again with `Type: text`")
        ident = f"error-{PurePosixPath(ref.program).stem}-{ref.name}".replace("_", "-")
        known = used(self.md).errors
        if any(error.id == ident for error in known):
            raise self.error(f"a second error `{ident}` on this page", "remove it")
        known.append(Use.of(ref, place.current().file, ident, text))
        block.set("id", ident)
        shown = tag("pre", tag("code", html.escape(text.strip("\n"), quote=False) + "\n"))
        holder = sub(block, "div", class_="guide-error highlight language-text")
        holder.text = self.stash(shown)
        block.extend(content)
        program = reference.program_of(ref.program)
        link = tag("a", html.escape(ref.program), href=card(ref.program))
        sub(block, "p", self.stash(f"Provoked by {link} · {stamp(record)}"), class_="guide-stamp")
        for said in filter(None, (locks.error_there(program, lock, ref.name) for lock in locks.names())):
            sub(block, "p", self.stash(html.escape(said)), class_="guide-stamp")
