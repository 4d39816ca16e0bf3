"""The foot of a page says when the oldest record behind it was made, and with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks import last_verified, records
from hooks.blocks import Block
from hooks.used import Used
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

PAGES = {
    "a value": f"Faster by {{{{ {house.PATH}:speedup_x | .1f }}}}.",
    "an output": f"/// output | {house.PATH}:setup\n///",
    "a table": f"/// table | {house.PATH}:matrix\nWhat happens.\n///",
    "a figure": f"/// figure | {house.PATH}:split\n    alt: Two bars.\n\nRows.\n///",
    "an error": f"/// error | {house.PATH}:outside\nCompile inside.\n///",
    "a card": f"/// program | {house.PATH}\n///",
    "a question": house.QUIZ,
}


@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
def test_all_that_a_page_takes_from_a_record_counts(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path, monkeypatch, recorded="2026-03-02")
    _, used = house.render(text)
    locked = records.locked_versions()
    versions = f"TensorFlow {locked['tensorflow']}, Keras {locked['keras']}"
    assert last_verified.of_page(used, []) == {"day": "2026-03-02", "versions": versions}


def test_the_record_of_the_device_that_is_quoted_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = house.build(tmp_path, monkeypatch, recorded="2026-03-02")
    records.write(house.record_of(program, device="gpu", recorded="2026-02-01"))
    for text in (PAGES["a value"], PAGES["an output"], PAGES["a question"]):
        _, used = house.render(text.replace("mirrored.py:", "mirrored.py@gpu:"))
        assert last_verified.of_page(used, [])["day"] == "2026-02-01"


def test_a_block_that_shows_a_program_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path, monkeypatch)
    blocks = [
        Block("docs/a.md", 5, 7, "python", "x\n", origin=f"{house.PATH}:setup"),
        Block("docs/a.md", 9, 11, "javascript", "x\n", origin="deployment/predict.mjs"),
    ]
    assert last_verified.of_page(Used("docs/a.md"), blocks)["day"] == "2026-11-21"


def test_a_page_without_a_record_says_nothing() -> None:
    assert last_verified.of_page(Used("docs/a.md"), [Block("docs/a.md", 5, 7, "json", "{}\n")]) == {}


def test_a_record_that_is_out_of_date_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path, monkeypatch, sha256="0" * 64)
    assert last_verified.of_page(Used("docs/a.md", programs=[house.PATH]), []) == {}


def test_the_oldest_record_decides() -> None:
    found = last_verified.said(
        [
            ("2026-11-21", {"tensorflow": "2.21.0", "keras": "3.15.1"}),
            ("2025-01-31", {"tensorflow": "2.20.0", "scikit-learn": "1.6"}),
            ("2026-02-01", {"tensorflow": "2.21.0"}),
        ]
    )
    assert found == {"day": "2025-01-31", "versions": "TensorFlow 2.20.0"}
