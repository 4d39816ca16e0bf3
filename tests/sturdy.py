"""Run the tests again and again, in another order each time, beside busy loops, and look at what they leave.

    make sturdy ARGS="--runs 20 --load"               the whole suite, twenty times, every core busy
    make sturdy ARGS="--runs 20 --load --at-once 2"   two runs beside each other: harder, and sooner done
    make sturdy ARGS="--runs 3 docs/pipelines"        a part of it

A test that fails in some runs alone is a flake. What a run leaves behind counts too: processes, files in the place for
temporary files, ports that something still listens on. Each loaded run of the whole suite gets a line in the ledger.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

from hooks import devices, leave
from hooks.errors import ROOT
from tests import child, ledger
from tests.number import positive

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    import pytest

# A loaded run takes about an hour, and limits in it grow with the load; this many for each run beside it.
SECONDS = 9000
# It ends with the process that started it, also where that was killed.
LOOP = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
MARK = "GUIDE_STURDY"
SEED = "GUIDE_SHUFFLE"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests of this run: this module is also the plugin that the runs load.

    About every other run keeps the tests of a file together: only so do they meet in one of its fixtures. After that,
    those that wait for long work are moved to the end, in the order that they have here (`plugin_ahead`,
    `plugin_runner`).
    """
    order = random.Random(os.environ[SEED])
    order.shuffle(items)
    if order.random() < 0.5:
        files = list(dict.fromkeys(item.path for item in items))
        order.shuffle(files)
        items.sort(key=lambda item: files.index(item.path))


