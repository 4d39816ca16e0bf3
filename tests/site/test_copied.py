"""A copy of the project starts with the pictures that the project has kept where it may, and never with its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.site.copied import copy_project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("drawn", [False, True])
def test_a_copy_has_what_it_asks_for(drawn: bool, tmp_path: Path) -> None:
    project, copy = tmp_path / "project", tmp_path / "copy"
    for file in ("docs/index.md", ".cache/figures/one", ".cache/figures/.two.7.part", ".cache/pages/three"):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(file)
    copy_project(copy, drawn=drawn, root=project)
    found = {file.relative_to(copy).as_posix() for file in copy.rglob("*") if file.is_file()}
    assert found == {"docs/index.md"} | ({".cache/figures/one"} if drawn else set())
