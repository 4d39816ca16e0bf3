"""The prose of a page as Markdown that Jupyter understands: containers flattened, links absolute."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from hooks import links, value
from hooks.fences import SLASHES
from hooks.reference import Missing

if TYPE_CHECKING:
    from collections.abc import Callable

BOX = re.compile(r'(?P<indent>\s*)(?:!!!|\?\?\?\+?|===)\s*\+?\s*(?P<kind>[\w-]+)?[^"]*(?:"(?P<title>.*)")?\s*$')
BOX_START = re.compile(r"\s*(?:!!!|\?\?\?\+?|===)\s")
OPTION = re.compile(r"\s{4,}[a-z_]+:\s")
ATTRIBUTES = re.compile(r"[ \t]*\{:?\s*[#.][^}\n]*\}")
# Code in a sentence, which stays as it is, or a comment, which goes: what begins first holds the other.
KEPT = re.compile(r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`))|<!--.*?-->", re.DOTALL)
# Characters that no page holds stand for what was taken out; a block of a page has a line of its own (`notebooks`).
CODE = ("\ue000", "\ue001")
BLOCK = ("\ue002", "\ue003")
ABBREVIATION = re.compile(r"(?m)^\*\[[^\]]+\]:.*$")
LINK = re.compile(r"(\]\(\s*<?)(?P<target>[^)\s>]+)")
TAG = re.compile(r"<[A-Za-z][^<>]*>")
IN_TAG = re.compile(r"(\s(?:href|src)=(?P<quote>[\"']))(?P<target>.*?)(?=(?P=quote))")
DEFINITION = re.compile(r"(?m)^(\s*\[[^\]^]+\]:\s+)(?P<target>\S+)")
# What a notebook makes anew, or only the site can show.
DROPPED = {"output"}
ON_PAGE = {
    "quiz": "Question",
    "program": "Whole program",
    "figure": "Figure",
    "table": "Table",
    "survey": "Table",
    "widget": "Drawing to move",
}


def to_jupyter(text: str, *, base: str, page: str, real: Callable[[str], str]) -> str:
    """Return a page without its fences as plain Markdown.

    Args:
        text: the page as its author wrote it, with a line for each fence.
        base: the address of the folder that the page's source links from.
        page: the address of the page, for what only the site can show.
        real: returns HTML of the page with links in place of placeholders, `publish.links`.
    """
    codes: list[str] = []

    def keep(found: re.Match[str]) -> str:
        if not found["code"]:
            return ""
        codes.append(found["code"])
        return f"{CODE[0]}{len(codes) - 1}{CODE[1]}"

    text = "\n".join(_flatten(KEPT.sub(keep, text).split("\n"), page))
    text = ABBREVIATION.sub("", text)
    text = with_values(text)
    text = ATTRIBUTES.sub("", text)
    text = re.sub(r"(?m)^\s*</?div[^>]*>\s*$", "", text)
    # A link in HTML starts from the page: MkDocs leaves it as it is.
    text = _in_tags(text, lambda target: urljoin(page, target), real)
    text = with_links(text, base=base, page=page)
    text = re.sub(rf"{CODE[0]}(\d+){CODE[1]}", lambda found: codes[int(found[1])], text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def with_values(text: str) -> str:
    """Return `text` with every pair of braces replaced by what the record holds now."""
    return re.sub(value.PATTERN, _value, text)


def with_links(text: str, *, base: str, page: str) -> str:
    """Return Markdown whose links hold everywhere, also those in HTML, as `absolute` makes them."""
    for pattern in (LINK, DEFINITION):
        text = pattern.sub(lambda found: found[1] + absolute(found["target"], base, page), text)
    return _in_tags(text, lambda target: absolute(target, base, page))


def absolute(target: str, base: str, page: str) -> str:
    """Return the address on the site of a link as a page writes it.

    Args:
        target: the link.
        base: the address of the folder that the page's source links from.
        page: the address of the page, to which a bare anchor or query leads.
    """
    if not links.readable(target):
        return target  # the checks name one that a reader can follow; a definition that nothing uses shows none
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return target
    return urljoin(base, below(target)) if parts.path else page + target


def below(target: str) -> str:
    """Return where a link to a source leads on the site, both from the source's folder: `a/b.md?c#d` is `a/b/?c#d`."""
    parts = urlsplit(target)
    path = re.sub(r"(^|/)index\.(?:md|ipynb)$", r"\1", parts.path)
    return parts._replace(path=re.sub(r"\.(?:md|ipynb)$", "/", path)).geturl()


def _in_tags(text: str, address: Callable[[str], str], real: Callable[[str], str] = str) -> str:
    """Return Markdown with another address for each link in its HTML; `real` sees each tag first."""

    def moved(found: re.Match[str]) -> str:
        # One that cannot be read the checks of the site name with its place.
        return found[1] + (address(found["target"]) if links.readable(found["target"]) else found["target"])

    return TAG.sub(lambda tag: IN_TAG.sub(moved, real(tag[0])), text)


def _value(found: re.Match[str]) -> str:
    try:
        return value.resolve(found)[3]
    except Missing:
        return "(not recorded)"  # only in a preview: a build stops for it


def _flatten(lines: list[str], page: str) -> list[str]:
    """Take the containers away: `///` blocks, admonitions and tabs become their title and their content."""
    out: list[str] = []
    blocks: list[tuple[str, str]] = []  # slashes and name of each open block
    boxes: list[int] = []  # the indentation of each open admonition or tab
    in_options = False
    for line in lines:
        depth = len(line) - len(line.lstrip())
        while boxes and line.strip() and depth <= boxes[-1]:
            boxes.pop()
        bare = line[4 * len(boxes) :] if boxes and not line[: 4 * len(boxes)].strip() else line
        slashes = SLASHES.match(bare.strip())
        if slashes:
            in_options = bool(slashes["header"])
            if not slashes["header"]:
                if blocks:
                    blocks.pop()
                continue
            name, _, argument = (part.strip() for part in slashes["header"].partition("|"))
            blocks.append((slashes["slashes"], name))
            out += ["", _headline(name, argument, page), ""]
        elif in_options and OPTION.match(bare):
            continue
        elif any(name in DROPPED or name == "quiz" for _, name in blocks):
            in_options = False
        elif BOX_START.match(bare) and (box := BOX.match(bare)):
            boxes.append(4 * len(boxes) + len(box["indent"]))
            title = box["title"] or (box["kind"] or "").capitalize()
            out += ["", f"**{title}**" if title else "", ""]
        else:
            in_options = False
            out.append(bare)
    return out


def _headline(name: str, argument: str, page: str) -> str:
    if name in DROPPED:
        return ""
    if name in ON_PAGE:
        return f"*{ON_PAGE[name]}: [{argument if name in ('quiz', 'program') else 'see the page'}]({page})*"
    if name == "error":
        return f"*An error, [as the page shows it]({page}):*"
    return f"**{argument}**" if argument else ""
