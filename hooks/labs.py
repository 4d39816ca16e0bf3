"""Labs: longer experiments kept as jupytext scripts; the executed notebook beside a script is its record.

`make record` executes a lab and writes the notebook, the tests execute it, the build only shows the record.
mkdocs-jupyter turns the notebook into HTML with 574 kB of style and script in it; `show` keeps the
content and gives it the site's own markup.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import re
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import jupytext
import nbformat
from bs4 import BeautifulSoup, Tag

from hooks import atomic, devices, launch, records
from hooks.cache import remember
from hooks.errors import ROOT, GuideError

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "docs/labs"
PACKAGES = ("tensorflow", "keras", "matplotlib")
SECONDS = 300
IMAGE = re.compile(r"data:image/(?P<kind>png|jpeg|svg\+xml);base64,(?P<data>[A-Za-z0-9+/=\s]+)")


@dataclass
class Lab:
    """A lab as the site shows it: its HTML, its blocks for `verification.json`, and files beside the page."""

    html: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, str | bytes] = field(default_factory=dict)


def scripts(root: Path = ROOT) -> list[Path]:
    """Return the script of every lab."""
    return sorted((root / FOLDER).glob("*.py"))


def run(script: Path, device: str = "cpu") -> nbformat.NotebookNode:
    """Execute a lab in a kernel of its own and return the notebook with what it printed.

    Args:
        script: the lab.
        device: the kind of device, `cpu`, `gpu` or `tpu`.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
        nbclient.exceptions.CellTimeoutError: a cell took too long.
    """
    from nbclient import NotebookClient  # noqa: PLC0415 - only tests and `make record` have it

    notebook = _read(script)
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", allow_errors=False)
    # TensorFlow leaves the bytecode of what it generates in the folder for temporary files.
    with TemporaryDirectory(prefix="guide-lab-") as folder:
        # Where the notebook is read nobody sees the kernel's log, so its start-up lines only get in the way.
        env = {**launch.clean(), **devices.TABLE[device].env, "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": folder}
        del env["MPLBACKEND"]  # a notebook shows figures by a backend of its own
        client.execute(env=env, cwd=str(script.parent))
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
        GuideError: the lab changed while it ran.
        OSError: the record cannot be written; what was there stays.
    """
    start, ran = time.perf_counter(), _sha256(script)
    notebook = run(script, device)
    if _sha256(script) != ran:
        raise GuideError(script, 0, "this lab changed while it ran", "run it again")
    notebook.metadata["guide"] = {
        "sha256": ran,
        "device": device,
        "hardware": hardware,
        "versions": {name: version(name) for name in PACKAGES},
        "recorded": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(time.perf_counter() - start, 1),
    }
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata["language_info"] = {"name": "python"}
    target = script.with_suffix(".ipynb")
    atomic.write(target, nbformat.writes(notebook) + "\n")
    return target


def check(script: Path) -> dict[str, Any]:
    """Return what the record of a lab says about its run.

    Raises:
        GuideError: there is no record, or it is of another version of the script or of the packages.
    """
    cure = f"run `make record ARGS={FOLDER}/{script.name}`"
    target = script.with_suffix(".ipynb")
    if not script.is_file():
        raise GuideError(target, 0, "this notebook has no script", f"write {script.name}, or remove the notebook")
    if not target.is_file():
        raise GuideError(script, 0, "this lab has no record", cure)
    said = nbformat.read(target, as_version=4).metadata.get("guide")
    if not said:
        raise GuideError(target, 0, "this notebook was not written by `make record`", cure)
    if said["sha256"] != _sha256(script):
        raise GuideError(script, 0, "this lab changed after it was recorded", cure)
    locked = records.locked_versions()
    for name, have in said["versions"].items():
        if locked.get(name) != have:
            raise GuideError(script, 0, f"this lab was recorded with {name} {have}, locked is {locked.get(name)}", cure)
    return dict(said)


def show(html: str, *, file: str, root: Path = ROOT) -> Lab:
    """Return a lab as the site shows it.

    Args:
        html: what mkdocs-jupyter made of the notebook.
        file: the notebook's path in the project.
        root: the project.

    Raises:
        GuideError: the record is missing or stale, or the lab shows an image without alt text.
    """
    path = root / file
    said = check(path.with_suffix(".py"))
    record = path.read_text("utf8")
    drawn, figures = remember("labs", [html, file, record], lambda: _show(html, file, path))
    what = (said["recorded"], said["device"].upper(), f"TensorFlow {said['versions']['tensorflow']}", said["hardware"])
    stamp = _escape("Recorded " + " · ".join(what))
    return Lab(
        drawn.replace("</h1>", f'</h1>\n<p class="guide-stamp">{stamp}</p>', 1),
        _entries(path, file, said),
        {path.name: record, **{name: base64.b64decode(data) for name, data in figures.items()}},
    )


