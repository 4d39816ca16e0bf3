"""What is kept between builds is what would be made now, and does not grow for ever."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from hooks import cache

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep everything below a folder of this test, with a module and a lock file of its own."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "one.py").write_text("1", "utf8")
    (tmp_path / "uv.lock").write_text("1", "utf8")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setattr(cache, "FOLDER", tmp_path / ".cache")
    monkeypatch.setattr(cache, "_swept", set())
    cache.code.cache_clear()
    return tmp_path


def made(*inputs: str) -> bool:
    """Tell whether a value had to be made; what is returned is right either way."""
    calls = 0

    def make() -> dict[str, list[str]]:
        nonlocal calls
        calls += 1
        return {"a": [*inputs]}

    assert cache.remember("kind", [*inputs], make) == {"a": [*inputs]}
    return bool(calls)


def test_a_value_is_made_once() -> None:
    assert [made("x"), made("x"), made("y"), made("x", "y"), made("x")] == [True, False, True, True, False]


@pytest.mark.parametrize("name", ["hooks/one.py", "hooks/two.py", "uv.lock"])
def test_it_is_made_again_when_what_makes_it_changes(project: Path, name: str) -> None:
    made("x")
    (project / name).write_text("2", "utf8")
    cache.code.cache_clear()
    assert made("x")


def test_it_is_made_again_with_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    made("x")
    monkeypatch.setattr(cache, "sys", SimpleNamespace(version="3.99.0"))
    cache.code.cache_clear()
    assert made("x")


def test_what_fails_is_not_kept() -> None:
    with pytest.raises(ZeroDivisionError):
        cache.remember("kind", ["x"], lambda: 1 // 0)
    assert made("x")


@pytest.mark.parametrize("length", [0, 30, 70])
def test_a_file_that_a_crash_cut_short_is_made_again(project: Path, length: int) -> None:
    made("x")
    (file,) = (project / ".cache" / "kind").iterdir()
    with file.open("r+b") as held:
        held.truncate(length)
    assert [made("x"), made("x")] == [True, False]


def test_what_was_used_least_lately_goes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST", 300)
    for name in "abcdef":
        made(name * 50)
    for file in (project / ".cache" / "kind").iterdir():
        os.utime(file, ns=(0, 0))
    assert not made("b" * 50)
    cache._swept.clear()
    assert made("new")
    held = [file.stat().st_size for file in (project / ".cache" / "kind").iterdir()]
    assert sum(held) <= 300
    assert not made("b" * 50)
    assert sum(made(name * 50) for name in "acdef") >= 3
