"""The security policy of a page."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

import pytest

from hooks import csp

PAGE = "<html><head><title>t</title></head><body>{}</body></html>"


def source(code: str) -> str:
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


def test_the_policy_comes_first_and_allows_the_pages_own_scripts() -> None:
    html = csp.add_policy(PAGE.format("<script>a()</script><script>b()</script><script>a()</script>"))
    assert html.startswith('<html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy"')
    assert html.count("charset") == 1
    assert f"script-src 'self' {source('a()')} {source('b()')}\"" in html


@pytest.mark.parametrize(
    "script",
    ['<script src="a.js"></script>', '<script type="application/json">{"a": 1}</script>', "<p>script</p>"],
)
def test_what_is_not_executed_inline_has_no_hash(script: str) -> None:
    assert csp.hashes(PAGE.format(script)) == []


@pytest.mark.parametrize("opening", ["<script>", '<script type="module">', "<SCRIPT type=text/javascript>"])
def test_what_is_executed_has_one(opening: str) -> None:
    assert csp.hashes(PAGE.format(f"{opening}é()\n</script>")) == [source("é()\n")]


def test_nothing_is_allowed_that_is_not_named() -> None:
    policy = csp.policy(PAGE.format(""))
    assert policy.startswith("default-src 'self'; frame-src 'none'; media-src 'none'; object-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
