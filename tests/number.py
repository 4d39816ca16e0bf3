"""Numbers on a command line that count something: at least one."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Return a number from 1 on, as a `type` of `argparse`, which also says what is no number.

    Raises:
        argparse.ArgumentTypeError: it is less than 1.
    """
    number = int(text)
    if number < 1:
        msg = f"{number} is less than 1"
        raise argparse.ArgumentTypeError(msg)
    return number


def positives(text: str) -> list[int]:
    """Return several of them, `1,4,16`."""
    return [positive(part) for part in text.split(",")]
