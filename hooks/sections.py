"""The sections of a program: parts between `# --8<-- [start:name]` and `# --8<-- [end:name]`, which pages show."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks.errors import GuideError

if TYPE_CHECKING:
    from pathlib import Path

_MARKER = re.compile(r"^[ \t]*# --8<-- \[(?P<type>start|end):(?P<name>[a-z][a-z0-9_-]*)\][ \t]*$")
_MARKER_LIKE = re.compile(r"-8<-")


@dataclass(frozen=True)
class Section:
    """A shown part of a program: the lines `first` to `last` of the file, counted from 1, without the markers."""

    name: str
    first: int
    last: int
    text: str


def find(file: Path, source: str, executable: set[int]) -> dict[str, Section]:
    """Return the sections of a program by name, in order.

    Args:
        file: the program, for messages.
        source: its text.
        executable: the lines on which statements of the top level start; each section must hold one.

    Raises:
        GuideError: a marker is malformed, or a section nests, repeats a name, holds nothing, never ends, or cuts
            through a statement.
    """
    sections: dict[str, Section] = {}
    lines = source.split("\n")
    open_name, open_line = "", 0
    for number, line in enumerate(lines, start=1):
        if not _MARKER_LIKE.search(line):
            continue
        marker = _MARKER.match(line)
        if marker is None:
            cure = "write '# --8<-- [start:name]' or '# --8<-- [end:name]' alone on its line, the name in lower case"
            raise GuideError(file, number, f"a section marker is malformed: {line.strip()}", cure)
        name = marker["name"]
        if marker["type"] == "start":
            if open_name:
                cause = f"section '{name}' starts inside section '{open_name}' (line {open_line})"
                raise GuideError(file, number, cause, f"end '{open_name}' first: sections do not nest")
            if name in sections:
                cause = f"section '{name}' was already used at line {sections[name].first - 1}"
                raise GuideError(file, number, cause, "give it another name")
            open_name, open_line = name, number
            continue
        if name != open_name:
            cause = f"'[end:{name}]' closes a section that is not open"
            cure = f"end '{open_name}' here" if open_name else f"remove it, or add '# --8<-- [start:{name}]' before it"
            raise GuideError(file, number, cause, cure)
        first, last = open_line + 1, number - 1
        if not any(first <= line <= last for line in executable):
            cause = f"section '{name}' holds no statement of the top level"
            raise GuideError(file, open_line, cause, "put a whole statement into it, or remove the section")
        text = textwrap.dedent("\n".join(lines[first - 1 : last]))
        try:
            ast.parse(text)
        except SyntaxError as error:
            cause = f"section '{name}' is no Python without what stands around it: {error.msg}"
            cure = "let it begin and end between whole statements of the same depth"
            raise GuideError(file, open_line + (error.lineno or 1), cause, cure) from None
        sections[name] = Section(name, first, last, text)
        open_name = ""
    if open_name:
        cure = f"add '# --8<-- [end:{open_name}]' where it ends"
        raise GuideError(file, open_line, f"section '{open_name}' is never closed", cure)
    return sections
