"""No link in the world breaks: what was published is still there, or leads on, and what will be published is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks import redirects
from tests.site import addresses
from tests.site.pages import DOCS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def published(built_site: Path) -> set[str]:
    return addresses.published(built_site)


def test_what_was_published_is_there(published: set[str]) -> None:
    gone = sorted(addresses.listed() - published)
    assert gone == [], f"{len(gone)} addresses are gone; add them to extra.redirects of mkdocs.yml: {gone[:20]}"


def test_what_is_published_is_listed(published: set[str]) -> None:
    new = sorted(published - addresses.listed())
    how = "make site && .venv/bin/python -m tests.site.addresses site"
    assert new == [], f"{len(new)} addresses are not listed; run `{how}` and commit the list: {new[:20]}"


def test_the_address_of_every_section_leads_somewhere(built_site: Path) -> None:
    sections = {page.relative_to(DOCS).parts[0] for page in DOCS.rglob("*.md") if page.parent != DOCS}
    assert sections
    assert [name for name in sections if not (built_site / name / "index.html").is_file()] == []


def test_the_list_is_in_order() -> None:
    lines = addresses.LIST.read_text("utf-8").splitlines()
    assert lines == sorted(set(lines))
    assert len(lines) > 500


def test_pages_headings_and_questions_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text("<article><h1 id='home'>H</h1></article>")
    (tmp_path / "a" / "index.html").write_text(
        "<main><nav id='nav'></nav><article><h2 id='two'>2</h2><p id='note'></p><fieldset id='quiz-x'></fieldset>"
        "<span id='old'></span><a hidden id='gone' href='../#home'></a><a id='x' href='../'></a></article></main>"
    )
    assert addresses.published(tmp_path) == {"", "#home", "a/", "a/#two", "a/#quiz-x", "a/#old", "a/#gone"}


def test_a_folder_without_a_site_adds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["addresses", str(tmp_path)])
    with pytest.raises(SystemExit):
        addresses.main()
    assert "holds no built site: run `make site`" in capsys.readouterr().err


@pytest.mark.parametrize("new", ["b/new/", "b/new/#two"])
def test_a_page_that_moved_still_has_its_headings(tmp_path: Path, new: str) -> None:
    (tmp_path / "b" / "new").mkdir(parents=True)
    (tmp_path / "b" / "new" / "index.html").write_text("<article><h2 id='two'>2</h2></article>")
    for path, text in redirects.stubs({"b/old/": new}, "https://x.org/").items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    assert addresses.published(tmp_path) == {"b/new/", "b/new/#two", "b/old/", "b/old/#two"}
