"""What the plugin asks for before the first test runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from hooks.errors import GuideError
from tests import plugin_runner

if TYPE_CHECKING:
    import pytest


def test_a_mistake_of_one_item_keeps_no_other_from_being_asked_for() -> None:
    """A program with a mistake, also one beside a block in another language, fails in its own test alone."""
    asked = []

    def wrong() -> None:
        asked.append("wrong")
        raise GuideError("snippets/a/b.py", 1, "it has no metadata", "write it")

    items = [
        SimpleNamespace(callspec=SimpleNamespace(params={"program": "no/such/program.py"})),
        SimpleNamespace(prefetch=wrong),
        SimpleNamespace(prefetch=lambda: asked.append("right")),
        SimpleNamespace(),
    ]
    config = SimpleNamespace(option=SimpleNamespace(collectonly=False), getoption=lambda _name: "cpu")
    plugin_runner.pytest_collection_finish(cast("pytest.Session", SimpleNamespace(config=config, items=items)))
    assert asked == ["wrong", "right"]
