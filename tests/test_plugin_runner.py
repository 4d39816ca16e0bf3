"""What the plugin asks for before the first test runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hooks.errors import GuideError
from tests import plugin_runner


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


def shown(error: Exception, params: dict[str, str]) -> Any:
    """Return what the report of a test shows after the plugin has seen it."""
    item = SimpleNamespace(callspec=SimpleNamespace(params=params))
    call = SimpleNamespace(excinfo=SimpleNamespace(value=error))
    hook = plugin_runner.pytest_runtest_makereport(cast("pytest.Item", item), cast("pytest.CallInfo[Any]", call))
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(SimpleNamespace(longrepr="the source of the test"))
    return ended.value.value.longrepr


def test_a_mistake_in_a_program_is_shown_without_the_source_of_the_test() -> None:
    mistake = GuideError("snippets/a/b.py", 1, "it has no metadata", "write it")
    assert shown(mistake, {"program": "a/b.py"}) == "snippets/a/b.py:1: it has no metadata. Cure: write it."
    assert shown(mistake, {}) == "the source of the test"
    assert shown(ValueError("no"), {"program": "a/b.py"}) == "the source of the test"
