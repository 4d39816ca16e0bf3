"""The contents list of a page whose headings the build makes, such as the errors by type and the sources by kind."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from mkdocs.structure.toc import AnchorLink

from hooks import tree

if TYPE_CHECKING:
    from mkdocs.structure.toc import TableOfContents

LEVEL = 2


def complete(toc: TableOfContents, content: str) -> None:
    """Add the headings of the second level that are missing, in the order of the page.

    Args:
        toc: the contents that MkDocs read from the Markdown: the title, and what is below it.
        content: the finished HTML of the page.
    """
    known = {link.id: link for link in toc.items[0].children}
    found = [one for one in tree.read(content).named({"h2"}) if "id" in one.attributes]
    toc.items[0].children[:] = [
        known.get(ident := one.attributes["id"]) or AnchorLink(html.escape(" ".join(one.text.split())), ident, LEVEL)
        for one in found
    ]
