"""A shown part of a program comes with the imports that it uses and that nothing above it on the page shows."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any

import markdown
import pytest
from bs4 import BeautifulSoup

from hooks import kept, needs, programs
from hooks.pages import Pages

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = '''\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Use what it imports."""

import os
import urllib.request
from collections import Counter as Bag, deque

# --8<-- [start:first]
import json

print(json.dumps(1), Bag("a"))
# --8<-- [end:first]

# --8<-- [start:second]
print(os.path.sep, urllib.request, json.dumps(2), deque())
# --8<-- [end:second]

# --8<-- [start:third]
print(os.sep)
# --8<-- [end:third]

claims = {"ran": True}
'''
BAG, DEQUE = "from collections import Counter as Bag", "from collections import deque"


def rendered(page: str) -> list[tuple[str, str]]:
    """Return what each block of a page needs, and its code."""
    extensions = ["attr_list", "pymdownx.highlight", "pymdownx.superfences", "pymdownx.snippets", "hooks.extension"]
    options: dict[str, dict[str, Any]] = {
        "pymdownx.highlight": {"pygments_lang_class": True},
        "pymdownx.snippets": {"base_path": [str(programs.SNIPPETS)], "check_paths": True},
    }
    html = markdown.markdown(page, extensions=extensions, extension_configs=options)
    boxes = BeautifulSoup(html, "html.parser").select(".highlight")
    return [(str(box.get("data-needs", "")), box.get_text()) for box in boxes]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text(SOURCE, "utf8")
    (tmp_path / "a" / "c.py").write_text(SOURCE, "utf8")


def fence(origin: str, header: str = "python") -> str:
    return f'```{header}\n--8<-- "a/{origin}"\n```\n'


@pytest.mark.usefixtures("small")
def test_each_import_comes_once_for_each_program() -> None:
    page = "\n".join(fence(f"{file}.py:{part}") for file in "bc" for part in ("first", "second", "third"))
    found = [need for need, _ in rendered(page)]
    assert found == [BAG, f"import os\nimport urllib.request\n{DEQUE}", ""] * 2


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "header",
    [
        "python",
        " python",
        ".python",
        "{.python}",
        "{ .python #here }",
        "python {#here}",
        'python {#here data-run="no"}',
        'python title="a b"',
        'python hl_lines="1"',
    ],
)
def test_any_header_takes_them(header: str) -> None:
    ((need, code),) = rendered(fence("b.py:third", header))
    assert need == "import os"
    assert code.endswith("print(os.sep)\n")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("page", ["```python\nos.sep\n```", fence("b.py:third", "text"), fence("b.py")])
def test_nothing_else_gets_any(page: str) -> None:
    assert [need for need, _ in rendered(page)] == [""]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("origin", ["b.py:fourth", "d.py:first"])
def test_a_wrong_name_is_left_to_those_who_say_it_with_the_line(origin: str) -> None:
    lines = fence(origin).split("\n")
    assert needs.Needs(markdown.Markdown()).run(list(lines)) == lines


def test_on_every_page_the_blocks_of_a_program_have_its_imports(request: pytest.FixtureRequest) -> None:
    """Copied one after the other, they import each name that they use and that the program imports at its top."""
    pages = Pages(request.config.rootpath)
    looked = 0
    for file in (request.config.rootpath / "docs").rglob("*.md"):
        had: dict[str, set[str]] = {}
        for block in kept.blocks(file, request.config.rootpath, partial(pages.blocks, file)):
            if block.language != "python" or not block.section:
                continue
            bound = had.setdefault(block.program, set())
            bound |= imported(f"{block.needs}\n{block.code}")
            used = {node.id for node in ast.walk(ast.parse(block.code)) if isinstance(node, ast.Name)}
            assert used & imported(programs.load(block.program).source) <= bound, f"{block.page}:{block.line}"
            looked += 1
    assert looked > 300


def imported(source: str) -> set[str]:
    found = [node for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {alias.asname or alias.name.partition(".")[0] for node in found for alias in node.names}
