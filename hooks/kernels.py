"""Kernels of notebooks, which are asked over sockets in a folder.

A kernel of Jupyter listens on TCP ports by default, which are looked for first and bound later: two kernels that start
at once can be given the same, and one ends with "Address already in use".
"""

from __future__ import annotations

from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbclient import NotebookClient
    from nbformat import NotebookNode


@contextmanager
def client(notebook: NotebookNode, **options: Any) -> Iterator[NotebookClient]:
    """Give what executes a notebook in a kernel of this Python; its sockets go with the `with` block.

    Args:
        notebook: it takes the outputs.
        options: of `NotebookClient`.
    """
    from nbclient import NotebookClient  # noqa: PLC0415 - only tests and `make record` have it

    with TemporaryDirectory(prefix="guide-kernel-") as folder:
        made = NotebookClient(notebook, kernel_name="python3", **options)
        # The sockets lie beside this file: https://github.com/jupyter/jupyter_client/blob/main/jupyter_client/connect.py
        made.config.KernelManager.connection_file = f"{folder}/kernel.json"
        made.config.KernelManager.transport = "ipc"
        yield made
