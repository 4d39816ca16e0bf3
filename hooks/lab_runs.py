"""Execute a lab: write its record, or compare with it what each cell prints and draws.

What the cells print is compared by the rules of `compare`, and of a picture that there is one and its alt text. A cell
that fails is named by its line in the script.
"""

from __future__ import annotations

import datetime
import json
import re
import time
from importlib.metadata import version
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import nbformat

from hooks import atomic, busy, compare, devices, here, kernels, labs, launch, loud
from hooks.errors import GuideError
from hooks.metadata import Options

if TYPE_CHECKING:
    from pathlib import Path

    from nbclient.exceptions import CellExecutionError

SECONDS = 300
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"Cell In\[(?P<cell>\d+)\], line (?P<line>\d+)")


def run(script: Path, device: str = "cpu") -> nbformat.NotebookNode:
    """Execute a lab in a kernel of its own and return the notebook with what it printed.

    Args:
        script: the lab.
        device: the kind of device, `cpu`, `gpu` or `tpu`.

    Raises:
        GuideError: a cell failed, took too long or ended the kernel.
    """
    from nbclient import exceptions  # noqa: PLC0415 - only tests and `make record` have it

    notebook, begun = labs.read(script), [0]
    lines, seconds = _lines(script, notebook), round(busy.stretched(SECONDS))
    executed = kernels.client(
        notebook,
        timeout=seconds,
        allow_errors=False,
        on_cell_start=lambda cell, cell_index: begun.append(cell_index),
    )
    # TensorFlow leaves the bytecode of what it generates in the folder for temporary files.
    with executed as client, TemporaryDirectory(prefix="guide-lab-") as folder:
        # Where the notebook is read nobody sees the kernel's log, so its start-up lines only get in the way.
        env = {**launch.clean(), **devices.TABLE[device].env, "TF_CPP_MIN_LOG_LEVEL": "3"}
        env |= {"TMPDIR": folder, "HOME": folder}  # IPython keeps settings in the home folder
        del env["MPLBACKEND"]  # a notebook shows figures by a backend of its own
        try:
            kernels.execute(client, env=env, cwd=str(script.parent))
        except exceptions.CellExecutionError as error:
            cause = COLOUR.sub("", f"{error.ename}: {error.evalue}").strip().removesuffix(".")
            line = _line(error, notebook, lines) or lines[begun[-1]]
            raise GuideError(script, line, f"cell {begun[-1] + 1} failed: {cause}", "correct the cell") from None
        except exceptions.CellTimeoutError:
            cause = f"cell {begun[-1] + 1} still ran after {seconds} s"
            raise GuideError(script, lines[begun[-1]], cause, "make it do less") from None
        except exceptions.DeadKernelError:
            cause = f"cell {begun[-1] + 1} ended the kernel"
            raise GuideError(script, lines[begun[-1]], cause, "see whether it exits, or takes all memory") from None
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            cell.metadata.pop("execution", None)  # the time of day of each cell says nothing to a reader
    return notebook


def record(script: Path, *, device: str, hardware: str) -> Path:
    """Execute a lab and write its record, the notebook beside it.

    Args:
        script: the lab.
        device: the kind of device, `cpu`, `gpu` or `tpu`.
        hardware: what it ran on, in words.

    Raises:
        GuideError: the lab failed, changed while it ran, or shows a place of this machine.
        OSError: the record cannot be written; what was there stays.
    """
    start, ran = time.perf_counter(), labs.sha256(script)
    notebook = run(script, device)
    if labs.sha256(script) != ran:
        raise GuideError(script, 0, "this lab changed while it ran", "run it again")
    for line, cell in zip(_lines(script, notebook), notebook.cells, strict=True):
        if cause := here.named("its record", json.dumps(cell.get("outputs", []), ensure_ascii=False)):
            raise GuideError(script, line, cause, here.CURE)
    notebook.metadata["guide"] = {
        "sha256": ran,
        "device": device,
        "hardware": hardware,
        "versions": {name: version(name) for name in labs.PACKAGES},
        "recorded": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(time.perf_counter() - start, 1),
    }
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata["language_info"] = {"name": "python"}
    target = script.with_suffix(".ipynb")
    atomic.write(target, nbformat.writes(notebook) + "\n")
    return target


def check(script: Path, device: str) -> None:
    """Execute a lab and compare with its record, where that is of the same kind of device.

    Raises:
        GuideError: it has no current record, fails, or a cell prints something else.
        PluginError: several cells do.
    """
    said = labs.check(script)
    fresh = run(script, device)
    if said["device"] == device:
        loud.report(differences(script, fresh, device))


def differences(script: Path, fresh: nbformat.NotebookNode, device: str) -> list[GuideError]:
    """Return for each cell of a lab the first line that a fresh run prints otherwise than its record says."""
    target = script.with_suffix(".ipynb")
    tolerance = Options().tolerance * devices.TABLE[device].tolerance_factor
    found = compare.output(_outputs(labs.notebook_of(script)), _outputs(fresh), tolerance)
    cure = f"correct the lab, or where the run is right {labs.cure(script)}"
    return [
        GuideError(target, labs.line_of_cell(target, int(one.name)), f"output of cell {one.name}{one.said}", cure)
        for one in found
    ]


def _outputs(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return what each cell that shows something shows, by its number; a picture is a line with its alt text."""
    cells = enumerate(notebook.cells, 1)
    shown = {str(number): "".join(map(_shown, cell.get("outputs", []))) for number, cell in cells}
    return {number: text for number, text in shown.items() if text}


def _shown(output: dict[str, Any]) -> str:
    if "text" in output:
        return str(output["text"])
    about = output.get("metadata", {})
    lines = [
        f"{kind}: {about.get(kind, {}).get('alt', '')}" if kind.startswith("image/") else str(data)
        for kind, data in sorted(output.get("data", {}).items())
    ]
    return "".join(f"{line}\n" for line in lines)


def _lines(script: Path, notebook: nbformat.NotebookNode) -> list[int]:
    """Return the line of the script at which each cell of code begins; 0 for any other, and where it is not found."""
    text, at, lines = script.read_text("utf8"), 0, []
    for cell in notebook.cells:
        code = cell.source if cell.cell_type == "code" else ""
        found = re.compile(rf"^{re.escape(code)}$", re.MULTILINE).search(text, at) if code else None
        lines.append(text.count("\n", 0, found.start()) + 1 if found else 0)
        at = found.end() if found else at
    return lines


def _line(error: CellExecutionError, notebook: nbformat.NotebookNode, lines: list[int]) -> int:
    """Return the innermost line of the script that an error passed through; 0 where it cannot be known."""
    frames = list(FRAME.finditer(COLOUR.sub("", error.traceback)))
    ran = [at for at, cell in enumerate(notebook.cells) if cell.cell_type == "code" and cell.source.strip()]
    if not frames or int(frames[-1]["cell"]) > len(ran):
        return 0
    start = lines[ran[int(frames[-1]["cell"]) - 1]]
    return start + int(frames[-1]["line"]) - 1 if start else 0
