"""Labs run from their scripts, and the site shows the record of the present script in its own markup."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from mkdocs_jupyter import convert
from nbclient.exceptions import CellExecutionError

from hooks import devices, labs
from hooks import record as commands
from hooks.errors import ROOT, GuideError
from tests.plugin_blocks import LabItem

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


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    script = root / labs.FOLDER / "one.py"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT, "utf8")
    labs.record(script, device="cpu", hardware="2 < 3 cores")
    return script


def shown(lab: Path) -> labs.Lab:
    record = lab.with_suffix(".ipynb")
    html = convert.nb2html(str(record), execute=False, allow_errors=False)
    return labs.show(html, file=f"{labs.FOLDER}/{record.name}", root=lab.parents[2])


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
    script = copy(lab, tmp_path)
    record = script.with_suffix(".ipynb")
    record.write_text(nbformat.writes(nbformat.v4.new_notebook()))
    with pytest.raises(GuideError, match="was not written by `make record`"):
        labs.check(script)
    record.unlink()
    with pytest.raises(GuideError, match="has no record"):
        labs.check(script)
    script.unlink()
    with pytest.raises(GuideError, match="has no script"):
        labs.check(script)


def test_an_image_without_alt_text_is_an_error(lab: Path) -> None:
    record = lab.with_suffix(".ipynb")
    text = record.read_text("utf8")
    html = convert.nb2html(str(record), execute=False, allow_errors=False)
    try:
        record.write_text(text.replace('"alt": "A dot"', '"alt": ""'))
        with pytest.raises(GuideError, match="image without alt text"):
            labs.show(html, file=f"{labs.FOLDER}/{record.name}", root=lab.parents[2])
    finally:
        record.write_text(text)


def test_a_failing_cell_fails(tmp_path: Path) -> None:
    script = tmp_path / "bad.py"
    script.write_text("# %%\nprint(1 / 0)\n", "utf8")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        labs.run(script)


def test_a_lab_runs_on_its_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(devices.TABLE, "gpu", devices.Device("gpu", "GPU", env={"WHERE": "fake"}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    script = tmp_path / "where.py"
    script.write_text("# %%\nimport os\nprint(os.environ.get('WHERE'), os.environ['CUDA_VISIBLE_DEVICES'])\n", "utf8")
    config = SimpleNamespace(getoption=lambda name: "gpu")
    monkeypatch.setattr(labs, "PACKAGES", ())
    for device, said in (("cpu", "None -1"), ("gpu", "fake 3")):
        record = labs.record(script, device=device, hardware="any")
        assert nbformat.read(record, as_version=4).cells[0].outputs[0].text.strip() == said
    asked = []
    monkeypatch.setattr(labs, "run", lambda script, device: asked.append(device))
    LabItem._run(SimpleNamespace(path=script, config=config))  # type: ignore[arg-type]
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    commands.record_lab(script, "tpu", check=True)
    assert asked == ["gpu", "tpu"]


def test_a_lab_that_changes_while_it_runs_has_no_record(tmp_path: Path) -> None:
    script = tmp_path / "changes.py"
    script.write_text("# %%\nopen('changes.py', 'a').write('# more')\n", "utf8")
    with pytest.raises(GuideError, match="this lab changed while it ran"):
        labs.record(script, device="cpu", hardware="any")
    assert not script.with_suffix(".ipynb").exists()


def test_a_record_that_cannot_be_written_stays_as_it_was(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = lab.with_suffix(".ipynb")
    old = record.read_text("utf8")
    monkeypatch.setattr(labs, "run", lambda script, device: nbformat.v4.new_notebook())

    def full(self: Path, *_: object, **__: object) -> None:
        with self.open("w") as file:
            file.write("{")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        labs.record(lab, device="cpu", hardware="any")
    assert record.read_text("utf8") == old
    assert sorted(file.name for file in lab.parent.iterdir()) == [record.name, lab.name]


def test_what_a_lab_leaves_in_the_folder_for_temporary_files_goes(tmp_path: Path) -> None:
    script = tmp_path / "leaves.py"
    script.write_text("# %%\nimport tempfile\nprint(tempfile.mkdtemp())\n", "utf8")
    (cell,) = labs.run(script).cells
    assert not Path(cell.outputs[0].text.strip()).exists()


def test_every_lab_has_a_record_of_its_present_script() -> None:
    found = labs.scripts()
    assert found
    for script in found:
        labs.check(script)
    assert {one.stem for one in (ROOT / labs.FOLDER).glob("*.ipynb")} == {script.stem for script in found}
