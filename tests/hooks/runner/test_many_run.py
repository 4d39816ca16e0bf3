"""Several programs at a time, and the blocks of pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.runner import Block, Runner
from tests.hooks.runner.kit import PATIENCE, Make, result_of
from tests.until import LONG

MEETING = """
import os, tempfile, time
folder = {folder!r}
here = tempfile.mkstemp(dir=folder)[1]  # a program may write elsewhere only what tempfile made
until = time.monotonic() + {wait}
met = False
while time.monotonic() < until and not met:
    met = len(os.listdir(folder)) > 1
    time.sleep(0.01)
os.remove(here) if {leave} else time.sleep(0.3)
claims = {{"met": met}}
"""


def test_two_run_at_a_time(runner: Runner, program: Make, tmp_path: Path) -> None:
    folder = tmp_path / "met"
    folder.mkdir()
    one = MEETING.format(folder=str(folder), wait=PATIENCE / 2, leave=False)
    futures = [runner.submit_program(program(one, seconds=PATIENCE)) for _ in range(2)]
    records = [result_of(future).record for future in futures]
    assert [record.claims["met"] for record in records if record] == [True, True]


@pytest.mark.parametrize("options", [{"alone": True}, {"processes": 2}])
def test_who_wants_the_machine_gets_it(
    options: dict[str, object], runner: Runner, program: Make, tmp_path: Path
) -> None:
    folder = tmp_path / "met"
    folder.mkdir()
    one = MEETING.format(folder=str(folder), wait=0.7, leave=True)
    futures = [runner.submit_program(program(one, **options)) for _ in range(3)]
    records = [result_of(future).record for future in futures]
    assert [record.claims["met"] for record in records if record] == [False, False, False]


def test_who_wants_the_machine_waits_while_the_caller_keeps_it_busy(program: Make) -> None:
    with Runner(preload=(), limit=2) as runner:
        runner.hold(True)
        alone = runner.submit_program(program("print(1)", alone=True))
        for _ in range(2):  # a place was free before the first, and the whole machine between them
            assert result_of(runner.submit_program(program("print(2)"))).ok
        assert not alone.running()
        assert not alone.done()
        runner.hold(False)
        assert result_of(alone).ok


def test_the_longest_known_starts_first(program: Make, tmp_path: Path) -> None:
    go = tmp_path / "go"
    body = "import time\nmeasures = {'at': time.monotonic()}"
    wait = f"""
        import os, time
        while not os.path.exists({str(go)!r}):
            time.sleep(0.01)
    """
    with Runner(preload=(), limit=1) as runner:
        futures = {0: runner.submit_program(program(wait, seconds=PATIENCE))}  # holds the one place
        futures |= {seconds: runner.submit_program(program(body, seconds=seconds)) for seconds in (5, 30, 10)}
        go.touch()
        started = {}
        for seconds, future in futures.items():
            record = result_of(future).record
            assert record
            started[seconds] = float(record.measures.get("at", 0))
    assert sorted(started, key=lambda seconds: started[seconds]) == [0, 30, 10, 5]


# Pages.


def test_blocks_share_a_namespace_and_keep_their_own_output(runner: Runner) -> None:
    blocks = [
        Block("docs/p.md:3", "x = 1\nprint('one')", line=3),
        Block(
            "docs/p.md:9",
            "import inspect\ndef f():\n    return x + 1\nprint(f(), inspect.getsource(f).split()[0])",
            line=9,
        ),
    ]
    first, second = result_of(runner.submit_page("docs/p.md", blocks, devices_wanted=0))
    assert (first.ok, first.output) == (True, "one\n")
    assert (second.ok, second.output, second.error) == (True, "2 def\n", None)


def test_a_failing_block_names_its_line_on_the_page_and_stops_the_rest(runner: Runner) -> None:
    blocks = [
        Block("docs/p.md:5", "def f():\n    raise ValueError('no')", line=5),
        Block("docs/p.md:20", "\nf()", line=20),
        Block("docs/p.md:30", "print('never')", line=30),
    ]
    first, second, third = result_of(runner.submit_page("docs/p.md", blocks, devices_wanted=0))
    assert first.ok
    assert second.error is not None
    assert second.error.startswith("docs/p.md:21: ValueError: no\n"), "the line is the page's"
    assert 'File "docs/p.md", line 6, in f\n    raise ValueError' in second.error
    assert third.error == "docs/p.md:30: not run, because docs/p.md:20 failed before it"


def test_each_block_has_the_time_limit_and_a_page_can_time_out(runner: Runner) -> None:
    slow = [Block(f"b{at}", "import time; time.sleep(2)") for at in range(3)]
    results = result_of(runner.submit_page("p", slow, devices_wanted=0, seconds=5))
    assert [one.ok for one in results] == [True, True, True]
    stuck = [Block("a", "1"), Block("b", "while True: pass"), Block("c", "1")]
    results = result_of(runner.submit_page("p", stuck, devices_wanted=0, seconds=8))
    assert [one.ok for one in results] == [True, False, False]
    assert "b:1: it still ran after 8 s and was killed: make it do less" in str(results[1].error)


@pytest.mark.parametrize(
    "source", ["import os; os._exit(0)", "import sys; sys.exit()", "x = ", "import os; os.kill(os.getpid(), 9)"]
)
def test_a_block_may_not_end_the_page(source: str, runner: Runner) -> None:
    results = result_of(runner.submit_page("p", [Block("a", "1"), Block("b", source)], devices_wanted=0))
    assert [one.ok for one in results] == [True, False]


def test_a_page_may_not_leave_a_process_behind(runner: Runner) -> None:
    source = f"import subprocess; p = subprocess.Popen(['sleep', '{LONG:g}'])"
    [result] = result_of(runner.submit_page("p", [Block("a", source)], devices_wanted=0))
    assert f"it left a process behind: sleep {LONG:g}" in str(result.error)


def test_a_page_without_blocks_has_no_results(runner: Runner) -> None:
    assert runner.submit_page("p", []).result(timeout=1) == []
