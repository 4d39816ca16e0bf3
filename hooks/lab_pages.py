"""The page of a lab: its record in the site's own markup.

mkdocs-jupyter turns the notebook into HTML with 574 kB of style and script in it; `show` keeps the
content.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from hooks import links, loud, prose, records
from hooks.active import in_drawing
from hooks.cache import remember
from hooks.errors import ROOT, GuideError, line_of
from hooks.labs import line_of_cell, notebook_of, said, stale
from hooks.notebooks import it_needs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Of an output that holds several kinds, the page of the notebook shows the first.
# Source: https://github.com/jupyter/nbconvert/blob/main/nbconvert/exporters/html.py
DRAWN = ("image/svg+xml", "image/png", "image/jpeg")
# What a lab imports and every notebook has, and what is installed under another name.
THERE = {*sys.stdlib_module_names, "IPython"}
INSTALLED = {"sklearn": "scikit-learn"}
IMPORTED = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
IMAGE = re.compile(r"data:image/(?P<kind>png|jpeg|svg\+xml);base64,(?P<data>[A-Za-z0-9+/=\s]+)")


@dataclass
class Lab:
    """A lab as the site shows it: its HTML, its blocks for `verification.json`, and files beside the page."""

    html: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, str | bytes] = field(default_factory=dict)


def show(html: str, *, file: str, base: str, page: str, root: Path = ROOT) -> Lab:
    """Return a lab as the site shows it.

    Args:
        html: what mkdocs-jupyter made of the notebook.
        file: the notebook's path in the project.
        base: the address of the folder that the notebook's links start from.
        page: the address of its page.
        root: the project.

    Raises:
        GuideError: the record is missing or stale, or the lab has an image without alt text, one that a browser could
            run, or a link that cannot be read. A preview shows a stale one, says so on the page, and logs why.
    """
    path = root / file
    script = path.with_suffix(".py")
    about, wrong, record = said(script), stale(script), path.read_text("utf8")
    if wrong:
        loud.report([wrong])
    drawn, figures = remember("labs", [html, file, record], lambda: _show(html, file, script))
    what = (about["recorded"], about["device"].upper(), f"TensorFlow {about['versions']['tensorflow']}")
    stamp = escape("Recorded " + " · ".join([*what, about["hardware"]]), quote=False)
    return Lab(
        drawn.replace("</h1>", f'</h1>\n<p class="guide-stamp">{stamp}</p>{_warning(wrong) if wrong else ""}', 1),
        _entries(script, file, about),
        {
            path.name: _taken_away(record, base, page),
            **{name: base64.b64decode(data) for name, data in figures.items()},
        },
    )


def _show(html: str, file: str, script: Path) -> tuple[str, dict[str, str]]:
    """Return the content of a lab in the site's markup, and its figures in base64 by the names of their files."""
    figures: dict[str, str] = {}
    alts = _alts(script)
    soup = BeautifulSoup(html, "html.parser")
    body = soup.select_one(".jp-Notebook")
    if body is None:
        raise GuideError(file, 0, "mkdocs-jupyter made no notebook of this file", "record the lab again")
    out = []
    for number, cell in enumerate(body.select(".jp-Cell[id]"), 1):
        if source := cell.select_one(".highlight-ipynb pre"):
            code = "".join(str(part) for part in source.contents)
            out.append(
                f'<div class="language-python highlight lab-code"><pre><code>{code.strip()}\n</code></pre></div>'
            )
            line = line_of_cell(script.with_suffix(".ipynb"), number)
            out += [_output(part, figures, file, line, alts) for part in cell.select(".jp-OutputArea-output")]
        elif text := cell.select_one(".jp-RenderedHTMLCommon"):
            out.append(_prose(text, script))
    return "\n".join(out), figures


