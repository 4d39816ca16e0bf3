"""Addresses that were published once and moved: `extra.redirects` of mkdocs.yml, from the old address to the new one.

A page that moved leaves a page at its old address that leads on, to the heading that was asked for. A heading that
was renamed leaves its old anchor beside the new one: `old/page/#old: old/page/#new`.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from mkdocs.utils import get_relative_url

from hooks import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT = "assets/moved.js"
ADDRESS = re.compile(r"(?:(?!\.)[\w.-]+/)*(?:#[\w.-]+)?")


def check(redirects: Any, pages: set[str]) -> None:
    """Check the table.

    Args:
        redirects: the table.
        pages: the addresses of all pages, below the site's root.

    Raises:
        GuideError: it is no table, an address is none, the old one is still a page, the new one is none, or an anchor
            leaves its page.
    """
    if not isinstance(redirects, dict):
        cause = f"`extra.redirects` is no table: {redirects!r}"
        raise settings.error("redirects", cause, "write a line `old/page/: new/page/` for each")
    for old, new in redirects.items():
        if not old or not all(isinstance(one, str) and ADDRESS.fullmatch(one) for one in (old, new)):
            cause = f"the redirect {old!r}: {new!r} is no pair of addresses"
            raise settings.error(old, cause, "write `old/page/: new/page/`")
        page, _, anchor = old.partition("#")
        target = new.partition("#")[0]
        cause = cure = ""
        if target not in pages:
            cause, cure = f"the redirect of {old} leads to {target}, which is no page", "name the page of today"
        elif anchor and page != target:
            cause = f"the redirect of {old} leads to another page; an anchor can only move within its page"
            moved = redirects.get(page)
            cure = f"write {moved}#{anchor} for {old}" if moved else "keep a heading there that says where it went"
        elif not anchor and page in pages:
            cause, cure = f"the redirect of {old} hides a page of that address", "remove it"
        if cause:
            raise settings.error(old, cause, cure)


def anchors(content: str, url: str, redirects: Mapping[str, str]) -> str:
    """Return a page's HTML with old anchors before the elements that have the new ones; those that it has stay alone.

    Raises:
        GuideError: the page has no such new anchor.
    """
    for old, new in redirects.items():
        page, _, anchor = old.partition("#")
        mark = f'<span id="{anchor}"></span>'
        if not anchor or page != url or mark in content:  # a preview hands in again what no edit changed
            continue
        name = new.partition("#")[2]
        found = re.search(rf'<\w+[^>]*\sid="{re.escape(name)}"', content)
        if not found:
            cause = f"the redirect of {old} leads to the anchor {name!r}, which is not there"
            raise settings.error(old, cause, "name an anchor of today")
        content = f"{content[: found.start()]}{mark}{content[found.start() :]}"
    return content


def stubs(redirects: Mapping[str, str], site: str) -> dict[str, str]:
    """Return the pages that lead on: path in the site and HTML.

    Args:
        redirects: the table.
        site: the site's address.
    """
    return {
        f"{old}index.html": _stub(get_relative_url(new, old), site + new, get_relative_url(SCRIPT, old))
        for old, new in redirects.items()
        if "#" not in old
    }


def _stub(relative: str, address: str, script: str) -> str:
    target = html.escape(relative)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Moved</title>'
        f'<link rel="canonical" href="{html.escape(address)}"><meta name="robots" content="noindex">'
        f'<meta http-equiv="refresh" content="0; url={target}"></head>'
        f'<body><p>This page has moved: <a href="{target}">go there</a>.</p>'
        f'<script src="{script}"></script></body></html>\n'
    )
