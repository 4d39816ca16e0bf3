"""What a builder without hooks gets: links that need no other page, and the reasons under blocks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from markdown import Markdown
from markdown.preprocessors import Preprocessor

from hooks import place, successor

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = {"name": "a/b", "branch": "main"}


@pytest.fixture(autouse=True)
def nowhere() -> Iterator[None]:
    """Name no page, and none afterwards."""
    with place.rendering("(a page)", ""):
        yield


def told(md: Markdown, path: str) -> None:
    """Tell extensions of `md` the page as Zensical does."""
    teller = Preprocessor(md)
    teller.page = SimpleNamespace(path=path)  # type: ignore[attr-defined]
    teller.config = {"extra": {"repository": REPOSITORY}}  # type: ignore[attr-defined]
    md.preprocessors.register(teller, "rendering_context", 0)


@pytest.mark.parametrize(
    ("placeholder", "link"),
    [
        ("/__source__/snippets/x/y.py#L3", "https://github.com/a/b/blob/main/snippets/x/y.py#L3"),
        ("/__repository__/", "https://github.com/a/b"),
        ("/__repository__/issues/new?template=x.yml", "https://github.com/a/b/issues/new?template=x.yml"),
        ("/__root__/programs/x/y.py", "https://github.com/a/b/blob/main/snippets/x/y.py"),
        ("/__program__/x/y.py", "https://github.com/a/b/blob/main/snippets/x/y.py"),
        ("/__root__/assets/widgets/w.js", "../assets/widgets/w.js"),
        ("/__root__/", ".."),
    ],
)
def test_a_placeholder_becomes_a_link(placeholder: str, link: str) -> None:
    made = successor.links(f'<a href="{placeholder}">x</a>', path="heads/page.md", repository=REPOSITORY)
    assert made == f'<a href="{link}">x</a>'


def test_a_page_at_the_top_links_from_where_it_lies() -> None:
    made = successor.links('<img src="/__root__/assets/a.png">', path="page.md", repository=REPOSITORY)
    assert made == '<img src="assets/a.png">'


def test_only_a_builder_that_tells_the_page_gets_links_at_once() -> None:
    md, text = Markdown(), '<a href="/__root__/a.json">x</a>'
    assert successor.Links(md).run(text) == text
    told(md, "page.md")
    assert successor.Links(md).run(text) == '<a href="a.json">x</a>'


def test_the_page_that_a_builder_tells_is_named_in_messages(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("one\ntwo\n")
    md = Markdown()
    successor.enter(md, tmp_path)
    assert place.current().file == "(a page)"
    told(md, "page.md")
    successor.enter(md, tmp_path)
    assert (place.current().file, place.current().line_of("two")) == ("docs/page.md", 2)
