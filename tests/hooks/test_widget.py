"""Widgets: the content stays as the fallback, one script for a page, and a wrong name stops the build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from hooks import widget
from hooks.errors import GuideError
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

WIDGET = "/// widget | slope\nStands here without a script.\n///\n"


@pytest.fixture(autouse=True)
def widgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("slope", "all-of-it", "widget", "units"):
        (tmp_path / f"{name}.js").write_text("")
    monkeypatch.setattr(widget, "WIDGETS", tmp_path)


def test_names_leave_out_what_they_share() -> None:
    assert widget.names() == ["all-of-it", "slope"]


def test_content_is_the_fallback() -> None:
    box = BeautifulSoup(house.render(WIDGET)[0], "html.parser").select_one("div.widget")
    assert box is not None
    assert box["data-widget"] == "slope"
    fallback = box.select_one(".widget-fallback")
    assert fallback is not None
    assert fallback.get_text(strip=True) == "Stands here without a script."


def test_one_script_for_a_page() -> None:
    soup = BeautifulSoup(house.render(WIDGET + "\n" + WIDGET.replace("slope", "all-of-it"))[0], "html.parser")
    assert [(script["type"], script["src"]) for script in soup.select("script")] == [
        ("module", "/__root__/assets/widgets/widget.js")
    ]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("/// widget | slop\nx\n///\n", "there is no widget `slop`"),
        ("/// widget | ../secret\nx\n///\n", "there is no widget"),
        ("/// widget | widget\nx\n///\n", "there is no widget `widget`"),
        ("/// widget |\nx\n///\n", "says nothing after"),
        ("/// widget | slope\n///\n", "has no content"),
        (f"{WIDGET}\n{WIDGET}", "a second widget `slope`"),
    ],
)
def test_wrong_widgets_stop_the_build(text: str, cause: str) -> None:
    with pytest.raises(GuideError, match=cause):
        house.render(text)
