"""Labs: longer experiments kept as jupytext scripts; the executed notebook beside a script is its record.

`lab_runs` executes a lab and writes the notebook, or compares with it; the build only shows the record (`lab_pages`).
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import jupytext
import nbformat

from hooks import errors, records
from hooks.errors import ROOT, GuideError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "docs/labs"
PACKAGES = ("tensorflow", "keras", "matplotlib")
# What a record says about its run.
SAID = ("sha256", "device", "hardware", "versions", "recorded", "seconds")
LONG = 120


def scripts(root: Path = ROOT) -> list[Path]:
    """Return the script of every lab."""
    return sorted((root / FOLDER).glob("*.py"))


def read(script: Path) -> nbformat.NotebookNode:
    """Return the cells of a lab, not executed.

    Raises:
        GuideError: the script is not UTF-8.
    """
    notebook = jupytext.reads(errors.read(script), script.suffix)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


def sha256(script: Path) -> str:
    """Return the digest of a lab's script."""
    return hashlib.sha256(script.read_bytes()).hexdigest()


def cure(script: Path) -> str:
    """Return how to make the record of a lab anew."""
    return f"run `make record ARGS={FOLDER}/{script.name}`"


def notebook_of(script: Path) -> nbformat.NotebookNode:
    """Return the record of a lab, of this version of it or of another.

    Raises:
        GuideError: there is none, or what is there is no notebook.
    """
    target = script.with_suffix(".ipynb")
    if not script.is_file():
        raise GuideError(target, 0, "this notebook has no script", f"write {script.name}, or remove the notebook")
    if not target.is_file():
        raise GuideError(script, 0, "this lab has no record", cure(script))
    try:
        return _notebook(script, target.read_text("utf8"))
    except UnicodeDecodeError as error:
        raise GuideError(target, 0, f"this notebook cannot be read ({error})", cure(script)) from None


def said(script: Path) -> dict[str, Any]:
    """Return what the record of a lab says about its run, of this version of the lab or of another.

    Raises:
        GuideError: there is no record, or `make record` did not write it.
    """
    found = notebook_of(script).metadata.get("guide") or {}
    why = records.wrong(found, SAID) if isinstance(found, dict) else "`guide` of its metadata is no table"
    if not why and (missing := set(PACKAGES) - found["versions"].keys()):
        why = f"the version of {min(missing)} is missing"
    if why:
        cause = f"this notebook was not written by `make record`: {why}"
        raise GuideError(script.with_suffix(".ipynb"), 0, cause, cure(script))
    return dict(found)


def unreadable(root: Path = ROOT) -> dict[Path, GuideError]:
    """Return what is wrong with each notebook that no page can be made of, also of those that are not there."""
    found = {}
    for script in sorted({path.with_suffix(".py") for path in [*scripts(root), *(root / FOLDER).glob("*.ipynb")]}):
        try:
            said(script)
        except GuideError as wrong:
            found[script.with_suffix(".ipynb")] = wrong
    return found


def stale(script: Path) -> GuideError | None:
    """Return why the record of a lab is not of its present script and packages; None where it is.

    Raises:
        GuideError: there is no record, or `make record` did not write it.
    """
    about, target = said(script), script.with_suffix(".ipynb")
    if about["sha256"] != sha256(script):
        return GuideError(script, 0, "this lab changed after it was recorded", cure(script))
    cells = [[(cell.cell_type, cell.source) for cell in one.cells] for one in (read(script), notebook_of(script))]
    for number, (written, recorded) in enumerate(zip_longest(*cells), 1):
        if written != recorded:
            cause = f"cell {number} is not that of {script.name}"
            return GuideError(target, line_of_cell(target, number), cause, cure(script))
    locked = records.locked_versions()
    for name, have in about["versions"].items():
        if locked.get(name) != have:
            cause = f"this lab was recorded with {name} {have}, locked is {locked.get(name)}"
            return GuideError(script, 0, cause, cure(script))
    return None


def check(script: Path) -> dict[str, Any]:
    """Return what the record of a lab says about its run.

    Raises:
        GuideError: there is no record, or it is of another version of the script or of the packages.
    """
    if wrong := stale(script):
        raise wrong
    return said(script)


def line_of_cell(target: Path, number: int) -> int:
    """Return the line of a notebook's file at which a cell begins, counted from 1; 0 where it has no such cell."""
    return errors.line_in(target.read_text("utf8"), f'"id": "cell-{number - 1}"')


@lru_cache(maxsize=16)
def _notebook(script: Path, text: str) -> nbformat.NotebookNode:
    """Read the text of a lab's record and check that it is a notebook."""
    target = script.with_suffix(".ipynb")
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or (data.get("nbformat"), data.get("nbformat_minor")) != (4, 5):
            raise _broken(target, 0, "it does not say that it has nbformat 4.5")
        nbformat.validate(data)
        return nbformat.reads(text, as_version=4)
    except json.JSONDecodeError as error:
        raise _broken(target, error.lineno, f"it is not JSON ({error.msg})") from None
    except KeyError as error:
        raise _broken(target, 0, f"{error} is missing") from None
    except (nbformat.ValidationError, AttributeError, TypeError) as error:
        path, why = list(getattr(error, "absolute_path", ())), str(getattr(error, "message", error))
        number = path[1] + 1 if path[:1] == ["cells"] and len(path) > 1 else 0
        where = f"in cell {number} " if number else ""
        # A message may hold the whole cell, with its pictures.
        why = why if len(why) < LONG else "something does not fit the schema of nbformat"
        raise _broken(target, line_of_cell(target, number), where + why) from None


def _broken(target: Path, line: int, why: str) -> GuideError:
    return GuideError(target, line, f"this is no notebook: {why}", cure(target.with_suffix(".py")))
