"""The tree of a page: what the build writes, and what a writer may put between."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from hooks import tree

PIECES = [
    "<p>a &amp; b<br>c <img src=x.png alt='a \"dot\"'>d</p>",
    '<p title="a > b &lt; c">x</p><!-- <b>not</b> --><i>y</i>',
    "<script>if (a < b) document.write('<p>')</script><p>z</p>",
    "<style>p > a { content: '</p>' }</style><p>z</p>",
    "<div><p>left open</div></b><p>after",
    "<svg viewBox='0 0 1 1'><path d='M0 0'/><text>t</text></svg>",
    "1 < 2 and <3",
    "",
]


@pytest.mark.parametrize("html", PIECES)
def test_it_reads_and_writes_as_beautiful_soup_does(html: str) -> None:
    page, soup = tree.read(html), BeautifulSoup(html, "html.parser")
    assert page.text == soup.get_text()
    assert [one.name for one in page.walk()] == [one.name for one in soup.find_all()]
    assert [[up.name for up in one.parents()] for one in page.walk()] == [
        [up.name for up in one.parents][:-1] for one in soup.find_all()
    ]
    for one, other in zip(page.walk(), soup.find_all(), strict=True):
        assert one.classes == (other.get("class") or [])
        assert {name: value for name, value in one.attributes.items() if name != "class"} == {
            name: value for name, value in other.attrs.items() if name != "class"
        }


def test_it_writes_what_it_read() -> None:
    html = '<p class="a">1 &lt; 2 <b title="&quot;x&quot; &amp; y">c</b><br/></p>'
    assert tree.read(html).inner == html
    assert next(tree.read(html).of_class("a")).name == "p"
    assert [one.name for one in tree.read(html).named({"b", "br"})] == ["b", "br"]


def test_an_item_ends_where_the_next_begins() -> None:
    page = tree.read('<ul><li>one<li class="a b" hidden>two</ul>after')
    assert page.inner == '<ul><li>one</li><li class="a b" hidden="">two</li></ul>after'
