"""The contents list of a page whose headings the build makes."""

from __future__ import annotations

import pytest
from mkdocs.structure.toc import AnchorLink, TableOfContents

from hooks import contents
from hooks.errors import GuideError


def test_headings_that_the_build_made_stand_among_those_that_were_written() -> None:
    title, written = AnchorLink("Errors", "errors", 1), AnchorLink("Where to go next", "next", 2)
    title.children.append(written)
    toc = TableOfContents([title])
    html = '<h1 id="errors">E</h1><h2 id="a">A &lt;type&gt;</h2><h2>none</h2><h2 id="next">Where</h2>'
    contents.complete(toc, html, "docs/a.md")
    assert [(link.title, link.id, link.level) for link in title.children[:1]] == [("A &lt;type&gt;", "a", 2)]
    assert title.children[1:] == [written]


@pytest.mark.parametrize("written", [[], [AnchorLink("Where to go next", "next", 2)]])
def test_a_title_that_mkdocs_does_not_know_is_an_error(written: list[AnchorLink]) -> None:
    with pytest.raises(GuideError, match=r"docs/a\.md: the page does not begin with a title in Markdown.*`# Title`"):
        contents.complete(TableOfContents(written), '<h1>Errors</h1><h2 id="a">A</h2>', "docs/a.md")
