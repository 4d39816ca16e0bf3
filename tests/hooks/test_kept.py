"""Blocks of a page come from the cache until something that they are made from changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from hooks import cache, kept, labs, programs
from hooks.blocks import Block
from tests.hooks.house import PATH, SOURCE
from tests.plugin_blocks import LabItem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = "docs/page.md"
# A file, and whether the page depends on it.
FILES = {
    PAGE: True,
    f"snippets/{PATH}": True,
    f"snippets/{PATH}".replace(".py", ".cpu.json"): True,
    "snippets/strategies/other.py": False,
    "docs/glossary.md": True,
    "docs/other.md": False,
    "docs/data.json": True,
    "mkdocs.yml": True,
    "uv.lock": True,
    "hooks/blocks.py": True,
    "README.md": False,
}


@pytest.fixture
def rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return a function that asks for the blocks, as a new run does, and says how often the page was rendered."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(SOURCE if name.endswith(".py") else f"{PATH}:setup", "utf8")
    monkeypatch.setattr(cache, "FOLDER", tmp_path / ".cache")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path / "snippets")
    for name in ("CI", "FRESH"):
        monkeypatch.delenv(name, raising=False)
    block = Block(PAGE, 1, 3, "python", "x = 1", attributes={"data-schema": "a"})
    made = 0

    def make() -> list[Block]:
        nonlocal made
        made += 1
        return [block]

    def ask() -> int:
        kept._whole.cache_clear()
        cache.code.cache_clear()
        assert kept.blocks(tmp_path / PAGE, tmp_path, make) == [block]
        return made

    return ask


def test_nothing_is_rendered_twice(rendered: Callable[[], int]) -> None:
    assert [rendered(), rendered()] == [1, 1]


@pytest.mark.parametrize(("name", "depends"), FILES.items())
def test_a_change_renders_what_depends_on_it(
    name: str, depends: bool, rendered: Callable[[], int], tmp_path: Path
) -> None:
    rendered()
    file = tmp_path / name
    file.write_text(f"{file.read_text('utf8')}\n# changed\n", "utf8")
    assert rendered() == (2 if depends else 1)


def test_a_new_page_renders_those_that_may_link_to_it(rendered: Callable[[], int], tmp_path: Path) -> None:
    rendered()
    (tmp_path / "docs" / "new.md").write_text("# New", "utf8")
    assert rendered() == 2


@pytest.mark.parametrize("name", ["CI", "FRESH"])
def test_ci_and_fresh_render_always(name: str, rendered: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    rendered()
    monkeypatch.setenv(name, "true")
    assert [rendered(), rendered()] == [2, 3]


def test_a_lab_is_executed_again_when_it_changed_on_another_device_and_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / ".cache")
    monkeypatch.setattr(labs, "check", lambda script: {})
    for name in ("CI", "FRESH"):
        monkeypatch.delenv(name, raising=False)
    script, ran = tmp_path / "lab.py", []
    script.write_text("# %%\n1", "utf8")
    device = ["cpu"]
    config = SimpleNamespace(getoption=lambda name: device[0])
    item = SimpleNamespace(path=script, config=config, _run=lambda: ran.append(1))
    for _ in range(2):
        LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 1
    script.write_text("# %%\n2", "utf8")
    LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 2
    device[0] = "gpu"
    LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 3
    monkeypatch.setenv("FRESH", "1")
    LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 4
