"""Find the browser that the tests look through."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import BrowserContext

    # The fixture `new_reader`: takes the options of Playwright's `new_context`.
    NewReader = Callable[..., BrowserContext]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = (
    "no Chromium found. Fix: `sudo apt-get install chromium` on Debian, `sudo snap install chromium` on Ubuntu, "
    "or set CHROMIUM to the path of a Chromium or Chrome"
)
# No sandbox: containers do not allow one, and the only pages opened are our own. The rest keeps it off the
# network.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def problems_of(reader: BrowserContext) -> list[str]:
    """Return a list to which each error of a script or in the console is added from now on."""
    problems: list[str] = []
    reader.on("weberror", lambda error: problems.append(str(error.error)))
    reader.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    return problems


def found() -> str | None:
    """Return the browser's path: what CHROMIUM names, else the first known name on PATH; None where there is none."""
    named = os.environ.get("CHROMIUM", "")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def path() -> str:
    """Return the browser's path.

    A test without a browser is skipped with the way to get one; in CI (`CI=true`) it fails.
    """
    if browser := found():
        return browser
    if os.environ.get("CI") == "true":
        pytest.fail(HOW, pytrace=False)
    pytest.skip(HOW)


def wanted() -> str:
    """Return the browser's path, for a command that is no test.

    Raises:
        SystemExit: there is none; the message says how to get one.
    """
    return found() or sys.exit(HOW)
