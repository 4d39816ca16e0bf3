"""Labs run from their scripts; what a run does otherwise than the record says is named by cell and line."""

from __future__ import annotations

import copy
import errno
import os
import re
from pathlib import Path, PosixPath
from types import SimpleNamespace

import nbformat
import pytest
from mkdocs.exceptions import PluginError

from hooks import devices, here, lab_runs, labs
from hooks import record as commands
from hooks.errors import GuideError
from tests.plugin_blocks import LabItem

SCRIPT = """\
# %%
print("rows:", 4)
print("a step takes 1.5 ms")

# %% [markdown]
# ## A picture

# %%
from IPython.display import SVG, display
display(SVG("<svg xmlns='http://www.w3.org/2000/svg'/>", metadata={"alt": "Nothing, in 1.5 ms"}))
[0.1 + 0.2]
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, nbformat.NotebookNode]:
    """Return a lab with its record, and a run of it."""
    script = tmp_path_factory.mktemp("lab") / "one.py"
    script.write_text(SCRIPT, "utf8")
    record = lab_runs.record(script, device="cpu", hardware="any")
    return script, nbformat.read(record, as_version=4)


def test_it_does_not_see_the_home_of_who_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There IPython would find settings that change what a cell shows."""
    settings = tmp_path / "home" / ".ipython" / "profile_default" / "ipython_kernel_config.py"
    settings.parent.mkdir(parents=True)
    settings.write_text("get_config().InteractiveShellApp.exec_lines = ['rows = 5']\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    script = tmp_path / "one.py"
    script.write_text("# %%\nprint('rows' in globals())\n", "utf8")
    (cell,) = lab_runs.run(script).cells
    assert [output.text for output in cell.outputs] == ["False\n"]


def test_it_does_not_see_the_settings_of_who_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "ipython" / "profile_default" / "ipython_kernel_config.py"
    settings.parent.mkdir(parents=True)
    settings.write_text("get_config().InteractiveShellApp.exec_lines = ['rows = 5']\n")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    script = tmp_path / "one.py"
    script.write_text("# %%\nprint('rows' in globals())\n", "utf8")
    (cell,) = lab_runs.run(script).cells
    assert [output.text for output in cell.outputs] == ["False\n"]


def test_a_record_names_no_place_of_this_machine(tmp_path: Path) -> None:
    script = tmp_path / "one.py"
    script.write_text("# %%\nimport tempfile\n\n# %%\nprint(tempfile.gettempdir())\n", "utf8")
    with pytest.raises(GuideError, match=r"one\.py:5: its record would name a place of this machine \(/.*guide-lab-"):
        lab_runs.record(script, device="cpu", hardware="any")
    assert not script.with_suffix(".ipynb").exists()


def test_a_place_with_letters_of_any_language_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "one.py"
    script.write_text("# %%\n1\n", "utf8")
    output = nbformat.v4.new_output("stream", text="in /home/jürgen/guide/hooks")
    cell = nbformat.v4.new_code_cell("1", outputs=[output])
    monkeypatch.setattr(lab_runs, "run", lambda script, device: nbformat.v4.new_notebook(cells=[cell]))
    monkeypatch.setattr(here, "_NAMED", here._patterns(Path("/home/jürgen/guide"))[0])
    with pytest.raises(GuideError, match=r"one\.py:2: its record would name a place of this machine \(/home/jürgen/"):
        lab_runs.record(script, device="cpu", hardware="any")


def test_a_run_like_the_record_differs_in_nothing(recorded: tuple[Path, nbformat.NotebookNode]) -> None:
    script, fresh = recorded
    assert lab_runs.differences(script, fresh, "cpu") == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "rows: 4",
            "rows: 5",
            r"one\.ipynb:\d+: output of cell 1, line 1: it printed 'rows: 4', the record says 'rows: 5'",
        ),
        ("takes 1.5 ms", "takes 1.5 s", "output of cell 1, line 2"),
        ("takes 1.5 ms", "takes 2.5 ms", ""),
        ('"alt": "Nothing', '"alt": "Something', "output of cell 3, line 1: it printed 'image/svg\\+xml: Nothing"),
        ("in 1.5 ms", "in 2.5 ms", ""),
        ("[0.30000000000000004]", "[0.3]", ""),
        ("[0.30000000000000004]", "[0.4]", "output of cell 3, line 3: it printed '\\[0.3"),
    ],
)
def test_an_output_edited_by_hand_is_found(
    recorded: tuple[Path, nbformat.NotebookNode], tmp_path: Path, old: str, new: str, why: str
) -> None:
    script, target = tmp_path / "one.py", tmp_path / "one.ipynb"
    script.write_text(SCRIPT, "utf8")
    before, outputs, after = recorded[0].with_suffix(".ipynb").read_text("utf8").partition(old)
    assert outputs
    target.write_text(before + new + after, "utf8")
    found = [str(one) for one in lab_runs.differences(script, recorded[1], "cpu")]
    if why:
        [said] = found
        assert re.search(why, said)
        assert said.endswith("run `make record ARGS=docs/labs/one.py`.")
    else:
        assert found == []


