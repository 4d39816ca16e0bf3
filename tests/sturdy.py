"""Run the tests again and again, in another order each time, beside busy loops, and look at what they leave.

    make sturdy ARGS="--runs 20 --load"          the whole suite, twenty times, every core busy
    make sturdy ARGS="--runs 3 docs/pipelines"   a part of it

A test that fails in some runs alone is a flake. What a run leaves behind counts too: processes, files in the place for
temporary files, ports that something still listens on.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from hooks import devices
from hooks.errors import ROOT
from tests import child

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

# A loaded run takes about an hour.
SECONDS = 6600
# It ends with the process that started it, also where that was killed.
LOOP = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
MARK = "GUIDE_STURDY"
SEED = "GUIDE_SHUFFLE"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests of this run: this module is also the plugin that the runs load.

    After that, those that wait for programs are moved to the end, in the order that they have here (`plugin_runner`).
    """
    random.Random(os.environ[SEED]).shuffle(items)


@contextmanager
def load(wanted: bool) -> Iterator[None]:
    """Keep every core busy inside the `with` block."""
    count = devices.cores() if wanted else 0
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(count)]
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


def run(number: int, seed: str, arguments: list[str]) -> tuple[Counter[str], list[str], float]:
    """Run the tests once; return how often each failed, what was left, and the seconds it took."""
    mark, start = f"{os.getpid()}-{number}", time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sturdy-", ignore_cleanup_errors=True) as folder:
        env = {**os.environ, "FRESH": "1", "TMPDIR": folder, MARK: mark, SEED: seed}
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "tests.sturdy", *arguments]
        process = child.start(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = process.communicate(timeout=SECONDS)
        except BaseException as error:
            process.send_signal(signal.SIGINT)  # the runner of the tests ends what it started
            try:
                said, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                said, _ = process.communicate()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            said += f"\nFAILED the run: not done after {SECONDS} s"
        lines = [line.split(" - ")[0] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if process.returncode and not lines:
            lines = [f"FAILED the run: exit code {process.returncode}"]
        if lines:
            print(said)
        return Counter(set(lines)), left(mark, Path(folder)), time.monotonic() - start


def main() -> int:
    """Run the tests and say what failed, how often, and what was left; return 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="how often (default: 20)")
    parser.add_argument("--load", action="store_true", help="keep every core busy with a loop beside the tests")
    parser.add_argument("--seed", type=int, default=0, help="of the orders (default: 0)")
    options, arguments = parser.parse_known_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was started is ended on the way out
    failures: Counter[str] = Counter()
    leftovers: list[str] = []
    with load(options.load):
        for number in range(options.runs):
            failed, rest, seconds = run(number, f"{options.seed}-{number}", arguments)
            failures += failed
            leftovers += rest
            print(
                f"run {number + 1} of {options.runs}: {seconds:.0f} s, {len(failed)} failed, {len(rest)} left",
                flush=True,
            )
    for name, times in failures.most_common():
        word = "always" if times == options.runs else "flake"
        print(f"{word}: {name}: {times} of {options.runs} runs")
    for line in leftovers:
        print(f"left: {line}")
    print(f"{options.runs} runs: {len(failures)} tests failed in some run, {len(leftovers)} things were left")
    return 1 if failures or leftovers else 0


if __name__ == "__main__":
    sys.exit(main())
