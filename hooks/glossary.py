"""The terms of the glossary page: a heading of the third level each, with its definition below.

One whose heading ends in `{.unlinked}` is not marked on other pages: a word that is common, or has other meanings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from markdown.extensions.toc import slugify

from hooks.errors import ROOT, GuideError, read

PAGE = "docs/glossary.md"
ENTRY = re.compile(r"(?m)^###[ ]+(?P<term>.+?)[ ]*(?:\{:?(?P<attributes>[^}\n]*)\})?[ ]*$\n*(?P<text>(?:(?!#).+\n?)*)")
NO_ENTRY = re.compile(r"(?m)^#{3,}(?![ ]+\S)|^#{4,}")
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<address>[^)]+)\)")
# The link at the end of a definition says where it comes from.
SOURCE = re.compile(r"\s*\[[^\]]+\]\(https?://[^)]+\)\s*$")


@dataclass(frozen=True)
class Term:
    """One entry.

    Attributes:
        name: the term as its heading says it.
        id: the anchor of its heading.
        text: the definition in Markdown, without its source and without links.
        line: where its heading stands, from 1.
        linked: whether its first use on a page is marked there.
    """

    name: str
    id: str
    text: str
    line: int
    linked: bool = True

    def forms(self) -> list[str]:
        """Return the words that mean it, in lower case: the term and its plural."""
        name = " ".join(self.name.lower().split())
        if re.search(r"[^aeiou]y$", name):
            return [name, f"{name[:-1]}ies"]
        return [name] if name.endswith("s") else [name, name + ("es" if name.endswith(("ch", "x")) else "s")]


def parse(source: str) -> list[Term]:
    """Return the terms of a glossary page in order.

    Args:
        source: the page in Markdown.

    Raises:
        GuideError: a term has no definition or no source, or means what one before it means.
    """
    if wrong := NO_ENTRY.search(source):
        cause = "this heading is no term"
        raise GuideError(PAGE, source.count("\n", 0, wrong.start()) + 1, cause, "write a term as `### Word`")
    found: list[Term] = []
    lines: dict[str, int] = {}
    for entry in ENTRY.finditer(source):
        said, name = entry["text"].strip(), entry["term"]
        text = " ".join(SOURCE.sub("", said).split())
        line = source.count("\n", 0, entry.start()) + 1
        if not text:
            raise GuideError(PAGE, line, f"the term {name!r} has no definition", "write one below it, with its source")
        if not SOURCE.search(said):
            cure = "end its definition with a link to what says so: `[Title](https://...)`"
            raise GuideError(PAGE, line, f"the term {name!r} has no source", cure)
        attributes = (entry["attributes"] or "").split()
        if unread := [one for one in attributes if one != ".unlinked" and not one.startswith("#")]:
            cause = f"the term {name!r} has an attribute that nothing reads: {unread[0]}"
            raise GuideError(PAGE, line, cause, "write `{.unlinked}` or `{#anchor}`")
        ident = next((one[1:] for one in attributes if one.startswith("#")), slugify(name, "-"))
        term = Term(name, ident, LINK.sub(r"\g<text>", text), line, ".unlinked" not in attributes)
        for form in {f"#{term.id}", *term.forms()}:
            if lines.setdefault(form, line) != line:
                cause = f"the term {name!r} stands twice: it is also in line {lines[form]}"
                raise GuideError(PAGE, line, cause, "remove one, or give it another name")
        found.append(term)
    return found


def terms(root: Path = ROOT) -> list[Term]:
    """Return the terms of the project's glossary; none where it has no such page."""
    file = root / PAGE
    return list(_read(file, file.stat().st_mtime_ns)) if file.is_file() else []


@lru_cache(maxsize=2)
def _read(file: Path, _: int) -> tuple[Term, ...]:
    return tuple(parse(read(file)))
