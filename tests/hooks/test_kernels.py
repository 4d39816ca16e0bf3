"""Kernels are asked over sockets in a folder, which go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat

from hooks import kernels

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ASK = """
from IPython import get_ipython
app = get_ipython().kernel.parent
print(app.transport, app.ip)
"""


def test_a_kernel_is_asked_in_a_folder_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ASK)])
    with kernels.client(notebook, timeout=60) as client:
        client.execute(cwd=str(tmp_path))
    assert notebook.cells[0].outputs[0].text.startswith(f"ipc {tmp_path}/guide-kernel-")
    assert list(tmp_path.iterdir()) == []
