"""The contents list of a page whose headings the build makes, such as the errors by type and the sources by kind."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from mkdocs.structure.toc import AnchorLink

from hooks import tree
from hooks.errors import GuideError, line_of

if TYPE_CHECKING:
    from mkdocs.structure.toc import TableOfContents

LEVEL = 2


def complete(toc: TableOfContents, content: str, file: str) -> None:
    """Add the headings of the second level that are missing, in the order of the page.

    Args:
        toc: the contents that MkDocs read from the Markdown: the title, and what is below it.
        content: the finished HTML of the page.
        file: its source, for messages.

    Raises:
        GuideError: MkDocs read no title, or another heading before it: it knows none in raw HTML.
    """
    if not toc.items or toc.items[0].level != 1:
        cause = "the page does not begin with a title in Markdown, and the headings that the build makes go below that"
        raise GuideError(file, line_of(file, "<h1"), cause, "write the title as `# Title`")
    known = {link.id: link for link in toc.items[0].children}
    found = [one for one in tree.read(content).named({"h2"}) if "id" in one.attributes]
    toc.items[0].children[:] = [
        known.get(ident := one.attributes["id"]) or AnchorLink(html.escape(" ".join(one.text.split())), ident, LEVEL)
        for one in found
    ]
