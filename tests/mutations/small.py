"""A small project with one of everything that the checks look at, and no TensorFlow: what the mutations change."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = "docs/demo/plain.md"
HOME = "docs/index.md"
HOW = "docs/how.md"
PROGRAM = "snippets/demo/plain.py"
RECORD = "snippets/demo/plain.cpu.json"
OUTCOMES = "locks/other/outcomes.json"
LOCKED = "locks/other/requirements.txt"
LAB = "docs/labs/tiny.py"
LAB_RECORD = "docs/labs/tiny.ipynb"
CONFIG = "mkdocs.yml"
README = "README.md"
GLOSSARY = "docs/glossary.md"
CURRICULUM = "docs/curriculum.toml"

FILES = {
    HOME: """\
---
description: The home of a small guide.
---
# Home

See [the page](demo/plain.md), [a part of it](demo/plain.md#nested), [the lab](labs/tiny.ipynb) and [how](how.md).

<!-- guide:totals -->
""",
    HOW: """\
---
description: How it is verified.
---
# How this is verified

<!-- guide:verification -->

<!-- guide:errors demo -->
""",
    GLOSSARY: """\
---
description: Two words.
---
# Glossary

### Sum

What an addition gives. [OEIS](https://oeis.org/wiki/Sum)

### Addend

What is added. [OEIS](https://oeis.org/wiki/Addend)
""",
    CURRICULUM: '[sums]\nP1 = "Three numbers have a sum."\n',
    PAGE: """\
---
description: One of everything.
---
# Plain

It says {{ demo/plain.py:answer }}. Back [home](../index.md).

![A dot](../assets/dot.png)

```python {#lst-total}
--8<-- "demo/plain.py:total"
```

/// output | demo/plain.py:total
///

/// program | demo/plain.py
///

## Nested

!!! note "Inside a note"

    ```python
    a = 3
    print(a)
    ```

=== "Tab"

    ```python
    print(a * 2)
    ```

=== "Other"

    ```json
    {"a": [1, 2]}
    ```

1.  A list:

    ```yaml
    a: 1
    ```

??? tip "Details"

    ```toml
    a = 1
    ```

/// details | More

```sh
echo hello
```
///

```js
console.log(1 + 1);
```

```text
Just words.
```

```python {data-run="no" data-why="needs a TPU"}
import libtpu
```

/// table | demo/plain.py:sums
Sums, see [the code](#lst-total).
///

/// figure | demo/plain.py:line
    alt: A line that rises.

A line.
///

/// error | demo/plain.py:wrong
Divide by something else.
///

/// quiz | What is the total?
    id: plain-total
    covers: [P1]

- [x] Six. {claim: demo/plain.py:is_six}

    One, two and three.

- [ ] Five. {claim: not demo/plain.py:is_six}

    Three was left out.
///
""",
    PROGRAM: '''\
# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = []
#
# [tool.guide]
# devices = 0
# seconds = 5
# ///
"""Add three numbers."""

# --8<-- [start:total]
total = sum([1, 2, 3])
print("total:", total)
# --8<-- [end:total]

# --8<-- [start:more]
try:
    total / 0
except ZeroDivisionError as error:
    wrong = f"{type(error).__name__}: {error}"
# --8<-- [end:more]

claims = {"is_six": total == 6, "is_five": total == 5}
measures = {"answer": total}
errors = {"wrong": wrong}
figures = {"line": {"kind": "lines", "x": [0, 1, 2], "series": {"a": [0, 1, 2]}, "xlabel": "x", "ylabel": "y"}}
tables = {"sums": {"columns": ["what", "sum"], "rows": [["three", total]]}}
''',
    LAB: """\
# %% [markdown]
# # A tiny lab
#
# It adds.

# %%
print(1 + 1)
""",
    README: """\
# Small

A block: [license](LICENSE).

```sh
echo readme
```
""",
    "CONTRIBUTING.md": "# Contributing\n\n```text\nBe kind.\n```\n",
    "LICENSE": "Free.\n",
    LOCKED: "keras==1.0\ntensorflow==1.0\n",
    OUTCOMES: "{}\n",
}

NAV = """\
nav:
  - Home: index.md
  - Plain: demo/plain.md
  - Lab: labs/tiny.ipynb
  - How: how.md
  - Words: glossary.md
"""


def write(root: Path, *, real: Path) -> None:
    """Write the small project into an empty folder, with the mechanisms and the configuration of the real one.

    Args:
        root: the folder.
        real: the project whose hooks, tests, theme and configuration are taken.
    """
    import shutil

    for name in ("hooks", "docs/assets"):
        shutil.copytree(real / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tests/plugin_blocks.py", "tests/plugin_runner.py", "tests/programs/test_programs.py", "uv.lock"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(real / name, root / name)
    shutil.copy(real / "pyproject.toml", root / "pyproject.toml")
    config = (real / "mkdocs.yml").read_text("utf8")
    config = config.replace(", hooks/prune.py", "")  # it only makes style sheets smaller
    config = re.sub(r"(?m)^  redirects:\n(?:    .*\n)+", "  redirects: {}\n", config)
    (root / CONFIG).write_text(re.sub(r"(?ms)^nav:\n.*?^(?=\S)", NAV + "\n", config, count=1), "utf8")
    (root / "docs/assets/dot.png").write_bytes(DOT)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf8")


# One pixel.
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f6"
    "45400000000049454e44ae426082"
)
