"""What programs read of the built site: the list of pages, Markdown copies, the feed, and where pages name them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

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
    html = BeautifulSoup((built_site / page / "index.html").read_text("utf8"), "html.parser")
    named = [str(link["href"]) for link in html.select("head > link") if "alternate" in str(link["rel"])]
    assert [path(urljoin(site + page, href)) for href in named] == [f"{page}index.md", "feed.xml"]
    title = html.select_one("article h1")
    assert title
    for mark in title.select(".headerlink"):
        mark.decompose()
    first = (built_site / page / "index.md").read_text("utf8").partition("\n")[0]
    assert re.sub(r"[`\\\s]", "", first) == "#" + re.sub(r"\s", "", title.get_text())


def test_the_feed_leads_to_pages(built_site: Path) -> None:
    entries = ElementTree.fromstring((built_site / "feed.xml").read_text("utf8")).findall(f"{ATOM}entry")
    assert entries
    for entry in entries:
        pages = BeautifulSoup(entry.findtext(f"{ATOM}content") or "", "html.parser").select("li a[href]")
        assert pages
        leads = {path(str(link["href"])) for link in pages}
        assert leads <= set(PAGES)
