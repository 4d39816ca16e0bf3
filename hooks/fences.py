"""Fences and `///` blocks in the source of a page: where each begins and ends, and what its header says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from markdown.extensions.attr_list import get_attrs
from pymdownx.superfences import RE_NESTED_FENCE_START

from hooks.errors import GuideError, near

PREFIX = re.compile(r"[ >\t]*")
OPENING = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
SLASHES = re.compile(r"(?P<slashes>/{3,})(?P<header>[ \t]+\S.*)?[ \t]*$")
SNIPPET = re.compile(
    r"[ >\t]*-+8<-+[ \t]*(?P<quote>[\"'])(?P<path>[^\"':]+?)(?::(?P<section>[A-Za-z][\w-]*))?(?P=quote)[ \t]*$"
)
ANY_SNIPPET = re.compile(r"^[ >\t]*-+8<-+(?:[ \t]|$)")


@dataclass(frozen=True)
class Fence:
    """A fence in the source: its line (from 1), the line that closes it, its language and the lines between."""

    line: int
    end: int
    language: str
    body: tuple[str, ...]

    @property
    def snippet(self) -> str:
        """What the fence shows when it holds exactly one snippet line: `path` or `path:section`; else empty."""
        lines = [line for line in self.body if line.strip(" >\t")]
        found = SNIPPET.match(lines[0]) if len(lines) == 1 else None
        if not found:
            return ""
        return f"{PurePosixPath(found['path'])}:{found['section']}" if found["section"] else found["path"]


def fences(text: str, file: str) -> list[Fence]:
    """Return every fence of a page in the order of its source.

    Args:
        text: the page as its author wrote it, front matter included.
        file: the page's path, for messages.

    Raises:
        GuideError: for a header that cannot be read, a missing language, or a fence that is never closed.
    """
    found: list[Fence] = []
    lines = text.split("\n")
    number = after_front_matter(lines)
    while number < len(lines):
        prefix, opening = _opening(lines[number])
        if opening is None:
            number += 1
            continue
        language = _language(opening, file, number + 1)
        end = _end(lines, number, len(prefix.expandtabs(4)), opening["fence"], file)
        found.append(Fence(number + 1, end + 1, language, tuple(lines[number + 1 : end])))
        number = end + 1
    return found


def check_slashes(text: str, file: str) -> None:
    """Raise unless every `/// name` block outside the fences is closed by as many slashes as opened it."""
    inside = {n for fence in fences(text, file) for n in range(fence.line, fence.end + 1)}
    open_: list[tuple[str, int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        found = None if number in inside else SLASHES.match(PREFIX.sub("", line, count=1))
        if not found:
            continue
        if found["header"]:
            open_.append((found["slashes"], number, found["header"].strip()))
        elif open_ and open_[-1][0] == found["slashes"]:
            open_.pop()
        else:
            raise GuideError(
                file, number, f"`{found['slashes']}` closes no block", "remove it, or open a block above it"
            )
    if open_:
        slashes, number, header = open_[-1]
        raise GuideError(file, number, f"the block `{header}` is never closed", f"end it with a line `{slashes}`")


def after_front_matter(lines: list[str]) -> int:
    """Return how many lines of a page its front matter takes."""
    if lines and lines[0].strip() == "---":
        for number, line in enumerate(lines[1:], 1):
            if line.strip() in ("---", "..."):
                return number + 1
    return 0


def _opening(line: str) -> tuple[str, re.Match[str] | None]:
    found = PREFIX.match(line)
    prefix = found[0] if found else ""
    opening = OPENING.match(line[len(prefix) :])
    if opening and opening["fence"][0] == "`" and "`" in opening["info"]:
        opening = None  # inline code on a line of its own
    return prefix, opening


def _language(opening: re.Match[str], file: str, line: int) -> str:
    header = RE_NESTED_FENCE_START.match(opening[0].rstrip())
    if header is None or header["unrecognized"] or opening["info"].count("{") != opening["info"].count("}"):
        cause = f"the header of this fence cannot be read: {opening[0].strip()!r}"
        raise GuideError(file, line, cause, 'write ```language {#id data-run="no" data-why="..."}')
    language = header["lang"] or ""
    if header["attrs"] is not None:
        pairs = get_attrs(header["attrs"])
        bare = [key for key, value in pairs if value is None]
        if bare:
            cause = f"the header of this fence has a word that means nothing: {bare[0]!r}"
            raise GuideError(file, line, cause, 'remove it, or write it as name="value"')
        language = language or next((value for key, value in pairs if key == "."), "")
        _check_attributes([(key, value or "") for key, value in pairs], language, file, line)
    elif header["options"]:
        words = [word for word in re.sub(r'=(["\']).*?\1', "=", header["options"]).split() if not word.endswith("=")]
        if words:
            cause = f"the header of this fence has a word that means nothing: {words[0]!r}"
            raise GuideError(file, line, cause, 'write ```language {#id data-run="no" data-why="..."}')
    if not language:
        raise GuideError(file, line, "this fence names no language", "write its language after the ticks")
    return language


def _check_attributes(pairs: list[tuple[str, str]], language: str, file: str, line: int) -> None:
    """Raise for an attribute that nothing reads, a second one of a name, and a value that HTML would read otherwise."""
    names = [name for name, _ in pairs]
    known = [".", "class", "id", "data-run", "data-why", *(["data-message"] if language == "textproto" else [])]
    for name, value in pairs:
        if name not in known:
            cause = f"the header of this fence has an attribute that nothing reads: {name!r}"
            raise GuideError(file, line, cause, f"remove it, or correct it ({near(name, known[1:])})")
        if name != "." and names.count(name) > 1:
            raise GuideError(file, line, f"the header of this fence has {name!r} twice", "remove one")
        if sign := next((sign for sign in '"<>' if sign in value), ""):
            # Superfences writes the value into the page as it stands.
            cause = f"the header of this fence has {sign!r} in the value of {name!r}"
            raise GuideError(file, line, cause, "write it without quotation marks and angle brackets")


def _end(lines: list[str], start: int, indent: int, fence: str, file: str) -> int:
    closing = re.compile(rf"{re.escape(fence)}[ \t]*$")
    for number in range(start + 1, len(lines)):
        line = lines[number].expandtabs(4)
        rest = line.lstrip(" >")
        if closing.match(rest):
            return number
        _, another = _opening(line)
        if (rest and len(line) - len(rest) < indent) or (another and another["fence"].startswith(fence)):
            break
    raise GuideError(file, start + 1, "this fence is never closed", f"end it with {fence} at the same indentation")
