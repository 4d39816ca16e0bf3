"""The builders that may follow MkDocs build the same sources: ProperDocs the same site, Zensical the same pages.

Zensical 0.0.73 runs the Markdown extensions of mkdocs.yml and ignores its hooks and unknown plugins. What the pages
lose by that is listed here, and in CONTRIBUTING.md with the reasons; everything else is compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from hooks import cache, tree
from tests.site.builds import contents
from tests.site.pages import LEADS_ON, PAGES, PLACEHOLDER, name

if TYPE_CHECKING:
    from pathlib import Path

    from hooks.tree import Element

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
LEFT_OUT = {"guide-notebook", "headerlink", "page-edit"}
# What stands there for parts that are made from all pages. A tree holds no comments: a sign stands for each.
MARK = re.compile(r"<!-- (guide:.*?) -->")
SIGN = "\N{WHITE SQUARE}"
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


@pytest.mark.usefixtures("built_site")  # which draws those of the project
def test_a_copy_keeps_pictures_under_the_same_names(properdocs: Path) -> None:
    """What is kept of them depends on no folder, so a copy can start with them."""
    copy = properdocs.parent / "successor" / "project" / ".cache"
    for kind in ("figures", "social"):
        drawn = {file.name for file in (copy / kind).iterdir()}
        assert drawn
        assert drawn - {file.name for file in (cache.FOLDER / kind).iterdir()} == set()


def article(site: Path, page: str, sign: str = "") -> Element:
    """Return the article of a page without what the site adds to every page, with a sign for each mark."""
    (found,) = tree.read(MARK.sub(sign, html(site, page))).named(["article"])
    for extra in [element for element in found.walk() if LEFT_OUT & set(element.classes)]:
        assert extra.parent
        extra.parent.children.remove(extra)
    return found


def html(site: Path, page: str) -> str:
    """Return a page as it is."""
    return (site / page / "index.html").read_text("utf8")


def text(of: Element) -> str:
    """Return the text of an element without white space: lines break elsewhere."""
    return re.sub(r"\s+", "", of.text)


def links(of: Element) -> list[str]:
    """Return where an article links to; all links to programs count as one, and a lab as its page.

    A hook puts in the hidden links, which are for addresses of before (`extra.redirects`).
    """
    seen = [link.attributes for link in of.named(["a"]) if "hidden" not in link.attributes]
    named = [link["href"] for link in seen if "href" in link]
    found = [re.sub(r"\.ipynb$|/$", "", link) for link in named]
    return ["program" if PROGRAM.search(link) else link for link in found]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in FROM_ALL and "labs/" not in page], ids=name)
def test_zensical_builds_the_same_page(page: str, built_site: Path, zensical: Path) -> None:
    ours, theirs = article(built_site, page), article(zensical, page)
    assert [code.text for code in ours.named(["pre"])] == [code.text for code in theirs.named(["pre"])]
    assert [link for link in links(theirs) if PLACEHOLDER.search(link)] == []
    assert links(ours) == links(theirs)
    assert [text(one) for one in ours.of_class("quiz")] == [text(one) for one in theirs.of_class("quiz")]
    ids = [[one.attributes["id"] for one in side.of_class("quiz")] for side in (ours, theirs)]
    assert ids[0] == ids[1]
    assert len(list(ours.named(["svg"]))) == len(list(theirs.named(["svg"])))
    assert text(ours) == text(theirs)


@pytest.mark.parametrize("page", sorted(FROM_ALL), ids=name)
def test_zensical_leaves_out_only_what_needs_all_pages(page: str, built_site: Path, zensical: Path) -> None:
    ours, theirs = article(built_site, page), article(zensical, page, SIGN)
    assert MARK.findall(html(zensical, page)) == FROM_ALL[page]
    around = text(theirs).split(SIGN)
    assert len(around) == len(FROM_ALL[page]) + 1, "each stands in the article"
    assert re.fullmatch(".+".join(map(re.escape, around)), text(ours)), "what stands at the marks alone"
    assert [link for link in links(theirs) if link not in links(ours)] == []


def test_zensical_leaves_out_only_what_hooks_and_plugins_make(built_site: Path, zensical: Path) -> None:
    pages = {path for path in contents(built_site) if path.endswith("index.html")}
    missing = pages - contents(zensical).keys()
    leads_on = {path for path in pages if LEADS_ON in (built_site / path).read_text("utf8")}
    assert missing == {path for path in pages if path.startswith("labs/")} | leads_on
