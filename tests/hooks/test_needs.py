"""A shown part of a program comes with the imports that it uses and that nothing above it on the page shows."""

from __future__ import annotations

import dis
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import markdown
import pytest
from bs4 import BeautifulSoup

from hooks import needs, programs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hooks.blocks import Block

SOURCE = '''\
# /// script
# requires-python = ">=3.11,<3.14"
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

with open(os.devnull) as hidden:
    LIMIT = max(n for n in (1, 2))

# --8<-- [start:fourth]
class Made:
    size = LIMIT


def use(hidden):
    """Use a name of its own, and one of the program."""
    return [LIMIT, hidden, json]
# --8<-- [end:fourth]

# --8<-- [start:fifth]
first = use(Made()), hidden, LIMIT
# --8<-- [end:fifth]

# --8<-- [start:sixth]
print([n for n in first])
# --8<-- [end:sixth]

# --8<-- [start:seventh]
inner = [size for size in first], {size for size in first}, {size: word for size, word in first}
# --8<-- [end:seventh]

size, word = first

claims = {"ran": True}
'''
LOADS, STORES = ("LOAD_NAME", "LOAD_GLOBAL"), ("STORE_NAME", "STORE_GLOBAL")
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
@pytest.mark.parametrize("origin", ["b.py:none", "d.py:first"])
def test_a_wrong_name_is_left_to_those_who_say_it_with_the_line(origin: str) -> None:
    lines = fence(origin).split("\n")
    assert needs.Needs(markdown.Markdown()).run(list(lines)) == lines


@pytest.mark.usefixtures("small")
def test_what_only_the_whole_program_has_is_named_once() -> None:
    page = "\n".join(fence(f"b.py:{part}") for part in ("fourth", "fifth", "sixth"))
    found = [need for need, _ in rendered(page)]
    assert found == ["import json\n# from the whole program: LIMIT", "# from the whole program: hidden", ""]


@pytest.mark.usefixtures("small")
def test_the_names_of_a_comprehension_are_its_own_in_every_python() -> None:
    """From Python 3.12 on, the tables of symbols mix them with those around it."""
    assert rendered(fence("b.py:seventh"))[0][0] == "# from the whole program: first"


@pytest.mark.usefixtures("small")
def test_what_another_program_shows_counts_where_it_is_the_same(tmp_path: Path) -> None:
    page = "\n".join(fence(origin) for origin in ("c.py:fifth", "b.py:sixth"))
    assert [need for need, _ in rendered(page)] == ["# from the whole program: hidden, LIMIT, Made, use", ""]
    other = tmp_path / "a" / "c.py"
    other.write_text(SOURCE.replace("first = use(Made())", "first = use(7)"), "utf8")
    assert [need for need, _ in rendered(page)][1] == "# from the whole program: first"


def test_on_every_page_the_blocks_of_a_program_bind_its_names(
    request: pytest.FixtureRequest, blocks: Callable[[Path], list[Block]]
) -> None:
    """Copied one after the other they bind each name of the program that they use, or say that it is elsewhere."""
    looked = 0
    for file in (request.config.rootpath / "docs").rglob("*.md"):
        had: dict[str, set[str]] = {}
        shown: list[str] = []
        for block in blocks(file):
            if block.language != "python" or not block.section:
                continue
            source = programs.load(block.program).source
            shown.append(block.code)
            bound = had.setdefault(block.program, set())
            # A block of another program counts where this one holds the same lines, perhaps further to the right.
            same = [code for code in shown if flat(code) in flat(source)]
            bound |= stored("\n".join([block.needs, *same])) | set(block.needs.partition(needs.WHOLE)[2].split(", "))
            assert loaded(block.code) & stored(source) <= bound, f"{block.page}:{block.line}"
            card = f"/// program | {block.program}\n"
            assert needs.WHOLE not in block.needs or card in file.read_text("utf8"), f"{block.page}:{block.line}"
            looked += 1
    assert looked > 300


@cache
def flat(code: str) -> str:
    return "\n".join(line.strip() for line in code.strip().split("\n"))


@cache
def stored(source: str) -> frozenset[str]:
    """Return the names that the top level of a module binds, imports among them."""
    steps = dis.get_instructions(compile(source, "module", "exec"))
    return frozenset(step.argval for step in steps if step.opname in STORES)


def loaded(source: str) -> set[str]:
    """Return the names of the top level that a module uses, also inside its functions."""
    codes, found = [compile(source, "module", "exec")], set()
    while codes:
        code = codes.pop()
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
        found |= {step.argval for step in dis.get_instructions(code) if step.opname in LOADS}
    return found
