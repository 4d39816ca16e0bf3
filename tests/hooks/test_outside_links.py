"""Links of the README and its like lead to files and headings that are there; errors name the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks import outside_links
from hooks.errors import ROOT

if TYPE_CHECKING:
    from pathlib import Path


BUILT = '<span id="old"></span><h2 id="made-by-the-build">Made</h2><a hidden id="gone" href="../b/#x"></a>'


def errors(tmp_path: Path, line: str) -> list[str]:
    """Return what is wrong of a README whose fifth line is this one."""
    for name in ("docs/a.md", "docs/b/index.md", "site/a/index.html", "site/b/index.html", "LICENSES.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(BUILT if "site" in name else "## Two words\n")
    (tmp_path / "README.md").write_text(f"# Title\n\n## How it is run\n\n{line}\n")
    return [str(error) for error in outside_links.check(tmp_path, tmp_path / "site")]


@pytest.mark.parametrize(
    "line",
    [
        "[a](docs/a.md), [b](docs/b/index.md#made-by-the-build), [folder](docs)",
        "[here](#how-it-is-run), [there](LICENSES.md#two-words), [site](https://example.org/#x)",
        "[mail](mailto:a@example.org)",
        "`[code](nowhere.md)`",
    ],
)
def test_holds(line: str, tmp_path: Path) -> None:
    assert errors(tmp_path, line) == []


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("[a](docs/c.md)", "README.md:5: a dead link: docs/c.md"),
        ("![a](docs/c.png)", "README.md:5: a dead link: docs/c.png"),
        ("[a](docs/a.md#nowhere)", "README.md:5: a dead anchor: docs/a.md#nowhere"),
        ("[a](docs/a.md#old)", "README.md:5: a dead anchor: docs/a.md#old"),
        ("[a](docs/a.md#gone)", "README.md:5: a dead anchor: docs/a.md#gone"),
        ("[a](LICENSES.md#nowhere)", "README.md:5: a dead anchor: LICENSES.md#nowhere"),
        ("[a](#nowhere)", "README.md:5: a dead anchor: #nowhere"),
    ],
)
def test_stops(line: str, cause: str, tmp_path: Path) -> None:
    (wrong,) = errors(tmp_path, line)
    assert wrong.startswith(cause)


def test_every_page_that_it_names_is_there() -> None:
    assert [name for name in outside_links.PAGES if not (ROOT / name).is_file()] == []
