"""The script that runs official notebooks, on tiny notebooks of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from hooks import busy
from hooks.errors import ROOT
from tests.official import edits, notebook
from tests.official.__main__ import CHANGES, LIST, RESULT, cells, cure, verdict
from tests.official.edits import Edit
from tests.official.notebook import Outcome, prepared, run, short
from tests.official.stubs import sitecustomize
from tests.until import until

SECONDS = 60.0


def book(*sources: str) -> Any:
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_markdown_cell("# Title"), *(nbformat.v4.new_code_cell(one) for one in sources)]
    return made


def test_a_notebook_that_runs() -> None:
    assert run(book("!pip install nothing-of-this-name", "a = 1", "assert a == 1"), seconds=SECONDS) == Outcome(
        "runs", "", 0, 3
    )


def test_the_first_error_is_kept_and_nothing_after_it_runs(tmp_path: Path) -> None:
    left = tmp_path / "left"
    found = run(book("a = 1", "a.b", f"open({str(left)!r}, 'w')"), seconds=SECONDS)
    assert found == Outcome("fails", "AttributeError: 'int' object has no attribute 'b'", 2, 3)
    assert not left.exists()


def test_a_temporary_file_that_a_notebook_leaves_goes_with_it(tmp_path: Path) -> None:
    told = tmp_path / "told"
    source = f"import tempfile\nopen({str(told)!r}, 'w').write(tempfile.mkdtemp())"
    assert run(book(source), seconds=SECONDS).judged == "runs"
    assert not Path(told.read_text()).exists()


def test_edits_make_a_notebook_run() -> None:
    made = book("a = 1", "b = a.old", "c = a.old")
    edits.apply(made, [Edit("old", "older"), Edit("a.older", "a.real"), Edit("", "import os")])
    assert [cell.source for cell in made.cells if cell.cell_type == "code"] == [
        "import os",
        "a = 1",
        "b = a.real",
        "c = a.real",
    ]
    assert run(made, seconds=SECONDS) == Outcome("runs", "", 0, 4)


def test_an_edit_that_finds_nothing_is_named() -> None:
    with pytest.raises(ValueError, match=r"^no code cell holds 'Title': .* correct the edit in notebooks\.toml$"):
        edits.apply(book("a = 1"), [Edit("Title", "x")])


@pytest.mark.parametrize(
    ("then", "says"),
    [
        (Outcome("runs", "", 0, 4), "every cell runs"),
        (Outcome("fails", "ValueError: `x`", 3, 4), "cell 3 of 4 fails: `ValueError: 'x'`"),
        (Outcome("download", "", 3, 4), "up to a download in cell 3 of 4"),
        (Outcome("package", "z", 3, 4), "up to cell 3 of 4, which needs the package `z`"),
        (Outcome("slow", "", 3, 4), "up to cell 3 of 4, which takes longer than the limit"),
    ],
)
def test_how_far_a_notebook_runs_with_its_edits(then: Outcome, says: str) -> None:
    assert edits.reached(then) == says


def test_edits_are_shown_in_one_cell() -> None:
    assert edits.shown([Edit("a", "b"), Edit("", "c")]) == "`a` → `b`; a first cell: `c`"


def test_a_notebook_that_fails_has_edits_or_a_reason_and_no_other_has() -> None:
    fails, runs = Outcome("fails", "ValueError: x", 3, 4), Outcome("runs", "", 0, 4)
    tried: list[list[Edit]] = []

    def again(known: list[Edit]) -> Outcome:
        tried.append(known)
        return runs

    assert cure({"path": "x"}, runs, again) == ("", "")
    assert cure({"path": "x", "needs": "a TPU"}, fails, again) == ("", "")
    assert cure({"path": "x", "beyond": "None."}, fails, again) == ("None.", "")
    assert tried == []
    assert cure({"path": "x", "edits": [["a", "b"]]}, fails, again) == ("`a` → `b`", "every cell runs")
    assert tried == [[Edit("a", "b")]]
    with pytest.raises(ValueError, match=r"^x fails: give it `edits`, or `beyond` \(notebooks\.toml\)$"):
        cure({"path": "x"}, fails, again)
    with pytest.raises(ValueError, match=r"^x does not fail: take its `edits` or `beyond` out"):
        cure({"path": "x", "edits": [["a", "b"]]}, runs, again)


def test_a_download_and_a_package_are_not_judged() -> None:
    fetch = "import urllib.request\nurllib.request.urlopen('https://example.org')"
    assert run(book(fetch), seconds=SECONDS) == Outcome("download", "", 1, 1)
    assert run(book("import no_such_package"), seconds=SECONDS) == Outcome("package", "no_such_package", 1, 1)


def test_a_cell_that_takes_too_long_leaves_no_process() -> None:
    seconds = f"61.{os.getpid()}"  # of this run: the process is looked for on the whole machine
    source = f"import subprocess\nchild = subprocess.Popen(['sleep', '{seconds}'])\nchild.wait()"
    assert run(book(source), seconds=8.0) == Outcome("slow", "", 1, 1)
    until(
        lambda: not any(seconds in (process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])),
        "the end of what the cell started",
    )


def test_a_failing_script_says_its_own_error() -> None:
    source = '%%bash\npython -c "print(1); raise ValueError(7)"'
    assert run(book(source), seconds=SECONDS) == Outcome("fails", "ValueError: 7", 1, 1)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("!pip install x\nimport y", "pass\nimport y"),
        ("%pip install -q x \\\n  z", "pass"),
        ("%%bash\npip install x\npython main.py", "%%bash\ntrue\npython main.py"),
        ("print('pip install')", "print('pip install')"),
    ],
)
def test_lines_that_install_are_left_out(source: str, expected: str) -> None:
    assert prepared(source) == expected


def test_errors_lose_what_varies() -> None:
    text = "\x1b[31mValueError: <a.B object at 0x7f12ab>\n in '/tmp/xyz/c' at localhost:1234"
    assert short(text) == "ValueError: <a.B object> in '...' at localhost:..."
    assert len(short("word " * 100)) <= notebook.LONGEST


def test_noise_has_the_shape_of_the_data(tmp_path: Path) -> None:
    code = """
