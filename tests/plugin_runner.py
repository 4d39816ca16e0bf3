"""The pytest plugin that shares one runner: every program and every page runs once a session, whoever asks for it.

A test module or a collector asks with `request_program(config, program)` or `request_page(config, name, blocks)` and
gets a future. What runs is submitted when collection has ended, so that the runner chooses the order: the programs of
the selected tests (a parameter named `program`, a path), and what the method `prefetch()` of a selected item asks for.
Tests that would wait for it come last, so that the others run meanwhile; programs that want to be alone wait for these.
"""

from __future__ import annotations

import contextlib
import signal
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

import pytest

from hooks import devices, programs, results
from hooks.errors import GuideError
from hooks.runner import Result, Runner

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hooks.programs import Program
    from hooks.runner import BlockLike


class Shared:
    """The runner of a session, what was asked of it, and what came out of the cache."""

    def __init__(self) -> None:
        self.runner: Runner | None = None
        self.futures: dict[str, Future[Any]] = {}
        self.cached: set[str] = set()
        self.ahead = True  # what is asked for now, no test waits for yet

    def ask(self, key: str, program: Program | None, device: str, submit: Any) -> Future[Any]:
        """Return the future kept under `key`; else one from the cache, else one of a job submitted now.

        A test that asks for what is not done waits for it: nothing is held back from then on.
        """
        future = self._find(key, program, device, submit)
        if self.runner is not None and not self.ahead and not future.done():
            self.runner.hold(False)
        return future

    def _find(self, key: str, program: Program | None, device: str, submit: Any) -> Future[Any]:
        if key in self.futures:
            return self.futures[key]
        kept = results.load(key, program=program, device=device)
        future: Future[Any]
        if kept is not None:
            future = Future()
            future.set_result(kept[0] if program else kept)
            self.cached.add(key)
        else:
            future = _stored(key, submit())
        self.futures[key] = future
        return future


SHARED = pytest.StashKey[Shared]()
# For the blocks of a page.
SECONDS = 60.0


def runner_of(config: pytest.Config) -> Runner:
    """Return the one runner of this session; it is made when first asked for and closed with the session.

    Programs that want to be alone wait in it until a test waits for one, or until there is nothing else to do.
    """
    shared = config.stash[SHARED]
    if shared.runner is None:
        shared.runner = Runner()
        shared.runner.hold(True)
    return shared.runner


def device_of(config: pytest.Config) -> str:
    """Return the device of this session: `cpu`, `gpu` or `tpu`."""
    return str(config.getoption("--device"))


def request_program(config: pytest.Config, program: Program) -> Future[Result]:
    """Return the future result of a program on the device of this session."""
    device = device_of(config)

    def submit() -> Future[Result]:
        return runner_of(config).submit_program(program, device)

    return config.stash[SHARED].ask(results.program_key(program, device), program, device, submit)


def request_page(
    config: pytest.Config,
    name: str,
    blocks: Sequence[BlockLike],
    *,
    devices_wanted: int = 4,
) -> Future[list[Result]]:
    """Return the future results of the blocks of a page on the device of this session, one for each block."""
    device = device_of(config)

    def submit() -> Future[list[Result]]:
        return runner_of(config).submit_page(
            name, blocks, device=device, devices_wanted=devices_wanted, seconds=SECONDS
        )

    key = results.page_key(name, blocks, device, devices=devices_wanted, seconds=SECONDS)
    return config.stash[SHARED].ask(key, None, device, submit)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--device`."""
    group = parser.getgroup("guide", "running programs and pages")
    group.addoption("--device", choices=sorted(devices.TABLE), default="cpu", help="where programs run (default: cpu)")


def pytest_configure(config: pytest.Config) -> None:
    """Make the place of the shared runner; SIGTERM ends the session as Ctrl-C does, with all that it started."""
    config.stash[SHARED] = Shared()
    # Not `leave.at_sigterm`: pytest takes the SystemExit of a test for its failure, and goes on.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Another user's folder may not be writable: pytest then remembers no failures, and says so.
    config.addinivalue_line("filterwarnings", "default::pytest.PytestCacheWarning")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Submit what the selected tests will ask for; stop where the device that was asked for is not there."""
    config = session.config
    if config.option.collectonly or not session.items:
        return
    why = devices.present(device_of(config))
    if why:
        raise pytest.UsageError(f"--device={device_of(config)}: {why}")
    waiting = {item for item in session.items if (asked := _ahead(item)) and not asked.done()}
    session.items.sort(key=waiting.__contains__)
    shared = config.stash[SHARED]
    shared.ahead = False
    if len(waiting) == len(session.items) and shared.runner:
        shared.runner.hold(False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Show of a mistake in a program or a record what is wrong and how to correct it, not the source of the test."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, GuideError) and _asks(item):
        report.longrepr = str(call.excinfo.value)
    return report


def pytest_report_header(config: pytest.Config) -> str:
    """Say where programs run, and whether results may come from the cache."""
    kept = "results of unchanged programs come from .cache/runs" if results.reads() else "everything runs anew"
    return f"device: {device_of(config)} ({devices.cores()} cores); {kept}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many jobs ran, how many came from the cache, how long they took and the largest process."""
    shared = config.stash[SHARED]
    done = [
        one.result() for one in shared.futures.values() if one.done() and not one.cancelled() and not one.exception()
    ]
    listed = [result for one in done for result in (one if isinstance(one, list) else [one])]
    if shared.futures:
        took, peak = sum(one.seconds for one in listed), max((one.peak_mib for one in listed), default=0)
        fresh = len(shared.futures) - len(shared.cached)
        terminalreporter.write_line(
            f"jobs: {fresh} run, {len(shared.cached)} from the cache; {took:.0f} s in all, largest process {peak} MiB"
        )
    for problem in sorted(results.problems):
        terminalreporter.write_line(f"warning: {problem}", yellow=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the runner with everything it started, also after Ctrl-C."""
    shared = config.stash.get(SHARED, None)
    if shared is not None and shared.runner is not None:
        shared.runner.close()
        results.sweep(time.time())


def _ahead(item: pytest.Item) -> Future[Any] | None:
    """Ask for what a test will ask for; a mistake is left to the test, which says what is wrong."""
    with contextlib.suppress(GuideError):
        if asked := _asks(item):
            return request_program(item.config, programs.load(asked))
        prefetch = getattr(item, "prefetch", None)
        if callable(prefetch):
            return cast("Future[Any] | None", prefetch())
    return None


def _asks(item: pytest.Item) -> str:
    """Return the path of the program that a test is about; `""` where it is about none."""
    asked = getattr(getattr(item, "callspec", None), "params", {}).get("program")
    return asked if isinstance(asked, str) else ""


def _stored(key: str, running: Future[Any]) -> Future[Any]:
    """Return a future that ends as `running` does, its result stored before anyone gets it, and may forget it."""
    future: Future[Any] = Future()

    def settle(done: Future[Any]) -> None:
        if done.cancelled():
            future.cancel()
            return
        try:
            result = done.result()
            results.store(key, result if isinstance(result, list) else [result])
            future.set_result(result)
        except BaseException as error:
            future.set_exception(error)

    running.add_done_callback(settle)
    return future
