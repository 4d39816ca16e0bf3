"""The site shows the record of a lab's present script in its own markup; what is no such record is an error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import nbformat
import pytest
from bs4 import BeautifulSoup, Tag
from mkdocs_jupyter import convert

from hooks import lab_pages, lab_runs, labs, links, loud
from hooks.errors import ROOT, GuideError

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
# %% [markdown]
# # A lab
#
# See [a page](../demo/page.md#x) and [home](../index.md).

# %%
import sys
print("a < b & c")
print("to the log", file=sys.stderr)

# %%
from IPython.display import Image, display
import base64
dot = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
display(Image(dot, metadata={"alt": "A dot"}))
"""


WHERE = {"base": "https://example.org/guide/labs/", "page": "https://example.org/guide/labs/one/"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    script = root / labs.FOLDER / "one.py"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT, "utf8")
    lab_runs.record(script, device="cpu", hardware="2 < 3 cores")
    return script


def shown(lab: Path) -> lab_pages.Lab:
    record = lab.with_suffix(".ipynb")
    html = convert.nb2html(str(record), execute=False, allow_errors=False)
    return lab_pages.show(html, **WHERE, file=f"{labs.FOLDER}/{record.name}", root=lab.parents[2])


def test_the_record_says_where_and_when(lab: Path) -> None:
    said = labs.check(lab)
    assert said["device"] == "cpu"
    assert said["hardware"] == "2 < 3 cores"
    assert set(said["versions"]) == set(labs.PACKAGES)
    assert said["seconds"] > 0
    assert len(said["sha256"]) == 64


def test_it_is_shown_in_the_sites_own_markup(lab: Path) -> None:
    made = shown(lab)
    assert "<style" not in made.html
    assert "<script" not in made.html
    assert "jp-" not in made.html
    assert '<div class="language-python highlight lab-code"><pre><code>' in made.html
    assert "a &lt; b &amp; c" in made.html
    assert "to the log" not in made.html.replace("&quot;to the log&quot;", "").split("lab-output")[1]
    assert 'href="../../demo/page/#x"' in made.html
    assert 'href="../../"' in made.html
    assert "CPU" in made.html
    assert "2 &lt; 3 cores" in made.html


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("index.md", "../"),
        ("../index.md?a#b", "../../?a#b"),
        ("reindex.md", "../reindex/"),
        ("two.ipynb?a#b", "../two/?a#b"),
        ("../dot.png", "../../dot.png"),
        ("#b", "#b"),
        ("//example.org/a.md", "//example.org/a.md"),
        ("https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_links_lead_from_the_page_to_pages(written: str, address: str) -> None:
    text = BeautifulSoup(f'<div><a href="{written}">There</a></div>', "html.parser").div
    assert isinstance(text, Tag)
    assert lab_pages._prose(text, ROOT / "docs/labs/one.py") == f'<a href="{address}">There</a>'


def test_the_notebook_to_take_away_links_to_the_site(lab: Path) -> None:
    record = lab.with_suffix(".ipynb").read_text("utf8")
    taken = str(shown(lab).files["one.ipynb"])
    assert "[a page](https://example.org/guide/demo/page/#x) and [home](https://example.org/guide/)" in taken
    back = taken.replace("https://example.org/guide/demo/page/#x", "../demo/page.md#x")
    assert back.replace("https://example.org/guide/", "../index.md") == record, "nothing else changes"


def test_the_notebook_to_take_away_says_what_it_needs(lab: Path, tmp_path: Path) -> None:
    script = copy(lab, tmp_path)
    record = script.with_suffix(".ipynb")
    notebook = json.loads(record.read_text("utf8"))
    notebook["cells"][1]["source"] = ["import sys\n", "import tensorflow as tf\n", "from sklearn import svm\n"]
    ran = notebook["metadata"]["guide"]["versions"]["tensorflow"].rpartition(".")[0]
    first, *others = json.loads(lab_pages._taken_away(json.dumps(notebook), WHERE["base"], WHERE["page"]))["cells"]
    said = "".join(first["source"])
    assert said.endswith(
        f"\n\nIt needs `scikit-learn tensorflow=={ran}.*`; "
        "where another version is installed, run `%pip install` with that first."
    )
    assert said.startswith("# A lab")
    assert others == notebook["cells"][1:], "it is said once"


def test_images_become_files_with_their_alt_text(lab: Path) -> None:
    made = shown(lab)
    (name,) = [name for name in made.files if name.endswith(".png")]
    assert f'src="{name}"' in made.html
    assert 'alt="A dot"' in made.html
    assert 'width="1" height="1"' in made.html
    assert 'src="data:' not in made.html


def test_its_cells_are_blocks(lab: Path) -> None:
    first, second = shown(lab).entries
    assert (first["check"], first["language"], first["line"], second["line"]) == ("lab", "python", 2, 3)
    assert first["devices"]["cpu"]["status"] == "verified"


def copy(lab: Path, folder: Path) -> Path:
    script = folder / lab.name
    script.write_text(lab.read_text("utf8"), "utf8")
    script.with_suffix(".ipynb").write_text(lab.with_suffix(".ipynb").read_text("utf8"), "utf8")
    return script


def test_what_is_stale_is_an_error(lab: Path, tmp_path: Path) -> None:
    script = copy(lab, tmp_path)
    labs.check(script)
    script.write_text(SCRIPT + "# more\n", "utf8")
    with pytest.raises(GuideError, match="changed after it was recorded"):
        labs.check(script)


def test_other_versions_are_an_error(lab: Path, tmp_path: Path) -> None:
    script = copy(lab, tmp_path)
    record = json.loads(script.with_suffix(".ipynb").read_text("utf8"))
    record["metadata"]["guide"]["versions"]["keras"] = "0.1"
    script.with_suffix(".ipynb").write_text(json.dumps(record))
    with pytest.raises(GuideError, match=r"recorded with keras 0\.1"):
        labs.check(script)


def test_no_record_no_script_or_another_notebook_is_an_error(lab: Path, tmp_path: Path) -> None:
    folder = tmp_path / labs.FOLDER
    folder.mkdir(parents=True)
    script = copy(lab, folder)
    record = script.with_suffix(".ipynb")
    assert labs.unreadable(tmp_path) == {}
    record.write_text(nbformat.writes(nbformat.v4.new_notebook()))
    why = r"one\.ipynb: this notebook was not written by `make record`: 'sha256' is missing"
    with pytest.raises(GuideError, match=why):
        labs.check(script)
    assert labs.unreadable(tmp_path).keys() == {record}
    record.unlink()
    with pytest.raises(
        GuideError, match=r"one\.py: this lab has no record\. Fix: run `make record ARGS=docs/labs/one\.py`"
    ):
        labs.check(script)
    assert labs.unreadable(tmp_path).keys() == {record}
    script.unlink()
    with pytest.raises(GuideError, match="has no script"):
        labs.check(script)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('  "id": "cell-1",\n', '  "id": "cell-1"\n', r"ipynb:\d+: this is no notebook: it is not JSON"),
        (
            '"cell_type": "code"',
            '"cell_type": "cod"',
            r"ipynb:\d+: this is no notebook: in cell 2 something does not fit",
        ),
        ('"outputs": [', '"output": [', r"in cell 2 .*'output' was unexpected"),
        ('"nbformat": 4', '"nbformat": 3', "it does not say that it has nbformat 4"),
        ('"cells": [', '"cels": [', "ipynb: this is no notebook: 'cells' is missing"),
        ('"recorded": "', '"recorded": "on ', "'recorded' is not a date"),
        ('"keras": "', '"karas": "', "the version of keras is missing"),
        ('a < b & c\\")', 'a < b\\")', r"ipynb:\d+: cell 2 is not that of one\.py"),
    ],
)
def test_a_notebook_edited_by_hand_is_an_error(lab: Path, tmp_path: Path, old: str, new: str, why: str) -> None:
    script = copy(lab, tmp_path)
    record = script.with_suffix(".ipynb")
    text = record.read_text("utf8")
    assert old in text
    record.write_text(text.replace(old, new, 1))
    with pytest.raises(GuideError, match=f"{why}.*`make record ARGS={labs.FOLDER}/one.py`"):
        labs.check(script)


