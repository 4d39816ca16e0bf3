"""What `nav` names and leaves out, and names of pages that are addresses."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation, Section

from hooks import errors, nav, settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(errors, "ROOT", tmp_path)
    return tmp_path


def test_what_nav_names_and_what_it_leaves_out(root: Path) -> None:
    text = "nav:\n  - a.md\n  - X: b/c.md\n  - Y: [a.md]\n  - Z: []\n  - https://x.org\n  - dot.png\n"
    (root / settings.FILE).write_text(text)
    page: Any = SimpleNamespace(file=SimpleNamespace(src_uri="a.md"), is_homepage=True)
    picture: Any = SimpleNamespace(file=SimpleNamespace(src_uri="dot.png"))
    items = [page, Link("X", "b/c.md"), Section("Y", [page]), Section("Z", []), Link("W", "https://x.org/")]
    files: Any = SimpleNamespace(
        documentation_pages=lambda: [SimpleNamespace(src_uri=name, dest_uri=name) for name in ("a.md", "b/d.md")]
    )
    said = [str(wrong) for wrong in nav.wrong_nav(Navigation(items, [page, page, picture]), files, "docs")]
    assert [one.partition(". Fix")[0] for one in said] == [
        "mkdocs.yml:3: nav names b/c.md, and there is no page docs/b/c.md",
        "mkdocs.yml:7: nav names dot.png, which is no page of the site",
        "mkdocs.yml:5: the section 'Z' of nav has no pages",
        "mkdocs.yml:4: nav names a.md twice",
        "docs/b/d.md: this page is not in nav",
    ]


@pytest.mark.parametrize("address", ["http://[", "//["])
def test_an_address_that_cannot_be_read(root: Path, address: str) -> None:
    (root / settings.FILE).write_text(f"nav:\n  - a.md\n  - X:\n    - Y: '{address}'\n")
    nav.check_addresses(["a.md", {"X": [{"Y": "https://x.org/"}, None]}])
    nav.check_addresses(None)
    with pytest.raises(errors.GuideError, match=rf"mkdocs\.yml:4: nav names {re.escape(address)}, an address that"):
        nav.check_addresses(["a.md", {"X": [{"Y": address}]}])


def test_two_pages_of_one_address(root: Path) -> None:
    files: Any = [File(name, "docs", "site", True) for name in ("how.md", "how/index.md", "other.md")]
    pages: Any = [SimpleNamespace(file=file, is_homepage=False) for file in files]
    [wrong] = nav.wrong_nav(Navigation(pages, pages), Files(files), "docs")
    assert str(wrong).startswith("docs/how/index.md: docs/how.md and docs/how/index.md have one address")


@pytest.mark.parametrize(
    ("path", "right"),
    [
        *[("a/b-c.2.md", True), ("A.md", False), ("a_b.md", False), ("a b.md", False)],
        *[("a.ipynb", True), ("a.markdown", False), ("a.mdown", False), ("a.mkdn", False), ("a.mkd", False)],
    ],
)
def test_the_name_of_a_page_is_an_address(path: str, right: bool) -> None:
    assert (nav.wrong_address(f"docs/{path}", path) is None) == right
