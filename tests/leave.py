"""Let SIGTERM end a command of the project as an exception does."""

from __future__ import annotations

import signal
import sys


def on_sigterm() -> None:
    """End what this process started, and remove its temporary folders, on the way out when SIGTERM ends it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
