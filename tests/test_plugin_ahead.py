"""What is done beside the tests: begun when wanted, waited for where asked, and ended with the session."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import psutil
import pytest

from hooks import busy
from hooks.errors import ROOT
from tests import child, plugin_ahead
from tests.anew import anew
from tests.plugin_ahead import Ahead
from tests.until import LONG, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.plugin_ahead import Run

SLEEPS = f"import sys, time; print('up', flush=True); time.sleep({LONG})"


@pytest.fixture
def make() -> Iterator[Callable[..., Ahead]]:
    """Return what makes one; all are closed with the test, also one that fails."""
    with ExitStack() as made:
        yield lambda kind=Ahead: made.enter_context(closing(kind()))


@pytest.fixture
def ahead(make: Callable[[], Ahead]) -> Ahead:
    return make()


@dataclass(eq=False)
class Item:
    """A test as the plugin sees it."""

    name: str
    fixturenames: list[str]


def session(*tests: tuple[str, str], collectonly: bool = False) -> pytest.Session:
    """Make a session of tests, each a name and the fixture that it uses."""
    items = [Item(name, [fixture]) for name, fixture in tests]
    config = SimpleNamespace(option=SimpleNamespace(collectonly=collectonly))
    return cast("pytest.Session", SimpleNamespace(items=items, config=config))


def test_tests_that_wait_come_last_while_the_work_goes_on(ahead: Ahead) -> None:
    go = threading.Event()
    both = session(("a", "site"), ("b", "seen"), ("c", "other"), ("d", "site"))
    ahead.begin(both, "site", lambda _: go.wait(100))
    ahead.begin(both, "seen", lambda _: [ahead.result("site")])
    assert [item.name for item in both.items] == ["c", "a", "d", "b"]
    go.set()
    assert ahead.result("seen") == [True]


@pytest.mark.parametrize("listed", [session(("a", "other")), session(("a", "seen"), collectonly=True)])
def test_what_no_test_asks_for_is_not_begun(ahead: Ahead, listed: pytest.Session) -> None:
    begun: list[Run] = []
    ahead.begin(listed, "seen", begun.append)
    ahead.close()
    assert begun == []


def test_what_the_work_raises_reaches_the_fixture(ahead: Ahead) -> None:
    def look(run: Run) -> str:
        return run([sys.executable, "-c", "import sys; sys.exit(sys.stdin.read())"], seconds=100, text="no browser")

    ahead.begin(session(("a", "seen")), "seen", look)
    with pytest.raises(RuntimeError, match=r"ended with 1:\nno browser"):
        ahead.result("seen")


def test_what_the_work_skips_is_skipped_where_it_is_waited_for(ahead: Ahead) -> None:
    ahead.begin(session(("a", "seen")), "seen", lambda _: pytest.skip("no browser"))
    with pytest.raises(pytest.skip.Exception, match="no browser"):
        ahead.result("seen")


def test_its_processes_see_no_change_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Ahead], tmp_path: Path
) -> None:
    monkeypatch.setenv("WHERE", "before")
    ahead, folder = make(), Path.cwd()
    monkeypatch.setenv("WHERE", "after")
    monkeypatch.chdir(tmp_path)
    code = "import os; print(os.environ['WHERE'], os.environ['MORE'], os.getcwd(), end='')"

    def look(run: Run) -> str:
        return run([sys.executable, "-c", code], seconds=100, env={"MORE": "more"})

    ahead.begin(session(("a", "seen")), "seen", look)
    assert ahead.result("seen") == f"before more {folder}"


def test_no_test_moves_the_folder_for_temporary_files() -> None:
    """Work that goes on beside it would make its folders there, and lose them with that test."""
    moved = re.compile("tempfile" + r"""\W+tempdir\b|environ\[.TMPDIR.\] =|setenv\(.TMPDIR""")
    assert [file.name for file in (ROOT / "tests").rglob("*.py") if moved.search(file.read_text("utf8"))] == []


def test_no_test_changes_what_is_used_beside_it() -> None:
    """Threads that do other work would meet it: `tests/anew.py` gives a test a module of its own."""
    shared = "os|platform|shutil|socket|subprocess|tempfile|threading|time|Path|busy"
    changed = re.compile(rf"""setattr\(\s*(?:(?:\w+\.)?(?:{shared}), |["'](?:{shared}|sys)\.(?!argv)|sys, .(?!argv))""")
    assert [file.name for file in (ROOT / "tests").rglob("*.py") if changed.search(file.read_text("utf8"))] == []


def test_a_busy_machine_has_more_time(make: Callable[..., Ahead]) -> None:
    """What it is given and what it says is whole, though the limit was reached in between."""
    own = anew(plugin_ahead)
    own.busy = anew(busy)
    own.busy.stretched = lambda _: 100.0
    ahead = make(own.Ahead)
    code = "import sys, time; print(sys.stdin.read(), flush=True); time.sleep(1); print('out', end='')"
    given = "given" * 10_000

    def look(run: Run) -> str:
        return run([sys.executable, "-c", code], seconds=0.5, text=given)

    ahead.begin(session(("a", "seen")), "seen", look)
    assert ahead.result("seen") == f"{given}\nout"


def test_a_process_that_takes_too_long_is_ended(ahead: Ahead) -> None:
    ahead.begin(session(("a", "seen")), "seen", lambda run: run([sys.executable, "-c", SLEEPS], seconds=0.5))
    with pytest.raises(subprocess.TimeoutExpired):
        ahead.result("seen")
    assert sleepers() == []


def sleepers() -> list[psutil.Process]:
    """Return the live processes that these tests let sleep."""
    return [one for one in psutil.Process().children() if SLEEPS in child.words(one)]


def holders(of: Path) -> list[psutil.Process]:
    """Return the live processes whose command names a file."""
    return [one for one in psutil.process_iter() if any(str(of) in word for word in child.words(one))]


@pytest.mark.parametrize("seconds", [3, 600], ids=["too long", "closed"])
def test_what_a_process_started_is_ended_with_it(
    seconds: int, ahead: Ahead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the pipes that the output is read from, and does not heed that its parent has ended."""
    monkeypatch.setattr(plugin_ahead, "PATIENCE", 2)
    over = tmp_path / "over"
    command = ["sh", "-c", f"(sleep {LONG}; touch {over}) & wait"]
    ahead.begin(session(("a", "seen")), "seen", lambda run: run(command, seconds=seconds))
    if seconds == 600:
        until(lambda: len(holders(over)) == 2, "the shell and what it started")
        ahead.close()
    with pytest.raises((subprocess.TimeoutExpired, RuntimeError)):
        ahead.result("seen")
    assert holders(over) == []
    assert not over.exists(), "nobody waited for it"


# As Playwright's Node does: it removes its files when the one that started it has gone.
CLEANS = """
import pathlib, sys, time
file = pathlib.Path({file!r})
file.touch()
sys.stdin.read()
time.sleep(0.5)
file.unlink()
"""


def test_what_cleans_up_after_its_parent_has_time_for_it(ahead: Ahead, tmp_path: Path) -> None:
    file = tmp_path / "file"
    start = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=subprocess.PIPE).wait()"
    )
    command = [sys.executable, "-c", start, CLEANS.format(file=str(file))]
    ahead.begin(session(("a", "seen")), "seen", lambda run: run(command, seconds=600))
    until(file.exists, str(file))
    ahead.close()
    assert not file.exists()


def test_closing_ends_processes_and_starts_no_more(ahead: Ahead) -> None:
    ended = threading.Event()

    def look(run: Run) -> Any:
        try:
            return run([sys.executable, "-c", SLEEPS], seconds=600)
        finally:
            ended.wait(100)
            run([sys.executable, "-c", SLEEPS], seconds=600)

    ahead.begin(session(("a", "seen")), "seen", look)
    started = until(sleepers, "the process that sleeps")
    ended.set()
    ahead.close()
    assert psutil.wait_procs(started, timeout=20)[1] == []
    with pytest.raises(RuntimeError, match="the session has ended"):
        ahead.result("seen")


CONFTEST = """
import os, pathlib, subprocess, sys
import pytest
from tests.plugin_ahead import ahead_of

def pytest_collection_finish(session):
    ahead_of(session.config).begin(session, "seen", lambda run: run([sys.executable, "-c", {sleeps!r}], seconds=600))

@pytest.fixture
def seen(request):
    pathlib.Path({there!r}).touch()
    return ahead_of(request.config).result("seen")
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_signal_ends_the_work_that_a_test_waits_for(how: signal.Signals, tmp_path: Path) -> None:
    there = tmp_path / "there"
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(CONFTEST.format(sleeps=SLEEPS, there=str(there)))
    (tmp_path / "test_it.py").write_text("def test_it(seen):\n    assert seen\n")
    command = [sys.executable, "-m", "pytest", "-c", str(tmp_path / "pytest.ini"), "-p", "tests.plugin_ahead"]
    command += ["-p", "tests.plugin_runner"]  # which takes SIGTERM for Ctrl-C
    command += ["-p", "no:cacheprovider", str(tmp_path)]
    with child.started(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as started:
        started.wait_for(there.exists)
        started.wait_for(lambda: bool(started.look()))
        family = started.look()
        started.process.send_signal(how)
        said, _ = started.process.communicate(timeout=child.PATIENCE)
        assert started.process.returncode == pytest.ExitCode.INTERRUPTED, said
        assert psutil.wait_procs(family, timeout=20)[1] == []
