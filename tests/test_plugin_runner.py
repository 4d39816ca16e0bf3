"""What the plugin asks for before the first test runs."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hooks import results
from hooks.errors import GuideError
from tests import plugin_runner
from tests.anew import anew


class Item:
    """A test as the plugin sees it; `asked` holds the names of those whose `prefetch` was called."""

    def __init__(self, name: str, asked: list[str], *, error: str = "", done: bool | None = None) -> None:
        self.name, self.asked, self.error, self.done = name, asked, error, done
        self.config: Any = None

    def prefetch(self) -> Future[str] | None:
        self.asked.append(self.name)
        if self.error:
            raise GuideError("snippets/a/b.py", 1, self.error, "write it")
        if self.done is None:
            return None
        future: Future[str] = Future()
        if self.done:
            future.set_result("from the cache")
        return future


class Held:
    """Stands for a runner and notes when it is held, when it is released, and what is submitted."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def hold(self, held: bool) -> None:
        self.noted.append("held" if held else "released")

    def submit_page(self, name: str, *_: Any, **_more: Any) -> Future[Any]:
        self.noted.append(name)
        return Future()


def finish(items: list[Any], shared: Any = None) -> list[str]:
    """Let the plugin see the end of collection and return the names of the tests in their order."""
    stash = {plugin_runner.SHARED: shared or plugin_runner.Shared()}
    config = SimpleNamespace(option=SimpleNamespace(collectonly=False), getoption=lambda _name: "cpu", stash=stash)
    for item in items:
        item.config = config
    session = SimpleNamespace(config=config, items=items)
    plugin_runner.pytest_collection_finish(cast("pytest.Session", session))
    return [item.name for item in items]


def test_a_mistake_of_one_item_keeps_no_other_from_being_asked_for() -> None:
    """A program with a mistake, also one beside a block in another language, fails in its own test alone."""
    asked: list[str] = []
    missing = Item("missing", asked)
    missing.callspec = SimpleNamespace(params={"program": "no/such/program.py"})  # type: ignore[attr-defined]
    finish([missing, Item("wrong", asked, error="it has no metadata"), Item("right", asked)])
    assert asked == ["wrong", "right"]


def test_what_would_wait_comes_last() -> None:
    asked: list[str] = []
    items = [Item("a", asked, done=False), Item("b", asked), Item("c", asked, done=False), Item("d", asked, done=True)]
    assert finish(items) == ["b", "d", "a", "c"]


class Asks(Item):
    """A test that asks for the blocks of a page of its name."""

    def prefetch(self) -> Future[Any]:
        return plugin_runner.request_page(self.config, self.name, [])


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Held:
    """Return the runner that the plugin makes; the results of the page "kept" come from the cache."""
    made = Held()
    monkeypatch.setattr(plugin_runner, "Runner", lambda: made)
    monkeypatch.setattr(results, "page_key", lambda name, *_args, **_more: name)
    monkeypatch.setattr(results, "load", lambda key, **_more: [key] if key == "kept" else None)
    return made


def test_what_wants_to_be_alone_waits_for_the_tests_that_wait_for_nothing(runner: Held) -> None:
    """Also what is submitted first: it would be taken at once, while the others are still submitted."""
    waits, kept, other = Asks("waits", []), Asks("kept", []), Item("other", [])
    assert finish([waits, kept, other]) == ["kept", "other", "waits"]
    assert runner.noted == ["held", "waits"]
    kept.prefetch()
    assert runner.noted == ["held", "waits"], "a test whose result is there waits for nothing"
    waits.prefetch()
    assert runner.noted == ["held", "waits", "released"]


def test_where_all_would_wait_nothing_is_held(runner: Held) -> None:
    finish([Asks("a", []), Asks("b", [])])
    assert runner.noted == ["held", "a", "b", "released"]


def test_what_a_test_asks_for_only_when_it_runs_is_not_held(runner: Held) -> None:
    late = Asks("late", [])
    finish([Item("other", [])], shared := plugin_runner.Shared())
    late.config = SimpleNamespace(getoption=lambda _name: "cpu", stash={plugin_runner.SHARED: shared})
    late.prefetch()
    assert runner.noted == ["held", "late", "released"]


def ask(running: Future[str]) -> tuple[Future[Any], list[bool]]:
    """Ask for what `running` will give; return the future, and for each result stored whether that was done by then."""
    own, stored = anew(plugin_runner), []  # a program of this session may end and be stored meanwhile
    shared = own.Shared()

    def store(key: str, _results: Any) -> None:
        stored.append(shared.futures[key].done())

    own.results = SimpleNamespace(load=lambda *_args, **_more: None, store=store)
    return shared.ask("key", None, "cpu", lambda: running), stored


def test_a_result_is_stored_before_a_test_gets_it() -> None:
    """What a test forgets is on disk by then, and does not come back."""
    running: Future[str] = Future()
    future, stored = ask(running)
    running.set_result("it ran")
    assert future.result(timeout=0) == "it ran"
    assert stored == [False]


def test_what_gives_no_result_is_not_stored() -> None:
    running: Future[str] = Future()
    future, stored = ask(running)
    running.set_exception(MemoryError())
    assert isinstance(future.exception(timeout=0), MemoryError)
    running = Future()
    future, _ = ask(running)
    running.cancel()
    assert future.cancelled()
    assert stored == []


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
    assert shown(mistake, {"program": "a/b.py"}) == "snippets/a/b.py:1: it has no metadata. Fix: write it."
    assert shown(mistake, {}) == "the source of the test"
    assert shown(ValueError("no"), {"program": "a/b.py"}) == "the source of the test"
