"""Run one notebook up to its first error, in a folder and with processes that are gone afterwards."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import psutil
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from hooks import kernels
from tests.official.stubs.sitecustomize import NO_NETWORK

if TYPE_CHECKING:
    from collections.abc import Sequence

STUBS = Path(__file__).with_name("stubs")
MARK = "OFFICIAL_RUN"
# Lines that install what is installed, or would change it.
INSTALLS = re.compile(r"^\s*[!%]\s*(?:sudo )?(?:pip3?|apt|apt-get)\b(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
SHELL_INSTALLS = re.compile(r"^\s*(?:pip3?|apt|apt-get)\s.*$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
RAISED = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning): .+$", re.MULTILINE)
# What differs from run to run.
VARIES = (
    (re.compile(r" at 0x[0-9a-f]+"), ""),
    (re.compile(r"/(?:tmp|var|home|root|work)/\S*?(?=[\s'\",:)]|$)"), "..."),
    (re.compile(r"(?:localhost|127\.0\.0\.1):\d+"), "localhost:..."),
)
LONGEST = 160


@dataclass(frozen=True)
class Outcome:
    """What a run found.

    Attributes:
        judged: `runs`, `fails`, or why it cannot be judged: `download`, `package`, `slow`.
        error: the first error, as `Type: text`; for a package its name; empty where there is none.
        cell: which code cell it was, from 1; 0 where there is none.
        cells: how many code cells the notebook has.
    """

    judged: str
    error: str
    cell: int
    cells: int

    def code(self) -> str:
        """Return the error in backticks; empty where there is none."""
        error = self.error.replace("`", "'")
        return f"`{error}`" if error else ""


def prepared(source: str) -> str:
    """Return a cell's code without the lines that install packages."""
    source = INSTALLS.sub("pass", source)
    return SHELL_INSTALLS.sub("true", source) if source.lstrip().startswith("%%") else source


def run(notebook: Any, *, seconds: float, extra: Sequence[str] = ()) -> Outcome:
    """Run the code cells of a notebook in order until one fails.

    Args:
        notebook: as nbformat reads it; it is changed.
        seconds: the longest time that one cell may take.
        extra: folders with packages that the notebooks install and the lock file does not have.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        cell.source = prepared(cell.source)
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        here, temporary = Path(folder) / "here", Path(folder) / "tmp"
        for each in (here, temporary):
            each.mkdir()
        executed = kernels.client(notebook, timeout=seconds, resources={"metadata": {"path": str(here)}})
        judged, error = "runs", ""
        try:
            with executed as client:
                kernels.execute(client, env=environment(mark, extra, temporary))
        except CellTimeoutError:
            judged = "slow"
        except DeadKernelError:
            judged, error = "fails", "DeadKernelError: the process of the notebook died"
        except CellExecutionError as failed:
            judged, error = judge(failed, code)
        finally:
            end(mark)
    ran = [n for n, cell in enumerate(code, start=1) if cell.get("execution_count")]
    at = next((n for n, cell in enumerate(code, start=1) if _failed(cell)), (ran or [0])[-1])
    return Outcome(judged, error, at if judged != "runs" else 0, len(code))


def judge(failed: CellExecutionError, code: list[Any]) -> tuple[str, str]:
    """Return how an error is judged, and its text."""
    cell = next((cell for cell in code if _failed(cell)), None)
    text = f"{failed.ename}: {failed.evalue}"
    # A stream comes in pieces that end anywhere.
    said = "".join(output.get("text", "") for output in (cell.outputs if cell else []) if "text" in output)
    raised = RAISED.findall(COLOUR.sub("", said))
    if failed.ename == "CalledProcessError" and raised:
        text = raised[-1]  # what the process said before it ended with a status
    if NO_NETWORK in text or NO_NETWORK in said:
        return "download", ""
    if missing := re.match(r"ModuleNotFoundError: No module named '([\w.]+)'", text):
        name = missing[1]
        # What the notebook wants from a package that is here is the notebook's error.
        return ("fails", short(text)) if "." in name else ("package", name)
    return "fails", short(text)


def short(text: str) -> str:
    """Return the first lines of an error without what differs from run to run, at most `LONGEST` characters."""
    text = COLOUR.sub("", text)
    for pattern, new in VARIES:
        text = pattern.sub(new, text)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 4].rsplit(" ", 1)[0] + " ..."


def environment(mark: str, extra: Sequence[str], temporary: Path) -> dict[str, str]:
    """Return the environment of a notebook: the stand-ins first, no GPU, this Python as `python`.

    Args:
        mark: of the run.
        extra: folders with packages.
        temporary: the place for temporary files, which goes with the run.
    """
    path = os.pathsep.join([str(STUBS), *extra])
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PATH": programs,
        "CUDA_VISIBLE_DEVICES": "-1",
        "MPLBACKEND": "Agg",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TMPDIR": str(temporary),
        MARK: mark,
    }


def end(mark: str) -> None:
    """End every process that a run has started and that is still there."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                process.kill()


def load(path: Path) -> Any:
    """Read a notebook of any version."""
    return nbformat.read(path, as_version=4)


def _failed(cell: Any) -> bool:
    return any(
        output.output_type == "error" for output in cell.outputs
    ) and "raises-exception" not in cell.metadata.get("tags", [])