@contextmanager
def load(wanted: bool) -> Iterator[None]:
    """Keep every core busy inside the `with` block."""
    count = devices.cores() if wanted else 0
    loops = [subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def started_by(mark: str) -> list[psutil.Process]:
    """Return the live processes that inherited the mark of a run, wherever they hang in the tree."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def left(mark: str, place: Path) -> list[str]:
    """Return a line for each thing that a run left, and end the processes among them.

    Args:
        mark: of the run.
        place: its place for temporary files; pytest keeps the folders of its last runs there on purpose.
    """
    until = time.monotonic() + 5
    while (processes := started_by(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    found = []
    for process in processes:
        try:
            ports = [str(c.laddr.port) for c in process.net_connections() if c.status == psutil.CONN_LISTEN]
            listens = f", listens on {', '.join(ports)}" if ports else ""
            found.append(f"process {process.pid}: {' '.join(process.cmdline())[:120]}{listens}")
            process.kill()
        except psutil.Error:
            continue
    psutil.wait_procs(processes, timeout=10)
    return found + [f"file {file.name}" for file in sorted(place.iterdir()) if not file.name.startswith("pytest-of-")]


class Run:
    """The tests, once, in a process of their own with a place of its own for temporary files.

    In a session of its own too, as the loops are: Linux shares the processor between sessions (`sched_autogroup` in
    `man 7 sched`), and the programs that the tests start have theirs.

    Args:
        number: of the run.
        seed: of its order.
        arguments: for pytest.
        seconds: after which it is ended.
    """

    def __init__(self, number: int, seed: str, arguments: list[str], seconds: float) -> None:
        self.mark, self.seed = f"{os.getpid()}-{number}", seed
        self.folder = Path(mkdtemp(prefix="sturdy-"))
        self.place, self.said = self.folder / "tmp", self.folder / "said"
        self.place.mkdir()
        self.begun, self.limit, self.late = time.monotonic(), seconds, ""
        self._outcome: Outcome | None = None
        env = {**os.environ, "FRESH": "1", "TMPDIR": str(self.place), MARK: self.mark, SEED: seed}
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "tests.sturdy", *arguments]
        with self.said.open("w") as said:
            options = {"cwd": ROOT, "env": env, "stdout": said, "stderr": subprocess.STDOUT}
            self.process = child.start(command, start_new_session=True, **options)

    def ended(self) -> bool:
        """Tell whether it has ended; one that takes too long is told to end."""
        if not self.late and time.monotonic() - self.begun > self.limit:
            self.late = f"FAILED the run: not done after {self.limit:.0f} s"
            self.stop()
        return self.process.poll() is not None

    def stop(self) -> None:
        """Interrupt it: the runner of the tests ends what it started. Kill it where that takes two minutes.

        After one it is interrupted again: Python loses an interruption that falls into a destructor
        (https://docs.python.org/3/reference/datamodel.html#object.__del__).
        """
        for _ in range(2):
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=60)
                return
        self.process.kill()
        self.process.wait()

    def outcome(self) -> Outcome:
        """Return what failed and what was left, when it has ended, print the failures, and remove its files.

        Where an interruption falls into the removal, a second call still knows what the first had read.
        """
        if self._outcome is None:
            said = self.said.read_text("utf-8", "replace") if self.said.exists() else ""
            # As pytest's summary has them; a line of a log has more spaces.
            lines = [line.split(" - ")[0] for line in said.splitlines() if re.match(r"(?:FAILED|ERROR) \S", line)]
            if self.late:
                lines.append(self.late)
            if self.process.returncode and not lines:
                lines = [f"FAILED the run: exit code {self.process.returncode}"]
            if lines:
                print(said)
            seconds, rest = time.monotonic() - self.begun, left(self.mark, self.place)
            self._outcome = Outcome(Counter(set(lines)), rest, seconds, self.seed, ledger.counts(said))
        shutil.rmtree(self.folder, ignore_errors=True)
        return self._outcome


class Outcome(NamedTuple):
    """How often each test failed, what was left, seconds, the seed of the order, how many tests had which outcome."""

    failed: Counter[str]
    left: list[str]
    seconds: float
    seed: str
    tests: dict[str, int]


def repeat(
    runs: int,
    at_once: int,
    seed: int,
    arguments: list[str],
    stopped: Callable[[Outcome, bool], object] = lambda *_: None,
) -> Generator[Outcome]:
    """Run the tests again and again and yield each outcome; whoever stops early ends the runs that go on.

    What these had said is printed.

    Args:
        runs: how many.
        at_once: how many beside each other, in the same folder.
        seed: of the orders.
        arguments: for pytest.
        stopped: is told the outcome of each run that was not yielded, and whether it had ended by itself.
    """
    waiting, running = list(range(runs)), list[Run]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                number = waiting.pop(0)
                running.append(Run(number, f"{seed}-{number}", arguments, SECONDS * at_once))
            time.sleep(0.1)
            for run in [one for one in running if one.ended()]:
                outcome = run.outcome()
                running.remove(run)  # not before: what is interrupted here is taken up again below
                yield outcome
    finally:
        ended = [run for run in running if run.process.poll() is not None]
        with ThreadPoolExecutor(max(1, len(running))) as pool:
            list(pool.map(Run.stop, running))
        for run in running:
            stopped(run.outcome(), run in ended)


def main() -> int:
    """Run the tests and say what failed, how often, and what was left; return 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=positive, default=20, help="how often (default: 20)")
    parser.add_argument("--at-once", type=positive, default=1, help="how many runs beside each other (default: 1)")
    parser.add_argument("--load", action="store_true", help="keep every core busy with a loop beside the tests")
    parser.add_argument("--seed", type=int, default=0, help="of the orders (default: 0)")
    options, arguments = parser.parse_known_args()
    failures: Counter[str] = Counter()
    leftovers: list[str] = []
    whole = options.load and not arguments
    made_of = ledger.commit(ROOT) if whole else ""

    def note(outcome: Outcome) -> None:
        failed, rest, seconds, seed, tests = outcome
        of = made_of if ledger.commit(ROOT) == made_of else f"{made_of.rstrip('+')}+"
        facts: dict[str, Any] = {"seconds": seconds, "tests": tests, "failed": failed, "left": rest}
        ledger.add(ledger.FILE, of, seed=seed, at_once=options.at_once, **facts)

    def stopped(outcome: Outcome, ended: bool) -> None:
        """Note a run that was ended early where a test of it had failed, or that had ended before."""
        if whole and ((ended and outcome.tests) or any("::" in line for line in outcome.failed)):
            note(outcome)

    wanted = (options.runs, options.at_once, options.seed, arguments, stopped)
    with load(options.load), closing(repeat(*wanted)) as outcomes:
        for number, outcome in enumerate(outcomes, 1):
            failures += outcome.failed
            leftovers += outcome.left
            ended = ", ".join(f"{count} {word}" for word, count in outcome.tests.items())
            print(
                f"run {number} of {options.runs}, seed {outcome.seed}: {outcome.seconds:.0f} s, {ended}, "
                f"{len(outcome.left)} left",
                flush=True,
            )
            if whole:
                note(outcome)
    for name, times in failures.most_common():
        word = "always" if times == options.runs else "flake"
        print(f"{word}: {name}: {times} of {options.runs} runs")
    for line in leftovers:
        print(f"left: {line}")
    print(f"{options.runs} runs: {len(failures)} tests failed in some run, {len(leftovers)} things were left")
    if whole:
        count = ledger.clean(ledger.lines(ledger.FILE))
        print(f"{ledger.FILE.relative_to(ROOT)}: the newest {count} loaded runs of all tests had no fault")
    return 1 if failures or leftovers else 0


if __name__ == "__main__":
    leave.run(main)
