"""Kernels are asked over sockets in a folder, which go with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import nbformat
import psutil
import pytest

from hooks import kernels
from hooks.errors import ROOT
from tests import child
from tests.until import LONG

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
        kernels.execute(client, cwd=str(short))
    said = notebook.cells[0].outputs[0].text.strip()
    folder = Path(said.removeprefix("ipc ")).parent
    assert folder.parent == (Path("/tmp") if deeper else place)
    assert folder.name.startswith("guide-kernel-")
    assert not folder.exists()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_kernel_and_the_command(how: signal.Signals, tmp_path: Path) -> None:
    """What executes the notebook would take it for itself, and the command would go on."""
    there, script = tmp_path / "there", tmp_path / "lab.py"
    (temporary := tmp_path / "tmp").mkdir()
    script.write_text(f"# %%\nimport pathlib, time\npathlib.Path({str(there)!r}).touch()\ntime.sleep({LONG})\n", "utf8")
    code = "import sys, pathlib\nfrom hooks import lab_runs, leave\n"
    code += "leave.run(lambda: lab_runs.run(pathlib.Path(sys.argv[1])) and 0)"
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    with child.started([sys.executable, "-c", code, str(script)], env=env, stderr=subprocess.PIPE) as command:
        command.wait_for(there.exists)
        family = command.look()
        assert family
        command.process.send_signal(how)
        said = command.process.communicate(timeout=child.PATIENCE)[1]
        assert command.process.returncode == 128 + how
        assert "Traceback" not in said
        assert psutil.wait_procs(family, timeout=child.PATIENCE)[1] == []
    assert list(temporary.iterdir()) == []
