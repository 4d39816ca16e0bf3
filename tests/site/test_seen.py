"""What was seen on a page is kept where it was clean, and seen again where the page or the file has changed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from hooks import cache, results
from tests.anew import anew
from tests.site import seen
from tests.site.survey import WIDTHS, Look

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOME = "http://127.0.0.1:9/"
Seen = dict[tuple[str, int], Look]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a site of two pages."""
    for name in ("CI", "FRESH"):
        monkeypatch.delenv(name, raising=False)
    for page in ("good", "wrong"):
        (tmp_path / "site" / page).mkdir(parents=True)
        (tmp_path / "site" / page / "index.html").write_text(page)
    return tmp_path / "site"


@pytest.fixture
def looked(site: Path) -> Callable[[], list[str]]:
    """Return what looks at both pages and returns those that a browser opened; what it keeps lies beside the site.

    The pages of this session may be looked at and kept meanwhile.
    """
    own, kept = anew(seen), anew(cache)
    kept.FOLDER, own._cached = site.parent / "cache", kept.cached

    def look() -> list[str]:
        own.READS = results.reads()  # what a session asks when it begins
        opened: list[str] = []

        def run(command: list[str], *, text: str = "", **_: Any) -> str:
            if not text:
                return f"version of {command[0]}"
            opened.extend(json.loads(text)[2])
            looks = {path: asdict(Look(["it broke"] * ("wrong" in path), [], [path])) for path in opened}
            return json.dumps({path: dict.fromkeys(WIDTHS, look) for path, look in looks.items()})

        found: Seen = own.look_at(run, "browser", HOME, site, ["good/", "wrong/"])
        assert {key: look.problems for key, look in found.items()} == {
            (path, width): ["it broke"] * ("wrong" in path) for path in ("good/", "wrong/") for width in WIDTHS
        }
        return opened

    return look


def test_only_a_clean_page_is_kept(looked: Callable[[], list[str]]) -> None:
    assert looked() == ["good/", "wrong/"]
    assert looked() == ["wrong/"]


def test_a_page_that_changes_is_looked_at_again(site: Path, looked: Callable[[], list[str]]) -> None:
    looked()
    (site / "good" / "index.html").write_text("another")
    assert looked() == ["good/", "wrong/"]


def test_a_page_is_looked_at_again_where_a_program_on_it_changes(site: Path, looked: Callable[[], list[str]]) -> None:
    (site / "good" / "index.html").write_text('<a href="../programs/x.py" class="program-read">Read</a>')
    (site / "programs").mkdir()
    for text in ("a", "b"):
        (site / "programs" / "x.py.txt").write_text(text)
        assert looked() == ["good/", "wrong/"]
        assert looked() == ["wrong/"]


@pytest.mark.parametrize("name", ["CI", "FRESH"])
def test_in_ci_every_page_is_looked_at(
    name: str, looked: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked()
    monkeypatch.setenv(name, "true")
    assert looked() == ["good/", "wrong/"]


def test_a_file_that_was_cut_short_is_looked_at_again(site: Path, looked: Callable[[], list[str]]) -> None:
    looked()
    (file,) = (site.parent / "cache" / "looks").iterdir()
    file.write_text(file.read_text("utf8")[:-9], "utf8")
    assert looked() == ["good/", "wrong/"]
    assert looked() == ["wrong/"]
