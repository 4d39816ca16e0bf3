"""The page of sources: every outside link once, named and sorted by kind, with the pages that have it."""

from __future__ import annotations

from typing import Any

import pytest

from hooks import sources
from hooks.errors import GuideError
from hooks.sources import Source

KINDS: list[dict[str, Any]] = [
    {"title": "Papers", "match": ["https://arxiv.org/", "https://doi.org/"]},
    {"title": "API pages", "match": [r"https://.*/api_docs/"]},
    {"title": "Others"},
]
PAGES = [
    ("a/", "A <page>", '<p><a href="https://arxiv.org/abs/1">the rule</a> <a href="../b/">inside</a></p>'),
    ("b/", "B", '<a href="https://arxiv.org/abs/1/">Goyal et al. 2017</a> <a href="https://own.org/x">own</a>'),
    ("c/", "C", '<a href="https://tf.org/api_docs/Strategy#scope">tf.org</a> <a href="https://d.org/m">A &amp; B</a>'),
]


def test_each_address_once_with_its_pages() -> None:
    found = sources.collect(PAGES, ["https://own.org/"])
    assert found == sources.collect(PAGES, [r"https://.*\.?own\.org/"]), "each is a pattern, as `check` says"
    assert [source.url for source in found] == [
        "https://arxiv.org/abs/1",
        "https://d.org/m",
        "https://tf.org/api_docs/Strategy#scope",
    ]
    assert found[0].pages == {"a/": "A <page>", "b/": "B"}


def test_the_name_is_a_citation_then_a_title_then_the_address() -> None:
    names = [source.name for source in sources.collect(PAGES)]
    assert names == ["Goyal et al. 2017", "A & B", "x", "scope"]
    assert Source("https://x.org/a+b", ["from words", "Title"]).name == "Title"
    assert Source("https://x.org/a+b").name == "a b"
    for piece in ("does not listen", "Its code", "143"):
        assert Source("https://x.org/predict_util.cc", [piece]).name == "predict_util.cc"
    assert Source("https://x.org/a", ["tf.function", "not"]).name == "tf.function"


def test_kinds_are_in_order_and_the_last_takes_the_rest() -> None:
    groups = sources.kinds(sources.collect(PAGES), KINDS)
    assert list(groups) == ["Papers", "API pages", "Others"]
    assert [source.url for source in groups["Others"]] == ["https://d.org/m", "https://own.org/x"]


def test_each_beginning_is_a_pattern_of_its_own() -> None:
    """What `check` lets pass is used: flags, which may stand only at the start of a pattern, and alternatives."""
    listed: list[dict[str, Any]] = [
        {"title": "A", "match": ["https://arxiv.org/", "(?i)https://D.org/", "no|https://own"]},
        {"title": "B"},
    ]
    sources.check({"kinds": listed})
    groups = sources.kinds(sources.collect(PAGES), listed)
    assert [len(groups["A"]), [source.address for source in groups["B"]]] == [3, ["tf.org/api_docs/Strategy#scope"]]


def test_the_list_is_escaped_and_links_pages() -> None:
    html = sources.fill(f"<p>{sources.MARK}</p>", PAGES, KINDS, [])
    assert '<h2 id="papers">Papers</h2>' in html
    assert '<a href="/__root__/a/">A &lt;page&gt;</a>, <a href="/__root__/b/">B</a>' in html
    assert "<code>arxiv.org/abs/1</code>" in html


@pytest.mark.parametrize(
    ("listed", "says"),
    [
        ("yes", "no table of `own` and `kinds`"),
        ({"own": [], "kind": []}, "no table of `own` and `kinds`"),
        ({"own": "https://a.org/"}, "'https://a.org/' is no list"),
        ({"kinds": {"title": "A"}}, "`kinds` is no list"),
        ({"kinds": [{"match": ["https://a.org/"]}]}, "has no title"),
        ({"kinds": [{"title": "A", "match": "https://a.org/"}]}, "is no list"),
        ({"kinds": [{"title": "A", "match": ["https://(a"]}]}, "is no pattern"),
        ({"kinds": [{"title": "A", "match": ["https://a.org/"]}]}, "the last kind has `match`"),
        ({"kinds": [*KINDS, {"title": "More", "match": ["https://a.org/"]}]}, "the last kind has `match`"),
    ],
)
def test_a_wrong_list_of_kinds_is_an_error(listed: Any, says: str) -> None:
    with pytest.raises(GuideError, match=says):
        sources.check(listed)
    sources.check({"own": ["https://own.org/"], "kinds": KINDS})


def test_only_a_marked_page_is_filled() -> None:
    assert sources.fill("<p>text</p>", PAGES, KINDS, []) == "<p>text</p>"
