"""Kernels of notebooks, which are asked over sockets in a folder.

A kernel of Jupyter listens on TCP ports by default, which are looked for first and bound later: two kernels that start
at once can be given the same, and one ends with "Address already in use".
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any

from hooks import busy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbclient import NotebookClient
    from nbformat import NotebookNode

# Bytes of a socket's path, of which macOS takes the fewest: https://man.freebsd.org/cgi/man.cgi?unix(4)
LONGEST = 103
NAME = "guide-kernel-"
START = 60.0  # seconds in which a kernel answers at first, and in which what a cell printed arrives after its end


def place() -> str:
    """Return the folder for temporary files, or /tmp where a socket below that one would have too long a path."""
    usual = gettempdir()
    path = f"{usual}/{NAME}12345678/kernel-ipc-5"
    return usual if len(os.fsencode(path)) <= LONGEST else "/tmp"  # noqa: S108 - a folder in it, of a name of its own


@contextmanager
def client(notebook: NotebookNode, **options: Any) -> Iterator[NotebookClient]:
    """Give what executes a notebook in a kernel of this Python; its sockets go with the `with` block.

    Args:
        notebook: it takes the outputs.
        options: of `NotebookClient`, besides those for the limits of `START`.
    """
    from nbclient import NotebookClient  # noqa: PLC0415 - only tests and `make record` have it

    with TemporaryDirectory(prefix=NAME, dir=place()) as folder:
        seconds = round(busy.stretched(START))
        options |= {"startup_timeout": seconds, "iopub_timeout": seconds}
        made = NotebookClient(notebook, kernel_name="python3", **options)
        # The sockets lie beside this file: https://github.com/jupyter/jupyter_client/blob/main/jupyter_client/connect.py
        made.config.KernelManager.connection_file = f"{folder}/kernel.json"
        made.config.KernelManager.transport = "ipc"
        yield made


def execute(client: NotebookClient, **options: Any) -> None:
    """Execute the notebook; a signal that ends the wait ends the kernel too, and goes on.

    In a thread: in the main one nbclient takes SIGINT and SIGTERM for itself, and raises something else, or nothing
    (https://github.com/jupyter/nbclient/blob/v0.11.0/nbclient/client.py).

    Args:
        client: from `client`.
        options: of `NotebookClient.execute`.
    """
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: asyncio.run(client.async_execute(**options)))
        try:
            running.result()
        finally:
            while not running.done():  # a signal ended the wait
                if process := getattr(getattr(client.km, "provisioner", None), "process", None):
                    process.kill()
                time.sleep(0.1)
