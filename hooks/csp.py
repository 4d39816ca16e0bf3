"""A content security policy for a page: its inline scripts by their hashes, everything else from the site itself."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

CHARSET = '<meta charset="utf-8">'
_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.DOTALL | re.IGNORECASE)
_TYPE = re.compile(r"""\btype\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
# What a browser executes; other types are data, which no policy concerns.
_EXECUTED = {"", "module", "text/javascript", "application/javascript"}

_DIRECTIVES = {
    # Firefox fetches the page that `rel="next"` names ahead of time, for which no other directive stands.
    "default-src": "'self'",
    "frame-src": "'none'",
    "media-src": "'none'",
    "object-src": "'none'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'self'",
    "form-action": "'self'",
}


def hashes(html: str) -> list[str]:
    """Return the policy's sources for the inline scripts of a page, each once, in order of first appearance."""
    found: dict[str, None] = {}
    for script in _SCRIPT.finditer(html):
        kind = _TYPE.search(script["attributes"])
        if (kind[1].lower() if kind else "") in _EXECUTED and not re.search(r"\bsrc\s*=", script["attributes"]):
            digest = b64encode(sha256(script["code"].encode()).digest()).decode()
            found[f"'sha256-{digest}'"] = None
    return list(found)


def policy(html: str) -> str:
    """Return the policy for a page.

    Source: https://www.w3.org/TR/CSP3/
    """
    scripts = " ".join(["'self'", *hashes(html)])
    return "; ".join(f"{name} {value}" for name, value in {**_DIRECTIVES, "script-src": scripts}.items())


def add_policy(html: str) -> str:
    """Return the page with its encoding and its policy first in its head, before anything that the policy governs.

    The encoding must stand in the first 1024 bytes: https://html.spec.whatwg.org/multipage/semantics.html#charset.

    Instant navigation keeps the policy of the page that was loaded first and adds those of later pages. So pages are to
    have the same inline scripts; tests/site/test_browser.py checks that they do.
    """
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(html)}">'
    html = html.replace(CHARSET, "", 1)
    return re.sub(r"<head>", lambda head: f"{head[0]}{CHARSET}{meta}", html, count=1)
