"""The contents list of a page whose headings the build makes."""

from __future__ import annotations

from mkdocs.structure.toc import AnchorLink, TableOfContents

from hooks import contents


def test_headings_that_the_build_made_stand_among_those_that_were_written() -> None:
    title, written = AnchorLink("Errors", "errors", 1), AnchorLink("Where to go next", "next", 2)
    title.children.append(written)
    toc = TableOfContents([title])
    html = '<h1 id="errors">E</h1><h2 id="a">A &lt;type&gt;</h2><h2>none</h2><h2 id="next">Where</h2>'
    contents.complete(toc, html)
    assert [(link.title, link.id, link.level) for link in title.children[:1]] == [("A &lt;type&gt;", "a", 2)]
    assert title.children[1:] == [written]
