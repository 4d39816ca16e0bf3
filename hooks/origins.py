"""What a fence shows of `snippets/`: the path and section it names must exist, or the page would show something else.

pymdownx.snippets stops for a wrong path or section but names no line of the page, and where an end marker is missing it
shows the rest of the file without a word.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from hooks import depends, errors, programs
from hooks.errors import GuideError, near
from hooks.fences import ANY_SNIPPET, fences

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKER = re.compile(
    r"-+8<-+[ \t]+\[[ \t]*(?P<type>start|end)[ \t]*:[ \t]*(?P<name>[a-z][-_0-9a-z]*)[ \t]*\]", re.IGNORECASE
)


def check(source: str, file: str) -> None:
    """Check every snippet line of a page before Python-Markdown expands it.

    Args:
        source: the page as its author wrote it.
        file: the page's path, for messages.

    Raises:
        GuideError: a snippet outside a fence or beside other lines, a path or section that is not there.
    """
    inside: dict[int, bool] = {}
    known = programs.files() if "8<" in source else []
    for fence in fences(source, file):
        inside.update(dict.fromkeys(range(fence.line, fence.end + 1), bool(fence.snippet)))
        if fence.snippet:
            try:
                text_of(fence.snippet, known)
            except GuideError as error:
                cause = f"{error.file}:{error.line}: {error.cause}" if error.line else error.cause
                raise GuideError(file, fence.line + 1, cause, error.cure) from error
    for number, line in enumerate(source.split("\n"), 1):
        if ANY_SNIPPET.match(line) and not inside.get(number):
            cause = "a snippet that is not the one line of a fence, or is not written as path or path:section"
            raise GuideError(file, number, cause, 'write one line in a fence: --8<-- "folder/program.py:section"')


def text_of(origin: str, known: Sequence[str] | None = None) -> str:
    """Return what `path` or `path:section` under `snippets/` shows.

    Args:
        origin: the path and the section, as a page writes them.
        known: `programs.files()`, for a caller that asks more than once.

    Raises:
        GuideError: the file, the section or its end marker is missing, or the file is none of `programs.files()`.
    """
    path, _, section = origin.partition(":")
    file = programs.SNIPPETS / path
    if not depends.NAMED.fullmatch(path):
        cure = "write section/name.ending, with letters, digits, '_', '-' and '.'"
        raise GuideError(file, 0, f"snippets/{path} is not a path that pages can name", cure)
    known = programs.files() if known is None else known
    if path not in known:
        # Every program has a record beside it, whose name is as near.
        alike = [one for one in known if PurePosixPath(one).suffix == file.suffix]
        cause, cure = f"there is no file snippets/{path}", "correct the path"
        if file.is_file():  # its page would not follow when it changes (`depends`)
            cause = f"snippets/{path} is no source: a part of its path begins with '.' or is a tool's"
            cure = "name a source, or rename this file"
        raise GuideError(file, 0, cause, f"{cure} ({near(path, alike or known)})")
    if path.endswith(".py"):
        program = programs.load(path)
        sections = {name: part.text for name, part in program.sections.items()}
        whole = program.source
    else:
        whole = errors.read(file)
        sections = _sections(whole, path)
    if not section:
        return "\n".join(line for line in whole.split("\n") if not MARKER.search(line))
    if section not in sections:
        cure = f"name one of its sections ({near(section, sections)})"
        raise GuideError(file, 0, f"snippets/{path} has no section {section!r}", cure)
    return sections[section]


def _sections(text: str, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        marker = MARKER.search(line)
        if not marker or marker["type"].lower() != "start":
            continue
        name = marker["name"]
        rest = (
            (at, end["type"].lower())
            for at, later in enumerate(lines)
            if at > number and (end := MARKER.search(later)) and end["name"] == name
        )
        end_at, kind = next(rest, (0, ""))
        if kind != "end":
            cure = f"add a line with [end:{name}] where it ends"
            raise GuideError(
                programs.SNIPPETS / path, number + 1, f"the section {name!r} of snippets/{path} never ends", cure
            )
        found[name] = textwrap.dedent("\n".join(lines[number + 1 : end_at]))
    return found
