"""Builds of the same sources are the same, byte for byte: elsewhere, at another time, and from what one has kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.site.builds import contents

if TYPE_CHECKING:
    from pathlib import Path

    from tests.site.builds import Elsewhere


def different(one: Path, other: Path) -> list[str]:
    """Return the files that two sites do not share."""
    first, second = contents(one), contents(other)
    return sorted(path for path in first.keys() | second.keys() if first.get(path) != second.get(path))


def test_builds_are_equal_byte_for_byte(built_site: Path, elsewhere: Elsewhere) -> None:
    assert different(built_site, elsewhere.first) == []
    assert len(elsewhere.kept) > 50
    assert different(built_site, elsewhere.second) == []
    assert elsewhere.kept_again == elsewhere.kept
