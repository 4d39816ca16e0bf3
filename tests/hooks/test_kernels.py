"""Kernels are asked over sockets in a folder, which go with them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import nbformat
import pytest

from hooks import kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

ASK = """
from IPython import get_ipython
app = get_ipython().kernel.parent
print(app.transport, app.ip)
"""


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with room for the path of a socket; that of a test may have none."""
    with TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize("deeper", ["", "a" * kernels.LONGEST], ids=["short", "long"])
def test_a_kernel_is_asked_in_a_folder_and_leaves_no_file(
    deeper: str, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = short / deeper
    place.mkdir(exist_ok=True)
    monkeypatch.setattr(kernels, "gettempdir", lambda: str(place))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ASK)])
    with kernels.client(notebook, timeout=60) as client:
        client.execute(cwd=str(short))
    said = notebook.cells[0].outputs[0].text.strip()
    folder = Path(said.removeprefix("ipc ")).parent
    assert folder.parent == (Path("/tmp") if deeper else place)
    assert folder.name.startswith("guide-kernel-")
    assert not folder.exists()
    assert list(place.iterdir()) == []
