"""What a shown section of a program uses and no block above it on the page shows: imports, and names to look up.

A program imports at its top, and a page shows its parts. Each fence that shows a section gets its missing imports as an
attribute of its box: the style sheet shows them in front of the code, the button copies them with it. So a reader who
copies the blocks of a program one after the other has all its imports. A comment names what else stands only in the
whole program, such as data that the page describes in words.
"""

from __future__ import annotations

import ast
import re
import symtable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor

from hooks import place, programs
from hooks.cache import remember
from hooks.errors import GuideError
from hooks.fences import fences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.sections import Section

ATTRIBUTE = "data-needs"
# A fence's header whose options stand in no braces.
HEADER = re.compile(r"(?P<ticks>[`~]{3,})[ ]*\.?python(?P<rest>[^{}]*)$")
# An attribute in a fence's header is one line.
_BREAK = "; "
WHOLE = "# from the whole program: "


@dataclass(frozen=True)
class Part:
    """What a section of a program uses of the rest.

    Args:
        text: the section.
        imports: statements at the top level whose names it uses or binds, in the order of the program; true for those
            that stand in the section itself.
        takes: other names of the top level that it uses and does not bind, each with the names of the sections that do.
        makes: names that it binds at the top level.
    """

    text: str
    imports: dict[str, bool]
    takes: dict[str, list[str]]
    makes: list[str]


class Needs(Preprocessor):
    """Writes what each section needs into the header of its fence."""

    def run(self, lines: list[str]) -> list[str]:
        """Look at the page before its snippets are read in."""
        had: dict[str, set[str]] = {}
        texts: set[str] = set()
        for fence in fences("\n".join(lines), place.current().file):
            path, _, section = fence.snippet.partition(":")
            if fence.language != "python" or not section:
                continue
            try:
                parts = of_program(path)
                part = parts[section]
            except (GuideError, KeyError):
                continue  # whoever checks the snippets says so, with the page's line
            known = had.setdefault(path, set())
            missing = [line for line, ours in part.imports.items() if not ours and line not in known]
            # Another program on the page may show the same section.
            hidden = [
                name
                for name, sources in part.takes.items()
                if name not in known and not any(parts[source].text in texts for source in sources)
            ]
            if hidden:
                missing.append(WHOLE + ", ".join(hidden))
            if missing:
                header = HEADER.sub(r"\g<ticks>{.python\g<rest>}", lines[fence.line - 1].rstrip())
                lines[fence.line - 1] = f'{header.removesuffix("}")} {ATTRIBUTE}="{_BREAK.join(missing)}"}}'
            known.update(part.imports, part.makes, hidden)
            texts.add(part.text)
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


def of_program(path: str) -> dict[str, Part]:
    """Return what each section of a program uses, by the section's name.

    Args:
        path: the program, for example `strategies/mirrored.py`.

    Raises:
        GuideError: there is no such program, or it breaks a rule.
    """
    program = programs.load(path)
    found = remember("needs", [program.source], lambda: {name: asdict(part) for name, part in _found(program)})
    return {name: Part(**part) for name, part in found.items()}


def _found(program: programs.Program) -> Iterator[tuple[str, Part]]:
    tree = ast.parse(program.source)
    imports = [
        (alias.asname or alias.name.partition(".")[0], node.lineno, ast.unparse(_only(node, alias)))
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
    bound = _Bound()
    bound.visit(tree)
    sections = program.sections
    makes = {name: [word for word, at in bound.lines.items() if _within(at, part)] for name, part in sections.items()}
    for name, part in sections.items():
        used = _used(part.text)
        uses = {
            statement: part.first <= line <= part.last
            for word, line, statement in imports
            if word in used or part.first <= line <= part.last
        }
        takes = {
            word: [other for other in sections if word in makes[other]]
            for word in bound.lines
            if word in used and word not in makes[name]
        }
        yield name, Part(part.text, uses, takes, makes[name])


class _Bound(ast.NodeVisitor):
    """Finds the names that the top level of a program binds, apart from imports, and the lines on which it does."""

    def __init__(self) -> None:
        self.lines: dict[str, list[int]] = {}

    def visit(self, node: ast.AST) -> None:
        """Go through all but what has names of its own."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.lines.setdefault(node.name, []).append(node.lineno)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case _:
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.lines.setdefault(node.id, []).append(node.lineno)
                elif isinstance(node, ast.ExceptHandler) and node.name:
                    self.lines.setdefault(node.name, []).append(node.lineno)
                self.generic_visit(node)


class _Scoped(ast.NodeTransformer):
    """Turns comprehensions into generator expressions, whose names stay theirs in every Python.

    From 3.12 on, symtable counts those of the others to what is around them: https://peps.python.org/pep-0709/
    """

    def visit(self, node: ast.AST) -> ast.AST:
        """Keep what is computed for each element."""
        match node:
            case ast.ListComp() | ast.SetComp():
                node = ast.GeneratorExp(node.elt, node.generators)
            case ast.DictComp():
                node = ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)
        return self.generic_visit(node)


def _within(lines: list[int], part: Section) -> bool:
    return any(part.first <= line <= part.last for line in lines)


def _used(code: str) -> set[str]:
    """Return the names of the top level that code uses, also inside functions that do not bind them."""
    scoped = ast.fix_missing_locations(_Scoped().visit(ast.parse(code)))
    tables, found = [symtable.symtable(ast.unparse(scoped), "section", "exec")], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        top = table.get_type() == "module"
        found |= {one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global())}
    return found


def _only(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    """Return the import of one name."""
    return ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], node.level)
