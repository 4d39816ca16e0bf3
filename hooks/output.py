"""`/// output`: what a section of a program printed, from its record, with the versions and the date of that run."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from hooks import place, reference
from hooks.errors import near
from hooks.markup import GuideBlock, stamp, tag
from hooks.reference import Missing
from hooks.used import Use, used

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


class Output(GuideBlock):
    """`/// output | section/program.py:section`, without content."""

    NAME = "output"
    SHAPE = "/// output | section/program.py:section"
    CLASS = "guide-output highlight"

    def build(self, block: Element, content: list[Element]) -> None:
        """Show the text that the section printed."""
        ref = reference.parse(self.argument)
        program = reference.program_of(ref.program)
        if ref.name not in program.sections:
            known = near(ref.name, program.sections)
            raise Missing(f"`{ref.program}` has no section `{ref.name}`", f"name one of its sections ({known})")
        record = reference.record_of(ref.program, ref.device)
        text = record.output.get(ref.name, "")
        if not text.strip():
            raise Missing(
                f"section `{ref.name}` of `{ref.program}` printed nothing", "print there, or remove this block"
            )
        head = tag("p", f"Output · {stamp(record)}", class_="guide-stamp", data_search_exclude="")
        block.text = self.stash(head + tag("pre", tag("code", html.escape(text.strip("\n"), quote=False) + "\n")))
        used(self.md).outputs.append(Use.of(ref, place.current().file))
