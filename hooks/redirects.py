"""Addresses that were published once and moved: `extra.redirects` of mkdocs.yml, from the old address to the new one.

A page that moved leaves a page at its old address that leads on, to the heading that was asked for. A heading that
was renamed leaves its old anchor beside the new one: `page/#old: page/#new`. One that went to another page leaves a
hidden link, which a script follows: `page/#old: other/#new`.
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
# ASCII: a script compares what a browser says.
ADDRESS = re.compile(r"(?:(?!\.)[\w.-]+/)*(?:#[\w.-]+)?", re.ASCII)
# What old anchors leave on a page.
OLD = re.compile(r'<span id="[^"]+"></span>|<a hidden id="(?P<anchor>[^"]+)" href="(?P<to>[^"]*)"></a>')


def check(redirects: Any, pages: set[str]) -> None:
    """Check the table.

    Args:
        redirects: the table.
        pages: the addresses of all pages, below the site's root.

    Raises:
        GuideError: it is no table, an address is none, the old one is still a page, the new one is none, or an anchor
            is one of a page that is gone.
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
        elif anchor and page not in pages:
            cause = f"the redirect of {old} starts from {page}, which is no page"
            moved = str(redirects.get(page, "")).partition("#")[0]
            cure = (
                f"write {moved}#{anchor} for {old}" if page in redirects else "redirect that page: its headings follow"
            )
        elif not anchor and page in pages:
            cause, cure = f"the redirect of {old} hides a page of that address", "remove it"
        if cause:
            raise settings.error(old, cause, cure)


def anchors(content: str, url: str, redirects: Mapping[str, str]) -> str:
    """Return a page's HTML with its old anchors.

    Args:
        content: the page's HTML.
        url: the page's address.
        redirects: the table.

    Raises:
        GuideError: a redirect leads to an anchor of this page that is not there, or starts from one that is.
    """
    links = ""
    for old, new in redirects.items():
        (page, _, anchor), (target, _, name) = old.partition("#"), new.partition("#")
        if not anchor or url not in (page, target):
            continue
        found = re.search(rf'<\w+[^>]*\sid="{re.escape(name)}"', content)
        if target == url and not found and (name or page == url):
            cause = f"the redirect of {old} leads to the anchor {name!r}, which is not there"
            raise settings.error(old, cause, "name an anchor of today")
        span, link = f'<span id="{anchor}"></span>', f'<a hidden id="{anchor}" '
        if page != url or span in content or link in content:  # a preview hands in again what no edit changed
            continue
        if f' id="{anchor}"' in content:
            cause = f"the redirect of {old} starts from an anchor that the page still has"
            raise settings.error(old, cause, "remove the redirect, or rename that anchor")
        if found and target == url:
            content = f"{content[: found.start()]}{span}{content[found.start() :]}"
        else:
            links += f'{link}href="{get_relative_url(new, url)}"></a>'
    return f'{content}{links}<script src="{get_relative_url(SCRIPT, url)}"></script>' if links else content


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
