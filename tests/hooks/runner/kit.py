"""What the tests of the runner share besides fixtures."""

from __future__ import annotations

from collections.abc import Callable

from hooks import programs
from hooks.runner import Result, Runner
from tests import child
from tests.until import until

Make = Callable[..., programs.Program]
PATIENCE = 180  # seconds for a program to end; the machine may be doing something else


def run(runner: Runner, program: programs.Program) -> Result:
    return runner.submit_program(program).result(timeout=PATIENCE)


def line_of(program: programs.Program, needle: str) -> int:
    return program.source[: program.source.index(needle)].count("\n") + 1


def until_gone(*pids: int) -> None:
    """Wait until these processes are gone; a moment may pass until the system has buried them."""
    until(lambda: not any(map(child.lives, pids)), f"the end of the processes {pids}")


def error_of(runner: Runner, program: programs.Program) -> str:
    result = run(runner, program)
    assert not result.ok
    assert result.record is None
    assert result.error
    return result.error
