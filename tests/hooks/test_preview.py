"""What a preview looks at: the sources, and nothing that an editor keeps beside them."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from hooks.preview import Preview

if TYPE_CHECKING:
    from pathlib import Path


def preview(root: Path) -> Preview:
    server = SimpleNamespace(builder=lambda: None)
    return Preview(root, [root / "docs", root / "mkdocs.yml"], server)  # type: ignore[arg-type]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page")
    (tmp_path / "mkdocs.yml").write_text("")
    return tmp_path


def test_what_an_editor_keeps_beside_a_page_is_no_source(root: Path) -> None:
    (root / "docs" / ".#page.md").symlink_to("user@host.123")  # Emacs: it leads nowhere
    (root / "docs" / ".page.md.swp").write_text("")
    (root / "docs" / "page.md~").write_text("")
    assert set(preview(root).seen) == {root / "docs" / "page.md", root / "mkdocs.yml"}


def test_a_file_that_goes_while_the_sources_are_looked_at_is_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[tuple[str, list[str], list[str]]] = [(str(root / "docs"), [], ["page.md", "gone.md"])]
    monkeypatch.setattr(os, "walk", lambda top: listed if top == root / "docs" else [])
    assert set(preview(root).seen) == {root / "docs" / "page.md", root / "mkdocs.yml"}


def test_a_page_that_goes_lets_the_whole_site_be_built(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = root / "docs" / "page.md"
    looking, built = preview(root), []
    looking.whole = lambda: built.append(gone.exists())
    page = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(gone)))
    monkeypatch.setattr(looking, "_pages", lambda: [page])
    gone.unlink()
    looking.rebuild()
    assert built == [False]
