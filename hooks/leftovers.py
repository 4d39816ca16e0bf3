"""What Python-Markdown shows, without a word, though it could not read it or the theme does not know it."""

from __future__ import annotations

import re

from hooks import shown
from hooks.errors import GuideError, line_in, near
from hooks.languages import LANGUAGES

IN_PROSE = {
    "a fence that was not read as a fence": re.compile(r"```|~~~"),
    "a `///` block that was not read as a block": re.compile(r"(?m)^\s*/{3,}(?=\s|$)"),
    "a snippet that was not expanded": re.compile(r"-8<-"),
    "a value that was not filled in": re.compile(r"\{\{.*?\}\}|\{\s*[\w/]+\.py:"),
    "a comment that never ends": re.compile(r"<!--"),
    "a key of a question that was not read": re.compile(r"\{\s*(?:claim|source)\s*:"),
    "attributes that were not read": re.compile(r"\{:?\s*(?:[#.][\w-]+|data-[\w-]+=|id=)[^}]*\}"),
    "an admonition or tab that was not read": re.compile(r"(?m)^(?:!!!|\?\?\?\+?|===)\s+[\"\w]"),
    "a table that was not read": re.compile(r"(?m)^\|.*\|[ \t]*$"),
    "a list that needs an empty line before it, after the line": re.compile(
        r"(?m)^[^\n]*\n[ \t]*(?:[*+-]|\d+\.)[ \t]+(?=\S|\Z)"
    ),
    "a footnote without its text": re.compile(r"\[\^[^\]]+\]"),
    "a link to a reference that is not defined": re.compile(r"(?<![\w\]])\[[^\[\]\n]+\]\[[^\[\]\n]*\]"),
}
# Source: https://squidfunk.github.io/mkdocs-material/reference/admonitions/#supported-types
TYPES = (
    "abstract", "bug", "danger", "example", "failure", "info", "note", "question", "quote", "success", "tip", "warning",
)  # fmt: skip
TYPE = re.compile(r"(?m)^[ \t>]*(?:!!!|\?\?\?\+?|[ ]{4}type:)[ ]*(?P<name>[\w-]+)")
# What is filled in when all pages are known, each alone on its line.
MARK = re.compile(r"<!--\s*guide\s*:.*")
FILLED = re.compile(r"<!-- guide:(?:errors(?: [\w-]+)?|flashcards|self-check|sources|totals|verification) -->")
# A fence whose header could not be read becomes inline code that begins with the header, over several lines.
HEADER = r"\.?(?:{})".format("|".join([*LANGUAGES, "py", "python3", "shell", "javascript", "yml", "{[^\n]*"]))
IN_CODE = {
    "a fence header that could not be read, so the fence became inline code": re.compile(
        rf"\A{HEADER}(?:[ \t][^\n]*)?\n"
    ),
}


def check(html: str, source: str, file: str) -> None:
    """Raise for the first thing on a page that was written as markup and came out as something else.

    Args:
        html: the page as Python-Markdown rendered it.
        source: the page as its author wrote it.
        file: the page's path, for messages.

    Raises:
        GuideError: with the line of the source where it stands.
    """
    for line in html.split("\n"):
        if (mark := MARK.search(line)) and not FILLED.fullmatch(line):
            cure = "write `<!-- guide:errors -->`, `totals` or the like, as CONTRIBUTING.md says, alone on its line"
            raise GuideError(file, _line(source, mark[0]), f"a mark that nothing fills in: {mark[0]!r}", cure)
    seen = shown.read(html)
    for texts, patterns in ((seen.prose, IN_PROSE), (seen.inline, IN_CODE)):
        for text in texts:
            for what, pattern in patterns.items():
                if found := pattern.search(text):
                    start = text[found.start() :].strip().split("\n")[0][:80]
                    cure = "correct it, or write it as inline code"
                    raise GuideError(file, _line(source, start), f"{what}: {start!r}", cure)
    for address in seen.unreadable:
        raise GuideError(file, _line(source, address), f"a link that leads nowhere: {address!r}", "write an address")
    for found in TYPE.finditer(source):
        name = found["name"].lower()
        if name not in TYPES and re.search(rf'<(?:details|div) class="(?:admonition )?{name}[ "]', html):
            cause = f"the theme knows no admonition of type {name!r}"
            raise GuideError(file, _line(source, found[0].strip()), cause, f"correct it ({near(name, TYPES)})")


def _line(source: str, text: str) -> int:
    """Return the line that holds the text, or its longest word where Markdown changed the rest."""
    return line_in(source, text, max(text.split() or [""], key=len))
