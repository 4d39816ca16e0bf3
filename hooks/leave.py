"""Let SIGTERM and Ctrl-C end a command of the project: with all that it started, and a message, not a traceback."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable


def at_sigterm() -> None:
    """Let SIGTERM end this process as an exception does: on the way out it removes temporary folders."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def run(main: Callable[[], int | None]) -> NoReturn:
    """Run a command and leave with the code that it returns.

    Either signal ends it as an exception does: on the way out it ends what it started and removes temporary folders.
    """
    at_sigterm()
    try:
        code = main()
    except KeyboardInterrupt:
        print("interrupted: all processes are ended", file=sys.stderr)
        code = 128 + signal.SIGINT
    sys.exit(code)
