"""Wait for what another process, a thread or a page brings about."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from hooks import busy

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds: the machine may be doing something else, and what comes at once does not wait for them.
PATIENCE = 120.0
# Seconds that no test waits for: how long what hangs would go on. Whatever ends within half of them was ended.
LONG = 600

Value = TypeVar("Value")


def until(
    condition: Callable[[], Value],
    what: str,
    *,
    seconds: float = PATIENCE,
    sleep: Callable[[float], object] = time.sleep,
) -> Value:
    """Return what a condition returns as soon as that is true.

    Args:
        condition: asked again and again.
        what: is waited for.
        seconds: the longest that it may take; a busy machine has more.
        sleep: waits this many seconds between two questions.

    Raises:
        AssertionError: it is not true in time.
    """
    limit = busy.Limit(seconds)
    while not (value := condition()):
        assert limit.left(), f"after {limit.allowed:.0f} s still missing: {what}"
        sleep(0.05)
    return value
