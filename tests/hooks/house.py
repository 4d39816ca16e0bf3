"""A small house for the markup's tests: one program with a record, in a temporary folder, and pages rendered."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import markdown

from hooks import locks, place, programs, records
from hooks.records import Record

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from hooks.used import Used

PATH = "strategies/mirrored.py"
SOURCE = '''\
# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
# ///
"""Show that every replica holds the same weights."""

# --8<-- [start:setup]
print("replicas: 4 < 5 & more")
# --8<-- [end:setup]

# --8<-- [start:quiet]
x = 1
# --8<-- [end:quiet]

claims = {
    "weights_equal": True,
    "weights_differ": False,
}
'''
QUIZ = """\
# Title

/// quiz | What is true of the *weights*?
    id: weights
    covers: [S2, P1]

- [x] They are equal. {claim: strategies/mirrored.py:weights_equal}

    The gradients are summed.

- [ ] They differ. {claim: strategies/mirrored.py:weights_differ}

    That would be `N` models.

- [ ] Nobody knows. {source: https://www.tensorflow.org/guide/distributed_training}

    The guide says it.
///
"""
MANY = """\
/// quiz | Which are true?
    id: many
    covers: P1 T3

- [x] Equal.
  Indeed. {claim: strategies/mirrored.py:weights_equal and not strategies/mirrored.py:weights_differ}

    Reason one.

- [x] Not different. {claim: not strategies/mirrored.py:weights_differ}

    Reason two.

- [ ] Not equal. {claim: not strategies/mirrored.py:weights_equal}

    Reason three.
///
"""
# What stands between a question's words and its options, in place of the mark of the first option.
STEM = """\
1. First.
2. Then on *two* devices:

```text
if x:
    y = 1
```

- [x]"""
EXTENSIONS = [
    "abbr",
    "admonition",
    "attr_list",
    "footnotes",
    "md_in_html",
    "tables",
    "toc",
    "pymdownx.details",
    "pymdownx.blocks.details",
    "pymdownx.tasklist",
    "pymdownx.highlight",
    "pymdownx.superfences",
    "hooks.extension",
]


def record_of(program: programs.Program, **changes: Any) -> Record:
    """Return the record of the small program, with some of it changed."""
    versions = {name: records.locked_versions()[name] for name in records.packages_of(program)}
    content: dict[str, Any] = {
        "program": program.path,
        "sha256": program.sha256,
        "device": "cpu",
        "hardware": "2 cores, 24 GiB",
        "versions": versions,
        "recorded": "2026-11-21",
        "seconds": 1.5,
        "output": {"setup": "replicas: 4 < 5 & more\n"},
        "claims": {"weights_equal": True, "weights_differ": False},
        "measures": {"speedup_x": 1.8734, "steps": 12, "device": "CPU:0"},
        "errors": {"outside": "ValueError: <b>not</b> in `scope()`"},
        "figures": {"split": {"kind": "bars", "categories": ["a", "b"], "series": {"rows": [1, 2]}}},
        "tables": {
            "matrix": {
                "columns": ["where", "trains", "loss"],
                "rows": [["inside", True, 0.5], ["outside", False, 1.25], [{"text": "other", "note": "rare"}, True, 3]],
            }
        },
    }
    return Record(**(content | changes))


def build(root: Path, patch: pytest.MonkeyPatch, **changes: Any) -> programs.Program:
    """Make `root` the folder of programs, with the small program and its record, and no other lock."""
    file = root / PATH
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE, encoding="utf-8")
    patch.setattr(programs, "SNIPPETS", root)
    patch.setattr(locks, "FOLDER", root / "locks")
    program = programs.load(PATH)
    records.write(record_of(program, **changes))
    return program


def render(text: str, *, page: str = "docs/strategies/page.md") -> tuple[str, Used]:
    """Return a page as HTML, and what it used."""
    source = textwrap.dedent(text)
    with place.rendering(page, source):
        md = markdown.Markdown(extensions=EXTENSIONS)
        return md.convert(source), md.guide  # type: ignore[attr-defined]
