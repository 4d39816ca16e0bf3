"""The sources of the site: every address outside it that a page links, by kind, with the pages that link it.

A page shows them where it has `<!-- guide:sources -->`. The kinds are in mkdocs.yml, `extra.sources`: a list of titles,
each with patterns of the beginnings of its addresses; one without patterns takes what is left.
"""

from __future__ import annotations

import html as htmllib
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from hooks import settings, tree
from hooks.cache import remember
from hooks.markup import tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MARK = "<!-- guide:sources -->"
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# What a reader can look up: a title, or an identifier; not the piece of a sentence that a link happens to stand on.
NAME = re.compile(r"(?!(?:Its|Their|This)\b)[A-Z]|.*\w[._(]\w|.*[a-z][A-Z]")


@dataclass
class Source:
    """One address: what pages call it, and which pages do."""

    url: str
    names: list[str] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call it: a text with a year, else one that is like a name, else the end of its address."""
        plain = urlsplit(self.url)
        part = unquote(plain.fragment or plain.path.rstrip("/").rpartition("/")[2] or plain.netloc).replace("+", " ")

        def worth(name: str) -> tuple[bool, int, str]:
            return bool(YEAR.search(name)), -len(name), name

        return max((name for name in self.names if YEAR.search(name) or NAME.match(name)), key=worth, default=part)

    @property
    def address(self) -> str:
        """The address as readers know it: without scheme and `www`."""
        return re.sub(r"^https?://(?:www\.)?|/$", "", unquote(self.url))


def check(listed: Any) -> None:
    """Check what mkdocs.yml says of the kinds.

    Raises:
        GuideError: it is no table of `own` and `kinds`, a kind has no title, a beginning is no pattern, or the last
            kind does not take what is left.
    """
    wrong = next(_wrong(listed), None)
    if wrong:
        cure = (
            "write `own: [addresses]` and `kinds:`, a list of `{title: ..., match: [patterns]}`, the last without match"
        )
        raise settings.error(wrong[0], f"`extra.sources` cannot be used: {wrong[1]}", cure)


def _wrong(listed: Any) -> Iterator[tuple[Any, str]]:
    """Yield what is wrong: a text to find it by, and why."""
    if not isinstance(listed, dict) or set(listed) - {"own", "kinds"}:
        yield "sources", "it is no table of `own` and `kinds`"
        return
    kinds = listed.get("kinds", [])
    if not isinstance(kinds, list):
        yield "kinds", "`kinds` is no list"
        return
    patterns = [("own", listed.get("own", []))]
    for kind in kinds:
        if not isinstance(kind, dict) or not isinstance(kind.get("title"), str) or set(kind) - {"title", "match"}:
            yield "kinds", f"the kind {kind!r} has no title, or more than title and match"
        else:
            patterns.append((kind["title"], kind.get("match", [])))
    for name, found in patterns:
        if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
            yield name, f"{found!r} is no list of patterns"
            continue
        for one in found:
            try:
                re.compile(one)
            except re.error as error:
                yield one, f"{one!r} is no pattern: {error}"
    if kinds and patterns[-1][1]:
        yield patterns[-1][0], "the last kind has `match`, so what no kind takes would be missing from the page"


def _links(html: str) -> list[tuple[str, str]]:
    """Return the links of a page that lead outside, with their texts."""
    links = ((link.attributes.get("href", ""), link) for link in tree.read(html).named({"a"}))
    return [(href, " ".join(link.text.split())) for href, link in links if href.startswith(("https://", "http://"))]


def collect(pages: Iterable[tuple[str, str, str]], own: Sequence[str] = ()) -> list[Source]:
    """Return what the pages cite, in the order of addresses.

    Args:
        pages: address below the site's root, title and HTML of each page.
        own: patterns of the beginnings of addresses that are the project's own or lead to tools.
    """
    found: dict[str, Source] = {}
    for url, title, html in pages:
        for href, name in remember("sources", [html], partial(_links, html)):
            if any(re.match(one, href) for one in own):
                continue
            source = found.setdefault(_key(href), Source(href))
            source.pages[url] = title
            # A question's proof is named by its host, which says little.
            if name and name not in source.names and name != urlsplit(href).netloc.removeprefix("www."):
                source.names.append(name)
    return sorted(found.values(), key=lambda source: source.url.lower())


def kinds(sources: Iterable[Source], listed: Sequence[Mapping[str, Any]]) -> dict[str, list[Source]]:
    """Return the sources by kind, in the order of the list, each kind by name."""
    groups: dict[str, list[Source]] = {kind["title"]: [] for kind in listed}
    for source in sources:
        for kind in listed:
            if any(re.match(one, source.url) for one in kind.get("match") or [""]):
                groups[kind["title"]].append(source)
                break
    return {title: sorted(group, key=lambda one: one.name.lower()) for title, group in groups.items() if group}


def fill(
    content: str, pages: Iterable[tuple[str, str, str]], listed: Sequence[Mapping[str, Any]], own: Sequence[str]
) -> str:
    """Return the HTML of a page with the sources in place of their mark.

    Args:
        content: the page.
        pages: address below the site's root, title and HTML, for every page of the site.
        listed: the kinds.
        own: patterns of the beginnings of addresses that are no sources.
    """
    if MARK not in content:
        return content
    return content.replace(MARK, listing(kinds(collect(pages, own), listed)))


def listing(groups: Mapping[str, list[Source]]) -> str:
    """Return the kinds as HTML: a heading and a list for each."""
    parts = []
    for title, group in groups.items():
        ident = re.sub(r"\W+", "-", title.lower()).strip("-")
        parts.append(tag("h2", htmllib.escape(title), id=ident))
        parts.append(tag("ul", "".join(_item(source) for source in group), class_="source-list"))
    return tag("div", "".join(parts), data_search_exclude="")


def _item(source: Source) -> str:
    link = tag("a", htmllib.escape(source.name), href=source.url)
    pages = ", ".join(
        tag("a", htmllib.escape(title), href=f"/__root__/{url}") for url, title in sorted(source.pages.items())
    )
    where = tag("code", htmllib.escape(source.address))
    return tag("li", f"{link} {where} {tag('span', f'in {pages}', class_='guide-stamp')}")


def _key(href: str) -> str:
    return href.rstrip("/").lower()