def _show(html: str, file: str, path: Path) -> tuple[str, dict[str, str]]:
    """Return the content of a lab in the site's markup, and its figures in base64 by the names of their files."""
    figures: dict[str, str] = {}
    alts = _alts(path)
    soup = BeautifulSoup(html, "html.parser")
    body = soup.select_one(".jp-Notebook")
    if body is None:
        raise GuideError(file, 0, "mkdocs-jupyter made no notebook of this file", "record the lab again")
    out = []
    for cell in body.select(".jp-Cell[id]"):
        if source := cell.select_one(".highlight-ipynb pre"):
            code = "".join(str(part) for part in source.contents)
            out.append(
                f'<div class="language-python highlight lab-code"><pre><code>{code.strip()}\n</code></pre></div>'
            )
            out += [_output(part, figures, file, alts) for part in cell.select(".jp-OutputArea-output")]
        elif text := cell.select_one(".jp-RenderedHTMLCommon"):
            out.append(_prose(text))
    return "\n".join(out), figures


def _output(part: Tag, figures: dict[str, str], file: str, alts: Iterator[str]) -> str:
    image = part.select_one("img")
    if image is not None:
        alt = next(alts, "")
        if not alt:
            raise GuideError(
                file,
                0,
                "the lab shows an image without alt text",
                'write display(figure, metadata={"image/png": {"alt": ...}})',
            )
        found = IMAGE.fullmatch(str(image["src"]))
        if not found:
            raise GuideError(file, 0, "the lab shows an image that is not in its record", "draw it in the lab")
        name = f"figure-{len(figures) + 1}.{found['kind'].partition('+')[0].replace('jpeg', 'jpg')}"
        data = base64.b64decode(found["data"])
        figures[name] = found["data"]
        size = f' width="{width}" height="{height}"' if (width := _size(data)[0]) and (height := _size(data)[1]) else ""
        tag = BeautifulSoup("", "html.parser").new_tag("img", attrs={"src": name, "alt": alt})
        return f'<p class="lab-figure">{str(tag).removesuffix("/>")}{size} loading="lazy"/></p>'
    text = part.select_one("pre")
    if text is None:
        raise GuideError(file, 0, "the lab shows an output that is neither text nor an image", "print it instead")
    shown = _escape(text.get_text().strip())
    return f'<div class="guide-output highlight lab-output"><pre><code>{shown}\n</code></pre></div>'


def _alts(path: Path) -> Iterator[str]:
    """Yield the alt text of each image of the record; mkdocs-jupyter does not hand it on."""
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            for kind in output.get("data", {}):
                if kind.startswith("image/"):
                    yield str(output.metadata.get(kind, {}).get("alt", "")).strip()


def _prose(text: Tag) -> str:
    for link in text.select("a.anchor-link"):
        link["class"], link["title"] = "headerlink", "Link to this section"
    for link in text.select("a[href]"):
        if not urlsplit(str(link["href"])).scheme and not str(link["href"]).startswith("#"):
            # The page is one folder deeper than its source: labs/name/ for labs/name.ipynb.
            link["href"] = "../" + re.sub(r"(?:index)?\.(?:md|ipynb)(#|$)", r"/\1", str(link["href"])).replace(
                "//", "/"
            )
    return "".join(str(part) for part in text.contents).strip()


def _entries(path: Path, file: str, said: dict[str, Any]) -> list[dict[str, Any]]:
    devices = {said["device"]: {"status": "verified", "seconds": said["seconds"], "recorded": said["recorded"]}}
    cells = enumerate(nbformat.read(path, as_version=4).cells, 1)
    return [
        {
            "page": file,
            "line": number,
            "language": "python",
            "sha256": hashlib.sha256(cell.source.encode()).hexdigest(),
            "check": "lab",
            "devices": devices,
        }
        for number, cell in cells
        if cell.cell_type == "code"
    ]


def _read(script: Path) -> nbformat.NotebookNode:
    notebook = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


def _sha256(script: Path) -> str:
    return hashlib.sha256(script.read_bytes()).hexdigest()


def _size(png: bytes) -> tuple[int, int]:
    """Return width and height of a PNG, from its header; zeros for another format."""
    if not png.startswith(b"\x89PNG\r\n\x1a\n"):
        return 0, 0
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
