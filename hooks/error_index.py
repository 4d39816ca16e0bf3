"""The index of errors: every exact error text on the site, with a link to its cause and fix.

A page shows it where it has `<!-- guide:errors -->`. Where it has `<!-- guide:errors heads -->`, it shows that of one
section, each text with its cause and fix as they stand on their page.
"""

from __future__ import annotations

import html
import re
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from hooks.errors import GuideError, line_of
from hooks.markup import card, tag
from hooks.reported import thread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hooks.used import Use, Used

MARK = re.compile(r"<!-- guide:errors(?: (?P<section>[\w-]+))? -->")
# An entry as `hooks.errorblock` and `hooks.reported` build it: the text, then cause and fix, then its stamp; a table in
# it has another.
ENTRY = re.compile(
    r'<div class="error-entry" id="(?P<id>[^"]+)">.*?</pre></div>(?P<cure>.*?)'
    r'<p class="guide-stamp">(?:Provoked by|Reported in) ',
    re.DOTALL,
)
LINK = re.compile(r'\b(?P<attribute>href|src)="(?P<address>[^"]*)"')


def fill(content: str, pages: Sequence[tuple[str, str, Used]], file: str, rendered: Mapping[str, str]) -> str:
    """Return the HTML of a page with the index in place of its mark.

    Args:
        content: the page.
        pages: address below the site's root, title, and what the page uses, for every page of the site.
        file: the source of the page, to name it where the mark is wrong.
        rendered: for an address of `pages` the HTML of that page, from which causes and cures are taken.

    Raises:
        GuideError: the mark names a section in which no page shows an error.
    """

    def listed(mark: re.Match[str]) -> str:
        section = mark["section"]
        chosen = [page for page in pages if not section or page[0].startswith(f"{section}/")]
        if section and not any(_errors(used) for _, _, used in chosen):
            cause = f"no page of a section '{section}' shows an error, so `{mark[0]}` would list nothing"
            known = sorted({url.partition("/")[0] for url, _, used in pages if _errors(used) and "/" in url})
            raise GuideError(file, line_of(file, mark[0]), cause, f"name one that does: {', '.join(known)}")
        return index(chosen, {url: cures(rendered[url], url) for url, _, _ in chosen} if section else {})

    return MARK.sub(listed, content)


def index(pages: Sequence[tuple[str, str, Used]], cured: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> str:
    """Return the index as HTML: a heading for each type of error, its texts in order.

    Args:
        pages: as for `fill`.
        cured: for an address, what `cures` found on that page.
    """
    entries = [(_type(use), use.text.strip(), url, title, use) for url, title, used in pages for use in _errors(used)]
    entries.sort(key=lambda entry: (entry[0].lower(), entry[1].lower(), entry[2], entry[4].id))
    parts = []
    for kind, group in groupby(entries, key=lambda entry: entry[0]):
        parts.append(f'<h2 id="{html.escape(kind.lower())}">{html.escape(kind)}</h2>')
        parts += [_entry(url, title, use, cured.get(url, {}).get(use.id, "")) for _, _, url, title, use in group]
    return f'<div class="error-index">{"".join(parts)}</div>'


def cures(content: str, url: str) -> dict[str, str]:
    """Return cause and fix of each error of a page by its id, as HTML whose links and images are found from any page.

    Args:
        content: the HTML of the page.
        url: its address below the site's root.
    """

    def from_root(match: re.Match[str]) -> str:
        address = html.unescape(match["address"])
        if urlsplit(address).scheme or address.startswith("/"):
            return match[0]
        return f'{match["attribute"]}="{html.escape("/__root__" + urljoin("/" + url, address))}"'

    return {entry["id"]: LINK.sub(from_root, entry["cure"]) for entry in ENTRY.finditer(content)}


def _errors(used: Used) -> list[Use]:
    """Return the errors that programs provoke, then those that others reported."""
    return [*used.errors, *used.reported]


def _type(use: Use) -> str:
    """Return `ValueError` for `ValueError: text`; errors that have no type of Python's are messages."""
    name = use.text.strip().partition(":")[0].rpartition(".")[2]
    return name if name.isidentifier() and name[0].isupper() else "Messages"


def _entry(url: str, title: str, use: Use, cure: str) -> str:
    text = html.escape(use.text.strip("\n"), quote=False)
    shown = tag("div", tag("pre", tag("code", text + "\n")), class_="guide-error highlight language-text")
    words = f"Explained on: {html.escape(title)}" if cure else f"Cause and fix: {html.escape(title)}"
    page = tag("a", words, href=f"/__root__/{url}#{use.id}")
    run = f"provoked by {tag('a', html.escape(use.program), href=card(use.program))}"
    proof = run if use.program else f"reported in {thread(use.name)}, provoked by no program here"
    return shown + cure + tag("p", f"{page} · {proof}", class_="guide-stamp")
