"""What the tests of the runner share besides fixtures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from hooks import busy, programs
from hooks.runner import Result, Runner
from tests import child
from tests.until import until

Make = Callable[..., programs.Program]
PATIENCE = 180  # seconds for a program to end; a busy machine has more, as its supervisor gives it more

Value = TypeVar("Value")


def result_of(future: Future[Value]) -> Value:
    """Wait for a job and return its result."""
    limit = busy.Limit(PATIENCE)
    while not future.done() and (left := limit.left()):
        wait([future], left)
    return future.result(timeout=0)


def run(runner: Runner, program: programs.Program) -> Result:
    return result_of(runner.submit_program(program))


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
