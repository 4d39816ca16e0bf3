"""The builders that may follow MkDocs build the same sources: ProperDocs the same site, Zensical the same pages.

Zensical 0.0.73 runs the Markdown extensions of mkdocs.yml and ignores its hooks and unknown plugins. What the pages
lose by that is listed here, and in CONTRIBUTING.md with the reasons; everything else is compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup, Comment

from tests.site.builds import contents
from tests.site.pages import LEADS_ON, PAGES, PLACEHOLDER, name

if TYPE_CHECKING:
    from pathlib import Path

    from bs4 import Tag

ARCHIVE = "tensorflow-at-scale.zip"
GENERATOR = re.compile(rb'<meta name="generator" content="[^"]*">')
# Pages with parts that are made from all pages, when all are known, and the marks that stand there for them.
FROM_ALL = {
    "": ["guide:totals"],
    "deployment/errors/": ["guide:errors deployment"],
    "errors/": ["guide:errors"],
    "how-this-is-verified/": ["guide:verification"],
    "self-check/": ["guide:self-check", "guide:flashcards"],
    "sources/": ["guide:sources"],
}
# A hook writes the notebooks that lie beside pages; Zensical's theme makes no edit link from a template.
LEFT_OUT = ".guide-notebook, .headerlink, .page-edit, script, style"
# A program is downloaded from the site, or its card is on another page: without hooks it is read in the repository.
PROGRAM = re.compile(r"^(?:\.\./)*programs/|^[^#]+#program-|/blob/main/snippets/[^#]*$")


def test_properdocs_builds_the_same_site(built_site: Path, properdocs: Path) -> None:
    ours, theirs = contents(built_site), contents(properdocs)
    # It packs the pages that are compared one by one, with the name of the generator in each.
    assert len(ours.pop(ARCHIVE))
    assert len(theirs.pop(ARCHIVE))
    assert ours.keys() == theirs.keys()
    different = [path for path in ours if GENERATOR.sub(b"", ours[path]) != GENERATOR.sub(b"", theirs[path])]
    assert different == []


def article(site: Path, page: str) -> Tag:
    """Return the article of a page without what the site adds to every page."""
    found = BeautifulSoup((site / page / "index.html").read_text("utf8"), "html.parser").find("article")
    assert found is not None
    for extra in found.select(LEFT_OUT):
        extra.decompose()
    return found


def text(of: Tag) -> str:
    """Return the text of an element without white space: lines break elsewhere."""
    return re.sub(r"\s+", "", of.get_text())


def links(of: Tag) -> list[str]:
    """Return where an article links to; all links to programs count as one, and a lab as its page."""
    found = [re.sub(r"\.ipynb$|/$", "", str(link["href"])) for link in of.select("a[href]")]
    return ["program" if PROGRAM.search(link) else link for link in found]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in FROM_ALL and "labs/" not in page], ids=name)
def test_zensical_builds_the_same_page(page: str, built_site: Path, zensical: Path) -> None:
    ours, theirs = article(built_site, page), article(zensical, page)
    assert [code.get_text() for code in ours.select("pre")] == [code.get_text() for code in theirs.select("pre")]
    assert [link for link in links(theirs) if PLACEHOLDER.search(link)] == []
    assert links(ours) == links(theirs)
    assert [text(one) for one in ours.select(".quiz")] == [text(one) for one in theirs.select(".quiz")]
    assert [one["id"] for one in ours.select(".quiz")] == [one["id"] for one in theirs.select(".quiz")]
    assert len(ours.select("svg")) == len(theirs.select("svg"))
    assert text(ours) == text(theirs)


@pytest.mark.parametrize("page", sorted(FROM_ALL), ids=name)
def test_zensical_leaves_out_only_what_needs_all_pages(page: str, built_site: Path, zensical: Path) -> None:
    ours, theirs = article(built_site, page), article(zensical, page)
    marks = [comment for comment in theirs.find_all(string=lambda of: isinstance(of, Comment)) if "guide:" in comment]
    assert [mark.strip() for mark in marks] == FROM_ALL[page]
    for mark in marks:
        mark.replace_with("\0")
    around = text(theirs).split("\0")
    assert re.fullmatch(".+".join(map(re.escape, around)), text(ours)), "what stands at the marks alone"
    assert [link for link in links(theirs) if link not in links(ours)] == []


def test_zensical_leaves_out_only_what_hooks_and_plugins_make(built_site: Path, zensical: Path) -> None:
    pages = {path for path in contents(built_site) if path.endswith("index.html")}
    missing = pages - contents(zensical).keys()
    leads_on = {path for path in pages if LEADS_ON in (built_site / path).read_text("utf8")}
    assert missing == {path for path in pages if path.startswith("labs/")} | leads_on
