"""What programs read of the built site: the list of pages, Markdown copies, the feed, and where pages name them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree

import pytest

from hooks import tree
from tests.site.pages import PAGES, name
from tests.site.serve import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

ATOM = "{http://www.w3.org/2005/Atom}"


def path(address: str) -> str:
    """Return what an address of the site names, relative to the home page."""
    assert urlsplit(address).path.startswith(FOLDER), address
    return urlsplit(address).path.removeprefix(FOLDER)


def test_the_list_names_the_copy_of_each_page_once(built_site: Path) -> None:
    listed = re.findall(r"(?m)^- \[.+?\]\((\S+?)\)(?:: \S|$)", (built_site / "llms.txt").read_text("utf8"))
    assert sorted(map(path, listed)) == sorted(f"{page}index.md" for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_names_its_copy_and_the_feed(page: str, built_site: Path, site: str) -> None:
    html = tree.read((built_site / page / "index.html").read_text("utf8"))
    (head,), (article,) = html.named(["head"]), html.named(["article"])
    links = [element.attributes for element in head.elements if element.name == "link"]
    named = [link["href"] for link in links if "alternate" in link["rel"].split()]
    assert [path(urljoin(site + page, href)) for href in named] == [f"{page}index.md", "feed.xml"]
    title = next(article.named(["h1"]))
    title.children = [child for child in title.children if isinstance(child, str) or "headerlink" not in child.classes]
    first = (built_site / page / "index.md").read_text("utf8").partition("\n")[0]
    assert re.sub(r"[`\\\s]", "", first) == "#" + re.sub(r"\s", "", title.text)


@pytest.mark.parametrize(
    ("page", "above"),
    [
        ("strategies/mirrored/", ["", "strategies/"]),  # in a group that has no page of its own
        ("strategies/", [""]),
        ("glossary/", [""]),
    ],
)
def test_the_trail_of_a_page_leads_through_pages(page: str, above: list[str], built_site: Path) -> None:
    html = (built_site / page / "index.html").read_text("utf8")
    found = re.search(r'<script type="application/ld\+json">(.+?)</script>', html, re.DOTALL)
    assert found
    trail = json.loads(found[1])["@graph"][1]["itemListElement"]
    assert [path(step["item"]) for step in trail] == [*above, page]


def test_the_feed_leads_to_pages(built_site: Path) -> None:
    entries = ElementTree.fromstring((built_site / "feed.xml").read_text("utf8")).findall(f"{ATOM}entry")
    assert entries
    for entry in entries:
        content = tree.read(entry.findtext(f"{ATOM}content") or "")
        leads = {path(link.attributes["href"]) for item in content.named(["li"]) for link in item.named(["a"])}
        assert leads
        assert leads <= set(PAGES)