def test_a_file_that_is_no_notebook_at_all_is_an_error(lab: Path, tmp_path: Path) -> None:
    script = copy(lab, tmp_path)
    for content in (b"[]", b"", b"\xff", b'{"nbformat": 4, "nbformat_minor": 5, "cells": 1, "metadata": {}}'):
        script.with_suffix(".ipynb").write_bytes(content)
        with pytest.raises(GuideError, match=r"this (is no notebook|notebook cannot be read)"):
            labs.check(script)
    script.write_bytes(b"\xff")
    with pytest.raises(GuideError, match="a character here is not UTF-8"):
        labs.read(script)


@pytest.mark.parametrize("guide", [3, True, ["sha256"]])
def test_a_record_that_says_nothing_in_a_table_is_an_error(lab: Path, tmp_path: Path, guide: object) -> None:
    script = copy(lab, tmp_path)
    record = script.with_suffix(".ipynb")
    text = json.loads(record.read_text("utf8"))
    text["metadata"]["guide"] = guide
    record.write_text(json.dumps(text), "utf8")
    with pytest.raises(GuideError, match="was not written by `make record`: `guide` of its metadata is no table"):
        labs.check(script)


def test_a_preview_shows_a_stale_lab_and_says_so(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / labs.FOLDER
    folder.mkdir(parents=True)
    script = copy(lab, folder)
    html = convert.nb2html(str(script.with_suffix(".ipynb")), execute=False, allow_errors=False)
    script.write_text(SCRIPT + "# more\n", "utf8")
    monkeypatch.setattr(loud._collector, "serving", True)
    made = lab_pages.show(html, **WHERE, file=f"{labs.FOLDER}/one.ipynb", root=tmp_path)
    assert "guide-stale" in made.html
    assert "changed after it was recorded. Run `make record ARGS=docs/labs/one.py`." in made.html
    said = [record.getMessage() for record in caplog.records if record.name == "mkdocs"]
    assert ["changed after it was recorded" in message for message in said] == [True]
    assert "guide-stale" not in shown(lab).html


def test_an_image_without_alt_text_is_an_error(lab: Path) -> None:
    record = lab.with_suffix(".ipynb")
    text = record.read_text("utf8")
    html = convert.nb2html(str(record), execute=False, allow_errors=False)
    try:
        record.write_text(text.replace('"alt": "A dot"', '"alt": ""'))
        with pytest.raises(GuideError, match=r"one\.ipynb:\d+: the lab shows an image without alt text"):
            lab_pages.show(html, **WHERE, file=f"{labs.FOLDER}/{record.name}", root=lab.parents[2])
    finally:
        record.write_text(text)


def test_of_an_output_of_several_kinds_one_alt_text_is_taken(lab: Path, tmp_path: Path) -> None:
    """The page shows the drawing alone; the next figure has the next text."""
    folder = tmp_path / labs.FOLDER
    folder.mkdir(parents=True)
    record = copy(lab, folder).with_suffix(".ipynb")
    notebook = json.loads(record.read_text("utf8"))
    (output,) = notebook["cells"][2]["outputs"]
    drawing = {"image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'}
    both = {**output, "data": {**output["data"], **drawing}}
    both["metadata"] = {**output["metadata"], "image/svg+xml": {"alt": "Drawn"}}
    notebook["cells"][2]["outputs"] = [both, output]
    record.write_text(json.dumps(notebook, indent=1), "utf8")
    soup = BeautifulSoup(shown(record.with_suffix(".py")).html, "html.parser")
    assert [image["alt"] for image in soup.select(".lab-figure img")] == ["Drawn", "A dot"]


@pytest.mark.parametrize("part", ["<g/>", "<script/>"])
def test_a_drawing_that_a_browser_would_run_is_an_error(lab: Path, tmp_path: Path, part: str) -> None:
    folder = tmp_path / labs.FOLDER
    folder.mkdir(parents=True)
    record = copy(lab, folder).with_suffix(".ipynb")
    notebook = json.loads(record.read_text("utf8"))
    (output,) = notebook["cells"][2]["outputs"]
    output["data"] = {"image/svg+xml": f'<svg xmlns="http://www.w3.org/2000/svg">{part}</svg>'}
    output["metadata"] = {"image/svg+xml": {"alt": "A dot"}}
    record.write_text(json.dumps(notebook, indent=1), "utf8")
    if part == "<g/>":
        assert part in bytes(shown(record.with_suffix(".py")).files["figure-1.svg"]).decode()  # type: ignore[arg-type]
        return
    line = labs.line_of_cell(record, 3)
    assert line
    with pytest.raises(GuideError, match=rf"one\.ipynb:{line}: a drawing .* holds the element `script`"):
        shown(record.with_suffix(".py"))


def test_a_link_that_cannot_be_read_is_an_error(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = lab.with_suffix(".ipynb")
    html = convert.nb2html(str(record), execute=False, allow_errors=False)
    wrong = html.replace("../index.md", "https://[x")
    with pytest.raises(GuideError, match=r"one\.py: a link that leads nowhere: 'https://\[x'"):
        lab_pages.show(wrong, **WHERE, file=f"{labs.FOLDER}/{record.name}", root=lab.parents[2])
    monkeypatch.setattr(links, "readable", lambda address: address != "../index.md")
    with pytest.raises(GuideError, match=r"one\.py:4: a link"):
        lab_pages.show(f"{html} ", **WHERE, file=f"{labs.FOLDER}/{record.name}", root=lab.parents[2])


@pytest.mark.parametrize("written", ["![A dot](https://[host]/a)", "[There](https://[host]/a)"])
def test_an_address_that_cannot_be_read_is_named_with_its_line(written: str, tmp_path: Path) -> None:
    script, record = tmp_path / "one.py", tmp_path / "one.ipynb"
    script.write_text(f"# %% [markdown]\n# {written}\n", "utf8")
    nbformat.write(labs.read(script), record)
    html = convert.nb2html(str(record), execute=False, allow_errors=False)
    text = BeautifulSoup(html, "html.parser").select_one(".jp-RenderedHTMLCommon")
    assert text
    with pytest.raises(GuideError, match=r"one\.py:2: a link that leads nowhere: 'https://\[host\]/a'"):
        lab_pages._prose(text, script)


def test_every_lab_has_a_record_of_its_present_script() -> None:
    found = labs.scripts()
    assert found
    for script in found:
        labs.check(script)
    assert {one.stem for one in (ROOT / labs.FOLDER).glob("*.ipynb")} == {script.stem for script in found}