def test_a_check_compares_with_a_record_of_its_device(
    recorded: tuple[Path, nbformat.NotebookNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    script, fresh = recorded
    other = copy.deepcopy(fresh)
    other.cells[0].outputs[0].text = "rows: 6\n"
    other.cells[2].outputs.clear()
    monkeypatch.setattr(lab_runs, "run", lambda script, device: other)
    with pytest.raises(PluginError, match=r"(?s)cell 1, line 1: it printed 'rows: 6'.*cell 3: nothing was printed"):
        lab_runs.check(script, "cpu")
    monkeypatch.setattr(commands, "ROOT", script.parent)
    done = commands.record_lab(script, "cpu", check=True)
    assert (done.word, "cell 3: nothing was printed" in done.detail) == ("failed", True)
    lab_runs.check(script, "gpu")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("# %%\na = 1\n\n# %%\nb = 0\nprint(a / b)\n", r"bad\.py:6: cell 2 failed: ZeroDivisionError: division by z"),
        ("# %%\ndef f():\n    return [][1]\n\n# %% [markdown]\n# f\n\n# %%\nf()\n", r"bad\.py:3: cell 3 failed: Ind"),
        ("# %%\nx = = 1\n", r"bad\.py:2: cell 1 failed: SyntaxError"),
        ("# %%\nimport json\n\njson.loads('{')\n", r"bad\.py:4: cell 1 failed: JSONDecodeError"),
        ("# %%\n# %matplotlib nothing\n", r"bad\.py.*: cell 1 failed"),
        ("# %%\n1\n\n# %%\nimport os\nos._exit(1)\n", r"bad\.py:5: cell 2 ended the kernel\. "),
        ("# %%\n1\n\n# %%\nwhile True:\n    pass\n", r"bad\.py:5: cell 2 still ran after \d+ s\. "),
    ],
)  # fmt: skip
def test_a_cell_that_fails_is_named_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, why: str
) -> None:
    monkeypatch.setattr(lab_runs, "SECONDS", 8 if "while" in code else 60)
    script = tmp_path / "bad.py"
    script.write_text(code, "utf8")
    with pytest.raises(GuideError, match=why):
        lab_runs.run(script)


def test_a_lab_runs_on_its_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(devices.TABLE, "gpu", devices.Device("gpu", "GPU", env={"WHERE": "fake"}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    script = tmp_path / "where.py"
    script.write_text("# %%\nimport os\nprint(os.environ.get('WHERE'), os.environ['CUDA_VISIBLE_DEVICES'])\n", "utf8")
    config = SimpleNamespace(getoption=lambda name: "gpu")
    monkeypatch.setattr(labs, "PACKAGES", ())
    for device, said in (("cpu", "None -1"), ("gpu", "fake 3")):
        record = lab_runs.record(script, device=device, hardware="any")
        assert nbformat.read(record, as_version=4).cells[0].outputs[0].text.strip() == said
    asked = []
    monkeypatch.setattr(lab_runs, "check", lambda script, device: asked.append(device))
    LabItem._run(SimpleNamespace(path=script, config=config))  # type: ignore[arg-type]
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    commands.record_lab(script, "tpu", check=True)
    assert asked == ["gpu", "tpu"]


def test_a_lab_that_changes_while_it_runs_has_no_record(tmp_path: Path) -> None:
    script = tmp_path / "changes.py"
    script.write_text("# %%\nopen('changes.py', 'a').write('# more')\n", "utf8")
    with pytest.raises(GuideError, match="this lab changed while it ran"):
        lab_runs.record(script, device="cpu", hardware="any")
    assert not script.with_suffix(".ipynb").exists()


def test_a_record_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(PosixPath):
        """A path on a disk that has no space for a text."""

        def write_text(self, *_: object, **__: object) -> int:
            with self.open("w") as file:
                file.write("{")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lab = tmp_path / "one.py"
    lab.write_text("# %%\nprint(1)\n", "utf8")
    record = lab.with_suffix(".ipynb")
    record.write_text("as it was")
    old = record.read_text("utf8")
    monkeypatch.setattr(lab_runs, "run", lambda script, device: nbformat.v4.new_notebook())
    with pytest.raises(OSError, match="No space left"):
        lab_runs.record(Full(lab), device="cpu", hardware="any")
    assert record.read_text("utf8") == old
    assert sorted(file.name for file in lab.parent.iterdir()) == [record.name, lab.name]


def test_what_a_lab_leaves_in_the_folder_for_temporary_files_goes(tmp_path: Path) -> None:
    script = tmp_path / "leaves.py"
    script.write_text("# %%\nimport tempfile\nprint(tempfile.mkdtemp())\n", "utf8")
    (cell,) = lab_runs.run(script).cells
    assert not Path(cell.outputs[0].text.strip()).exists()


def test_a_test_that_fails_says_where_and_shows_no_traceback() -> None:
    error = GuideError("docs/labs/one.py", 3, "cell 1 failed", "correct the cell")
    said = LabItem.repr_failure(SimpleNamespace(), SimpleNamespace(value=error))  # type: ignore[arg-type]
    assert said == "docs/labs/one.py:3: cell 1 failed. Fix: correct the cell."
