"""The picture that a link to a page shows: its size, its words, the same bytes each time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageChops

from hooks import cache, social

if TYPE_CHECKING:
    from pathlib import Path

LONG = "every replica holds the same weights after the step " * 20


def picture(**changes: str) -> Image.Image:
    words = {"site": "A Site", "section": "Part", "title": "A Title", "text": "What it is."} | changes
    return Image.open(io.BytesIO(social.card(**words))).convert("RGB")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    return tmp_path


def test_it_has_the_size_that_others_expect() -> None:
    assert picture().size == (1200, 630)


@pytest.mark.parametrize("part", ["site", "section", "title", "text"])
def test_every_part_is_drawn(part: str) -> None:
    assert ImageChops.difference(picture(), picture(**{part: "Other words"})).getbbox()


@pytest.mark.parametrize("text", ["", "Short.", LONG])
@pytest.mark.parametrize("title", ["Short", LONG], ids=["short", "long"])
def test_nothing_reaches_the_edges(title: str, text: str) -> None:
    image = picture(title=title, text=text)
    for side in ((0, 20, 70, 630), (1130, 20, 1200, 630), (0, 580, 1200, 630)):
        assert image.crop(side).getcolors() == [(image.crop(side).width * image.crop(side).height, (255, 255, 255))]


def test_the_same_words_give_the_same_bytes_and_are_drawn_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"site": "A Site", "section": "", "title": "A Title", "text": ""}
    first = social.card(**words)
    (kept,) = (folder / "social").iterdir()
    kept.unlink()
    assert social.card(**words) == first
    monkeypatch.setattr(social, "_draw", None)
    assert social.card(**words) == first


def test_lines_are_no_wider_than_asked_and_the_rest_is_cut() -> None:
    font = social._font(31)
    lines = social.wrap(LONG, font, 500, 3)
    assert len(lines) == 3
    assert all(font.getlength(line) <= 500 for line in lines)
    assert lines[-1].endswith(" …")
    assert social.wrap("one two", font, 500, 3) == ["one two"]
    assert social.wrap("", font, 500, 3) == []


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (
            '<h1 id="a">Train.<br>Ship &amp; <code>go</code>.<a class="headerlink" href="#a">¶</a></h1>',
            "Train. Ship & go.",
        ),
        ("<p>No title.</p>", "Name"),
    ],
)
def test_the_title_is_what_the_page_shows(content: str, title: str) -> None:
    assert social.title_of(content, "Name") == title


@pytest.mark.parametrize(
    ("url", "name"),
    [("", "index"), ("heads/", "heads/index"), ("heads/rare-class/", "heads/rare-class/index"), ("a.html", "a")],
)
def test_a_picture_lies_as_its_page_does(url: str, name: str) -> None:
    assert social.path(url) == f"assets/social/{name}.png"


def test_each_page_has_a_picture_of_its_own() -> None:
    urls = ["", "home/", "index/", "heads/", "heads/rare-class/", "heads-rare/class/", "heads-rare-class/"]
    assert len(set(map(social.path, urls))) == len(urls)
