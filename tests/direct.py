"""What the tests start listens on this machine, and is not to be asked for through a proxy of the user's."""

from __future__ import annotations

import os

HERE = "127.0.0.1,localhost"


def ask_directly() -> None:
    """Make this process, and those that it starts, ask this machine directly.

    Source: https://docs.python.org/3/library/urllib.request.html#urllib.request.ProxyHandler
    """
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, [HERE, os.environ.get(name, "")]))