import keras, tensorflow_datasets as tfds, tf_keras
(x, y), (a, b) = keras.datasets.mnist.load_data()
assert x.shape[1:] == (28, 28) and len(x) == len(y) and len(a) == len(b) and set(y) == set(range(10))
(again, _), _ = tf_keras.datasets.mnist.load_data()
assert (again == x).all()
(x, y), _ = keras.datasets.cifar10.load_data()
assert x.shape[1:] == (32, 32, 3) and y.shape[1:] == (1,)
both, info = tfds.load("mnist", split=["train[:10%]", "test[5:25]"], as_supervised=True, with_info=True, batch_size=8)
assert info.splits["test"].num_examples > len(list(both[1])) == 3
try:
    keras.utils.get_file("a", "https://example.org/a")
except Exception as error:
    assert "no download in this run" in str(error)
else:
    raise SystemExit("it downloaded")
"""
    env = notebook.environment("test", [], tmp_path)
    command, limit = [sys.executable, "-c", code], busy.stretched(120)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("part", "rows"),
    [
        ("train", slice(None)),
        ("train[:50]", slice(None, 50)),
        ("test[10%:]", slice(20, None)),
        ("test[5:25]", slice(5, 25)),
    ],
)
def test_parts_of_a_data_set(part: str, rows: slice) -> None:
    assert sitecustomize.rows_of(part, 200) == rows


def test_verdicts() -> None:
    assert verdict(Outcome("fails", "ValueError: `x`", 3, 4), "") == ("fails", "`ValueError: 'x'`")
    assert verdict(Outcome("fails", "NotFoundError: y", 3, 4), "a TPU") == ("not judged", "It needs a TPU.")
    assert verdict(Outcome("runs", "", 0, 4), "") == ("runs", "")
    assert verdict(Outcome("package", "z", 1, 4), "") == ("not judged", "It needs the package `z`.")


def test_a_row_links_the_notebook_and_the_page() -> None:
    found = {
        "notebook": "guide/x.ipynb",
        "changed": "2026-01-14",
        "judged": "fails",
        "cell": 3,
        "cells": 9,
        "error": "`E`",
    }
    assert cells({**found, "page": "strategies/index.md"}) == [
        {"text": "guide/x", "href": "https://www.tensorflow.org/guide/x"},
        "2026-01-14",
        "fails in cell 3 of 9",
        "`E`",
        {"text": "Which strategy", "href": "strategies/"},
    ]
    assert cells({**found, "page": "strategies/mirrored.md"})[-1]["href"] == "strategies/mirrored/"


def test_every_listed_notebook_has_a_page_here_and_a_result() -> None:
    listed = tomllib.loads(LIST.read_text("utf-8"))["notebook"]
    assert [entry["page"] for entry in listed if not (ROOT / "docs" / entry["page"]).is_file()] == []
    results = json.loads(RESULT.read_text("utf-8"))["notebooks"]
    assert [found["notebook"] for found in results] == [entry["path"] for entry in listed]
    edited = [entry["path"] for entry in listed if "edits" in entry or "beyond" in entry]
    assert [found["notebook"] for found in results if found["change"]] == edited
    changes = json.loads(CHANGES.read_text("utf-8"))["rows"]
    assert [f"{row[0]['text']}.ipynb" for row in changes] == edited
