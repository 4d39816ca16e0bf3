"""Run the official notebooks and write what they gave: `python -m tests.official CHECKOUT [--only TEXT]`.

CHECKOUT is a clone of https://github.com/tensorflow/docs. The results are docs/coming-from-the-official-tutorials.json,
and beside it what to change in those that fail: the page of that name draws a table from each. They are written as soon
as a notebook has run, so a run that was stopped goes on with `--only`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tomllib
from datetime import UTC, datetime
from importlib.metadata import distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks import atomic, leave
from hooks.errors import ROOT
from tests.official import edits
from tests.official.edits import Edit
from tests.official.notebook import Outcome, load, run

if TYPE_CHECKING:
    from collections.abc import Callable

LIST = Path(__file__).with_name("notebooks.toml")
DOCS = ROOT / "docs"
RESULT = DOCS / "coming-from-the-official-tutorials.json"
CHANGES = RESULT.with_stem(f"{RESULT.stem}-changes")
SECONDS = 240.0
PUBLISHED = "https://www.tensorflow.org/"


def git(checkout: Path, *command: str) -> str:
    """Return what git says about the checkout."""
    asked = ["git", "-C", str(checkout), *command]
    return subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True).stdout.strip()


def verdict(outcome: Outcome, needs: str) -> tuple[str, str]:
    """Return the cells of the table: the verdict in words, and the first error or the reason."""
    if outcome.judged == "fails" and needs:
        return "not judged", f"It needs {needs}."
    why = {
        "download": "It downloads its data.",
        "package": f"It needs the package {outcome.code()}.",
        "slow": "One cell takes longer than the limit.",
    }
    if outcome.judged in why:
        return "not judged", why[outcome.judged]
    return outcome.judged, outcome.code()


def cure(entry: dict[str, Any], outcome: Outcome, again: Callable[[list[Edit]], Outcome]) -> tuple[str, str]:
    """Return what to change in a notebook that failed and how far it ran then, or why no edit helps.

    Args:
        entry: of the list.
        outcome: of the notebook as it is published.
        again: runs it with the edits that it is given.

    Raises:
        ValueError: the notebook fails and the list holds neither, or it does not fail and the list holds one.
    """
    known = [Edit(old, new) for old, new in entry.get("edits", [])]
    fails = outcome.judged == "fails" and "needs" not in entry
    if fails != bool(known or "beyond" in entry):
        wrong = "fails: give it `edits`, or `beyond`" if fails else "does not fail: take its `edits` or `beyond` out"
        raise ValueError(f"{entry['path']} {wrong} ({LIST.name})")
    return (edits.shown(known), edits.reached(again(known))) if known else (entry.get("beyond", ""), "")


def fact(entry: dict[str, Any], outcome: Outcome, changed: str, cured: tuple[str, str]) -> dict[str, Any]:
    """Return what one notebook gave."""
    judged, error = verdict(outcome, entry.get("needs", ""))
    return {
        "notebook": entry["path"],
        "changed": changed,
        "judged": judged,
        "cell": outcome.cell,
        "cells": outcome.cells,
        "error": error,
        "change": cured[0],
        "then": cured[1],
        "page": entry["page"],
    }


def link(found: dict[str, Any]) -> dict[str, str]:
    """Return the link to a notebook's published page, for a table."""
    name = found["notebook"].removesuffix(".ipynb")
    return {"text": name, "href": PUBLISHED + name}


def cells(found: dict[str, Any]) -> list[Any]:
    """Return one notebook as a row of the page's table."""
    title = re.search(r"(?m)^# (.+)$", (DOCS / found["page"]).read_text("utf-8"))
    page = re.sub(r"(^|(?<=/))index\.md$|\.md$", lambda end: "" if "index" in end[0] else "/", found["page"])
    judged = f"fails in cell {found['cell']} of {found['cells']}" if found["judged"] == "fails" else found["judged"]
    return [
        link(found),
        found["changed"],
        judged,
        found["error"],
        {"text": title[1] if title else page, "href": page},
    ]


def main() -> None:
    """Run the notebooks of the list, one after another."""
    parser = argparse.ArgumentParser(prog="python -m tests.official")
    parser.add_argument("checkout", type=Path, help="a clone of tensorflow/docs")
    parser.add_argument("--only", default="", help="run those whose path holds this text, and keep the other results")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the longest time for one cell")
    parser.add_argument("--extra", action="append", default=[], help="a folder with packages that notebooks install")
    asked = parser.parse_args()
    listed = tomllib.loads(LIST.read_text("utf-8"))
    entries = listed["notebook"]
    known = json.loads(RESULT.read_text("utf-8"))["notebooks"] if asked.only and RESULT.is_file() else []
    rows = {found["notebook"]: found for found in known}
    for entry in entries:
        if asked.only not in entry["path"]:
            continue
        path = f"{listed['folder']}/{entry['path']}"
        changed = git(asked.checkout, "log", "-1", "--no-show-signature", "--format=%as", "--", path)

        def again(known: list[Edit], file: Path = asked.checkout / path) -> Outcome:
            book = load(file)
            edits.apply(book, known)
            return run(book, seconds=asked.seconds, extra=asked.extra)

        outcome = again([])
        rows[entry["path"]] = fact(entry, outcome, changed, cure(entry, outcome, again))
        print(f"{entry['path']}: {outcome}", flush=True)
        ordered = [rows[entry["path"]] for entry in entries if entry["path"] in rows]
        write(ordered, asked.checkout, asked.extra)


def write(facts: list[dict[str, Any]], checkout: Path, extra: list[str]) -> None:
    """Write both files: what was run, with what, and the tables made of the facts; the first keeps the facts too."""
    more = {found.metadata["Name"]: found.version for found in distributions(path=extra)} if extra else {}
    head = {
        "made_by": "python -m tests.official CHECKOUT",
        "source": "tensorflow/docs",
        "commit": git(checkout, "rev-parse", "HEAD"),
        "made": datetime.now(UTC).date().isoformat(),
        "versions": {name: version(name) for name in ("tensorflow", "keras", "tf-keras", "numpy", "matplotlib")},
        "more": dict(sorted(more.items())),
    }
    results = {
        "columns": ["official notebook", "last change", "result", "first error", "page here"],
        "rows": [cells(found) for found in facts],
        "notebooks": facts,
    }
    changes = {
        "columns": ["official notebook", "what to change", "how far it runs then"],
        "rows": [[link(found), found["change"], found["then"]] for found in facts if found["change"]],
    }
    for file, content in ((RESULT, results), (CHANGES, changes)):
        atomic.write(file, json.dumps({**head, **content}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    leave.run(main)
