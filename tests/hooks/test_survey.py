"""Surveys: a table from a file that a script wrote, with links, and never from other versions than the locked ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from bs4 import BeautifulSoup

from hooks import records, survey
from hooks.errors import GuideError
from hooks.reference import Missing, Stale
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path


def content(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "made_by": "python -m script",
        "source": "owner/name",
        "commit": "0123456789",
        "made": "2026-11-21",
        "versions": {"keras": records.locked_versions()["keras"]},
        "columns": ["notebook", "error", "page"],
        "rows": [
            [{"text": "a/b", "href": "https://example.org/a"}, "`ValueError: <x>`", {"text": "Page", "href": "a/b/"}]
        ],
    }
    return made | changes


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "found.json").write_text(json.dumps(content()))
    read = survey.read
    monkeypatch.setattr(survey, "read", lambda path: read(path, tmp_path))
    return tmp_path


def test_the_table_has_links_code_and_a_stamp(root: Path) -> None:
    html = house.render("/// survey | found.json\nWhat was found.\n///\n", page="docs/page.md")[0]
    soup = BeautifulSoup(html, "html.parser")
    assert soup.select_one("table caption").get_text(strip=True) == "What was found."  # type: ignore[union-attr]
    assert [link["href"] for link in soup.select("tbody a")] == ["https://example.org/a", "/__root__/a/b/"]
    assert soup.select_one("td code").text == "ValueError: <x>"  # type: ignore[union-attr]
    stamp = soup.select_one(".guide-stamp")
    assert stamp is not None
    assert stamp.get_text() == f"owner/name 0123456 · Keras {records.locked_versions()['keras']} · 2026-11-21"


def test_a_day_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content(made="2026-02-30")))
    with pytest.raises(Missing, match=r"a\.json was made on '2026-02-30', which is no day"):
        survey.read("a.json", tmp_path)


@pytest.mark.parametrize("text", ["{}", "[1]", "no json", '{"made_by": 1}'])
def test_a_file_that_is_no_survey(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(Missing, match=r"a\.json is no survey: "):
        survey.read("a.json", tmp_path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"versions": ["keras"]}, "'versions' is not a table of text"),
        ({"source": 1}, "'source' is not text"),
        ({"columns": "one"}, "'columns' is not a list of text"),
        ({"rows": [[]]}, "'rows' is not a list of rows of cells"),
        ({"rows": [[{"text": "no address"}]]}, "'rows' is not a list of rows of cells"),
    ],
)
def test_a_value_that_the_table_could_not_show(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content(**changes)))
    with pytest.raises(Missing, match=rf"a\.json is no survey: {says}"):
        survey.read("a.json", tmp_path)


def test_a_survey_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'"\xe9"')
    with pytest.raises(Missing, match="it is no JSON in UTF-8"):
        survey.read("a.json", tmp_path)


def test_no_file(root: Path) -> None:
    with pytest.raises(GuideError, match=r"docs/page.md:1: there is no file docs/other.json"):
        house.render("/// survey | other.json\nCaption.\n///\n", page="docs/page.md")


@pytest.mark.parametrize("name", ["../found.json", "/tmp/found.json", "a/found.json"])
def test_a_file_that_is_not_beside_the_page(root: Path, name: str) -> None:
    (root / "found.json").write_text(json.dumps(content()))
    with pytest.raises(GuideError, match=rf"docs/page.md:1: the survey `{name}` does not lie beside the page"):
        house.render(f"/// survey | {name}\nCaption.\n///\n", page="docs/page.md")


def test_other_versions_than_the_locked_ones(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content(versions={"keras": "0.1"})))
    with pytest.raises(Stale, match=r"a\.json was made with keras 0\.1, locked is"):
        survey.read("a.json", tmp_path)
