"""Time limits on a busy machine: one that suffices where nothing else runs grows with what else wants the processor."""

from __future__ import annotations

import os
import time

from hooks import devices

# Four times was too short for a program beside three whole runs of the tests and other work.
MOST = 10


def stretched(seconds: float) -> float:
    """Return what a time limit comes to at this moment.

    It grows by the mean number of processes that could run over the last minute (`man 3 getloadavg`) for each core,
    where that is more than 1, and at most `MOST` times: what hangs must end some time.

    Args:
        seconds: the limit on a machine that does nothing else.
    """
    try:
        wanted = os.getloadavg()[0]
    except OSError:  # the system does not say
        return seconds
    return seconds * min(MOST, max(1.0, wanted / devices.cores()))


class Limit:
    """A time limit that begins now. What the machine does is asked when it is reached, not before.

    Args:
        seconds: the limit on a machine that does nothing else.

    Attributes:
        allowed: what it has come to so far.
    """

    def __init__(self, seconds: float) -> None:
        self.allowed = self._seconds = seconds
        self._begun = time.monotonic()

    def left(self) -> float:
        """Return how many seconds are left; 0 where the limit is over, also on a machine as busy as this one is now."""
        gone = time.monotonic() - self._begun
        if gone >= self.allowed:
            self.allowed = max(self.allowed, stretched(self._seconds))
        return max(0.0, self.allowed - gone)