def _output(part: Tag, figures: dict[str, str], file: str, line: int, alts: Iterator[str]) -> str:
    """Return an output of the cell that begins at a line of the record; its figure is added to the others."""
    image = part.select_one("img")
    if image is not None:
        alt = next(alts, "")
        if not alt:
            raise GuideError(
                file,
                line,
                "the lab shows an image without alt text",
                'write display(figure, metadata={"image/png": {"alt": ...}})',
            )
        found = IMAGE.fullmatch(str(image["src"]))
        if not found:
            raise GuideError(file, line, "the lab shows an image that is not in its record", "draw it in the lab")
        name = f"figure-{len(figures) + 1}.{found['kind'].partition('+')[0].replace('jpeg', 'jpg')}"
        data = base64.b64decode(found["data"])
        if found["kind"].startswith("svg") and (running := in_drawing(data)):
            raise GuideError(file, line, running[1], "draw it without, or as PNG")
        figures[name] = found["data"]
        size = f' width="{width}" height="{height}"' if (width := _size(data)[0]) and (height := _size(data)[1]) else ""
        tag = BeautifulSoup("", "html.parser").new_tag("img", attrs={"src": name, "alt": alt})
        return f'<p class="lab-figure">{str(tag).removesuffix("/>")}{size} loading="lazy"/></p>'
    text = part.select_one("pre")
    if text is None:
        raise GuideError(file, line, "the lab shows an output that is neither text nor an image", "print it instead")
    shown = escape(text.get_text().strip(), quote=False)
    return f'<div class="guide-output highlight lab-output"><pre><code>{shown}\n</code></pre></div>'


def _alts(script: Path) -> Iterator[str]:
    """Yield the alt text of each image of the record; mkdocs-jupyter does not hand it on."""
    for cell in notebook_of(script).cells:
        for output in cell.get("outputs", []):
            kind = next((kind for kind in DRAWN if kind in output.get("data", {})), "")
            if kind:
                yield str(output.metadata.get(kind, {}).get("alt", "")).strip()


def _prose(text: Tag, script: Path) -> str:
    for link in text.select("a.anchor-link"):
        link["class"], link["title"] = "headerlink", "Link to this section"
    for element in text.select("a[href], img[src]"):
        address = str(element["href" if element.name == "a" else "src"])
        if not links.readable(written := unquote(address)):  # mkdocs-jupyter has escaped the brackets of a host
            cause = f"a link that leads nowhere: {written!r}"
            raise GuideError(script, line_of(script, written), cause, "write an address")
        parts = urlsplit(address)
        if element.name == "a" and parts.path and not (parts.scheme or parts.netloc):
            # The page is one folder deeper than its source: labs/name/ for labs/name.ipynb.
            element["href"] = "../" + prose.below(address)
    return "".join(str(part) for part in text.contents).strip()


def _taken_away(record: str, base: str, page: str) -> str:
    """Return the notebook as a reader downloads it: its links lead to the site, and it says what it needs."""
    notebook = json.loads(record)
    needs = _needs(notebook)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = prose.with_links("".join(cell["source"]), base=base, page=page)
            if needs:
                text, needs = f"{text}\n\n{it_needs(needs)}", []
            cell["source"] = text.splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _needs(notebook: dict[str, Any]) -> list[str]:
    """Return the packages that a lab imports, TensorFlow and Keras in the version of its record."""
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    names = {INSTALLED.get(name, name) for name in IMPORTED.findall(code) if name not in THERE}
    ran = notebook["metadata"]["guide"]["versions"]
    return [f"{name}=={ran[name].rpartition('.')[0]}.*" if name in records.ALWAYS else name for name in sorted(names)]


def _entries(script: Path, file: str, about: dict[str, Any]) -> list[dict[str, Any]]:
    devices = {about["device"]: {"status": "verified", "seconds": about["seconds"], "recorded": about["recorded"]}}
    cells = enumerate(notebook_of(script).cells, 1)
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


def _warning(wrong: GuideError) -> str:
    """Say on the page of a preview that its record is out of date."""
    text = f"{wrong.cause}. {wrong.cure[:1].upper()}{wrong.cure[1:]}."
    title = '<p class="admonition-title">No current record</p>'
    return f'\n<div class="admonition warning guide-stale">{title}<p>{escape(text, quote=False)}</p></div>'


def _size(png: bytes) -> tuple[int, int]:
    """Return width and height of a PNG, from its header; zeros for another format."""
    if not png.startswith(b"\x89PNG\r\n\x1a\n"):
        return 0, 0
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
