"""The imports that a shown section of a program uses and that no block above it on the page shows.

A program imports at its top, and a page shows its parts. Each fence that shows a section gets its missing imports as an
attribute of its box: the style sheet shows them in front of the code, the button copies them with it. So a reader who
copies the blocks of a program one after the other has all its imports.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor

from hooks import place, programs
from hooks.cache import remember
from hooks.errors import GuideError
from hooks.fences import fences

if TYPE_CHECKING:
    from collections.abc import Mapping

ATTRIBUTE = "data-needs"
# A fence's header whose options stand in no braces.
HEADER = re.compile(r"(?P<ticks>[`~]{3,})[ ]*\.?python(?P<rest>[^{}]*)$")
# An attribute in a fence's header is one line.
_BREAK = "; "


class Needs(Preprocessor):
    """Writes what each section needs into the header of its fence."""

    def run(self, lines: list[str]) -> list[str]:
        """Look at the page before its snippets are read in."""
        had: dict[str, set[str]] = {}
        for fence in fences("\n".join(lines), place.current().file):
            path, _, section = fence.snippet.partition(":")
            if fence.language != "python" or not section:
                continue
            try:
                uses = of_section(path, section)
            except GuideError:
                continue  # whoever checks the snippets says so, with the page's line
            known = had.setdefault(path, set())
            if missing := _BREAK.join(line for line, ours in uses.items() if not ours and line not in known):
                header = HEADER.sub(r"\g<ticks>{.python\g<rest>}", lines[fence.line - 1].rstrip())
                lines[fence.line - 1] = f'{header.removesuffix("}")} {ATTRIBUTE}="{missing}"}}'
            known.update(uses)
        return lines


class Lines(Postprocessor):
    """Gives each import a line of its own, which the header of a fence cannot."""

    def run(self, text: str) -> str:
        """Look at the finished HTML."""
        start, *rest = text.split(f' {ATTRIBUTE}="')
        for part in rest:
            value, _, after = part.partition('"')
            start += f' {ATTRIBUTE}="{value.replace(_BREAK, "&#10;")}"{after}'
        return start


def of_section(path: str, section: str) -> Mapping[str, bool]:
    """Return the imports at the top level of a program whose names a section uses or binds.

    Args:
        path: the program, for example `strategies/mirrored.py`.
        section: of the program.

    Returns:
        A statement for each name, in the order of the program, and whether it stands in the section itself.

    Raises:
        GuideError: there is no such program or section, or the program breaks a rule.
    """
    program = programs.load(path)
    if section not in program.sections:
        raise GuideError(program.file, 0, f"there is no section {section!r}", "correct the name")
    found: dict[str, dict[str, bool]] = remember("needs", [program.source], lambda: _found(program))
    return found[section]


def _found(program: programs.Program) -> dict[str, dict[str, bool]]:
    tree = ast.parse(program.source)
    imports = [
        (alias.asname or alias.name.partition(".")[0], node.lineno, ast.unparse(_only(node, alias)))
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
    loads = [(n.id, n.lineno) for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    found = {}
    for name, part in program.sections.items():
        used = {word for word, line in loads if part.first <= line <= part.last}
        found[name] = {
            statement: part.first <= line <= part.last
            for word, line, statement in imports
            if word in used or part.first <= line <= part.last
        }
    return found


def _only(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    """Return the import of one name."""
    return ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], node.level)
