"""What every page must have, or search results, previews of links and the tab of the browser show something else."""

from __future__ import annotations

import html
import math
import re
from typing import TYPE_CHECKING, Any

import yaml

from hooks import fences, glossary, yaml_lines
from hooks.errors import GuideError, near
from hooks.plain import is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.structure.pages import Page

TITLE = re.compile(r"<h1[ >]")
WRITTEN = re.compile(r"[ >\t]*(?:#[ ]|=+[ ]*$|<h1[ >])")
START = re.compile(r"---[ \t]*\n")
END = re.compile(r"(?m)^(?:---|\.\.\.)[ \t]*$")
CURE = "write one line with a single # before it"
HIDDEN = ("footer", "navigation", "path", "toc")


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _number(value: Any) -> bool:
    return is_number(value) and 0 <= value < math.inf


def _terms(value: Any) -> bool:
    forms = {form for term in glossary.terms() for form in term.forms()}
    return isinstance(value, list) and all(isinstance(word, str) and word.lower() in forms for word in value)


def _parts(value: Any) -> bool:
    return isinstance(value, list) and all(part in HIDDEN for part in value)


# Each key that something reads, whether its value will do, and how to write it. `hooks.aliases` looks at the aliases.
KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "description": (_text, "write a sentence; put it into quotes if it is read as something else"),
    "other-meaning": (_terms, "write a list of terms of the glossary that mean something else on this page"),
    "hide": (_parts, f"write a list of {', '.join(HIDDEN)}"),
    "search": (lambda value: isinstance(value, dict), "write `search: {aliases: [MWMS, multi worker]}`"),
}
SEARCH: dict[str, tuple[Callable[[Any], bool], str]] = {
    "aliases": (lambda _: True, ""),
    "boost": (_number, "write a number, such as 0.3"),
    "exclude": (lambda value: isinstance(value, bool), "write `true`, or remove it"),
}


def check(source: str, file: str) -> None:
    """Raise unless a page begins with front matter that can be read, says what it must and nothing that means nothing.

    Args:
        source: the page as its author wrote it: MkDocs takes front matter that it cannot read for text.
        file: the page's path, for messages.

    Raises:
        GuideError: with the line of the key.
    """
    text, meta = _read(source, file)
    _known(meta, KEYS, (), text, file)  # first: a misspelt key is not a missing one
    if "description" not in meta:
        cure = "write `description: ...` between two lines of --- at its top"
        raise GuideError(file, 1, "the page has no description", cure)
    _known(meta.get("search", {}), SEARCH, ("search",), text, file)


def other_meanings(source: str, file: str) -> frozenset[str]:
    """Return the terms, in lower case, that mean something else on this page than in the glossary: `other-meaning`."""
    return frozenset(word.lower() for word in _read(source, file)[1].get("other-meaning", []))


def line_of(source: str, file: str, *path: object) -> int:
    """Return the line of a page to which a path leads in its front matter, as `yaml_lines.line_at` does."""
    return yaml_lines.line_at(_read(source, file)[0], *path)


def title_of(page: Page) -> str:
    """Return the title of a page as text: MkDocs has it as HTML."""
    return html.unescape(str(page.title))


def check_title(content: str, source: str, file: str) -> None:
    """Raise unless a page has one title.

    Args:
        content: the page as Python-Markdown rendered it.
        source: the page as its author wrote it.
        file: the page's path, for messages.
    """
    titles = len(TITLE.findall(content))
    if titles != 1:
        raise GuideError(file, _last_of(titles, source, file), f"the page has {titles or 'no'} titles", CURE)


def _last_of(titles: int, source: str, file: str) -> int:
    """Return the line of the last of several titles; 1 where it is not sure which that is."""
    lines = source.split("\n")
    closed = {n for fence in fences.fences(source, file) for n in range(fence.line, fence.end + 1)}
    first = fences.after_front_matter(lines) + 1
    found = [n for n, line in enumerate(lines, 1) if n >= first and n not in closed and WRITTEN.match(line)]
    return found[-1] if len(found) == titles > 1 else 1


def _read(source: str, file: str) -> tuple[str, dict[str, Any]]:
    """Return the front matter with the line above it, so that lines can be counted, and what it says."""
    start = START.match(source)
    if not start:
        return "", {}
    end = END.search(source, start.end())
    if not end:
        raise GuideError(file, 1, "the front matter never ends", "write a line of --- below it")
    text = source[: end.start()]
    try:
        meta = yaml.safe_load(text)
        found, cut = yaml_lines.twice(text), yaml_lines.cut(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise GuideError(
            file, line, f"the front matter is no YAML: {error.problem}", "put the text into quotes"
        ) from None
    except (yaml.YAMLError, ValueError) as error:  # a character that YAML forbids, or a day that no month has
        raise GuideError(file, 1, f"the front matter is no YAML: {error}", "put the text into quotes") from None
    if found:
        raise GuideError(file, found[1], f"the front matter has the key {found[0]!r} twice", "remove one")
    if cut:
        cause = "the front matter holds half of a character, as `\\ud83d` makes it"
        raise GuideError(file, cut, cause, "write the character itself")
    return text, meta if isinstance(meta, dict) else {}


def _known(
    said: dict[str, Any],
    keys: dict[str, tuple[Callable[[Any], bool], str]],
    above: tuple[str, ...],
    text: str,
    file: str,
) -> None:
    """Raise for a key that nothing reads, and for a value that will not do."""
    for key, value in said.items():
        line, shown = yaml_lines.line_at(text, *above, key), ": ".join([*above, str(key)])
        if key not in keys:
            cure = f"remove it, or correct it ({near(str(key), keys)})"
            raise GuideError(file, line, f"the front matter of this guide has no `{shown}`", cure)
        right, cure = keys[key]
        if not right(value):
            raise GuideError(file, line, f"`{shown}: {value}` will not do in the front matter", cure)
