"""The rows of the curriculum, which questions name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks import curriculum, errors
from hooks.errors import GuideError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = '[sums]\nS1 = "One and one are two."\n\n[more]\nM1 = "More is more."\n'


def rows(root: Path, text: str) -> dict[str, str]:
    (root / curriculum.FILE).write_text(text)
    return curriculum.rows()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(errors, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    return tmp_path


def test_rows_of_all_parts_in_order(root: Path) -> None:
    assert rows(root, GOOD) == {"S1": "One and one are two.", "M1": "More is more."}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("M1", "S1", r":5: the row `S1` stands twice"),
        ('"More is more."', "3", r":5: `M1` is no row"),
        ('"More is more."', '""', r":5: `M1` is no row"),
        ("[sums]\n", "", r":1: `S1` is no row"),
        ("[more]", "[more", ":4: this is no TOML: .*line 4"),
        ('"More is more."', '"""More', ":5: this is no TOML: "),
    ],
)
def test_a_wrong_row_is_named(root: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(GuideError, match=rf"^docs/curriculum\.toml{says}"):
        rows(root, GOOD.replace(old, new))


@pytest.mark.usefixtures("root")
def test_a_missing_file_is_named() -> None:
    with pytest.raises(GuideError, match=r"^docs/curriculum\.toml: there is no such file"):
        curriculum.rows()
