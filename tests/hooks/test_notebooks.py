"""The notebook of a page holds the same blocks, and everything of each program between them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from hooks import busy, cache, notebooks, programs, publish, records
from hooks.blocks import Block
from hooks.busy import stretched
from hooks.fences import fences
from hooks.prose import absolute, to_jupyter, with_links
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

HEAD = (
    '# /// script\n# requires-python = ">=3.11,<3.14"\n# dependencies = ["numpy==2.*"]\n{guide}# ///\n"""Show it."""\n'
)
FIRST = """
hidden = 1

# --8<-- [start:one]
one = hidden + 1
# --8<-- [end:one]

between = one + 1

# --8<-- [start:two]
two = between + 1
# --8<-- [end:two]

claims = {"four": two == 4}
"""
SITE = "https://example.org/guide/"
PAGE = f"{SITE}demo/page/"
REPOSITORY = {"name": "o/r", "branch": "main", "pages_branch": "gh-pages"}


def real(html: str, **cards: str) -> str:
    """Return HTML of the page with its links, where a program has its card on the page that `cards` names."""
    known = {f"demo/{name}.py": url for name, url in cards.items()}
    return publish.links(html, url="demo/page/", file="docs/demo/page.md", repository=REPOSITORY, cards=known)


def add(root: Path, name: str, body: str = FIRST, **guide: Any) -> None:
    lines = "".join(f"# {key} = {json.dumps(value)}\n" for key, value in guide.items())
    text = HEAD.format(guide=f"#\n# [tool.guide]\n{lines}" if guide else "") + body
    file = root / "demo" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf8")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path)
    return tmp_path


def cells(source: str, **cards: str) -> list[tuple[str, str]]:
    """Return kind and text of the cells of a page's notebook, with cards as for `real`."""
    blocks = []
    for fence in fences(source, "docs/demo/page.md"):
        origin = fence.snippet
        program = programs.load(origin.partition(":")[0]) if origin.partition(":")[0].endswith(".py") else None
        section = origin.partition(":")[2]
        code = textwrap.dedent("\n".join(fence.body)) + "\n"
        if program:
            code = program.sections[section].text + "\n" if section else program.source
        run, why = ("no", "needs a TPU") if "data-run" in source.split("\n")[fence.line - 1] else ("", "")
        blocks.append(
            Block("docs/demo/page.md", fence.line, fence.end, fence.language, code, origin=origin, run=run, why=why)
        )
    words = {"title": "Page", "site": SITE, "folder": "demo/", "url": "demo/page/"}
    text = notebooks.notebook(source=source, blocks=blocks, real=partial(real, **cards), **words)
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]


def shows(*origins: str) -> str:
    return "# Page\n" + "".join(f'\nSee:\n\n```python\n--8<-- "{origin}"\n```\n' for origin in origins)


def code(found: list[tuple[str, str]]) -> list[str]:
    return [text for kind, text in found if kind == "code"]


def test_nothing_of_a_program_is_missing(root: Path) -> None:
    add(root, "a.py", devices=0)
    first, second, last = code(cells(shows("demo/a.py:one", "demo/a.py:two")))
    assert first.endswith("one = hidden + 1")
    assert second == "between = one + 1\n\ntwo = between + 1"
    assert last == 'claims = {"four": two == 4}'
    joined = ast.dump(ast.parse("\n".join([first, second, last])))
    assert joined == ast.dump(ast.parse(programs.load("demo/a.py").source))


def test_the_cells_run(root: Path) -> None:
    add(root, "a.py", devices=0)
    names: dict[str, Any] = {}
    for text in code(cells(shows("demo/a.py:two"))):
        exec(text, names)
    assert names["claims"] == {"four": True}


def test_sections_out_of_order_run_once(root: Path) -> None:
    add(root, "a.py", devices=0)
    found = cells(shows("demo/a.py:two", "demo/a.py:one"))
    assert sum("one = hidden + 1" in text for text in code(found)) == 1
    assert ("markdown", "```python\none = hidden + 1\n```") in found


def test_devices_come_first(root: Path) -> None:
    add(root, "a.py")
    first, *_ = code(cells(shows("demo/a.py:one")))
    assert "LogicalDeviceConfiguration()] * 4" in first
    compile(first, "cell", "exec")


@pytest.mark.parametrize(
    ("body", "guide"),
    [
        (FIRST, {"processes": 2, "devices": 0}),
        (FIRST + "print(__file__)\n", {"devices": 0}),
        (FIRST + "import sys\nprint(sys.argv)\n", {"devices": 0}),
    ],
)
def test_what_cannot_share_the_kernel_runs_beside_it(root: Path, body: str, guide: dict[str, Any]) -> None:
    add(root, "a.py", body, **guide)
    found = cells(shows("demo/a.py:one", "demo/a.py:two"))
    written, ran = code(found)
    assert written.startswith("%%writefile a.py\n# /// script")
    assert "--8<--" not in written
    assert '!"{sys.executable}" a.py\nassert _exit_code == 0' in ran
    assert sum(text.startswith("```python") for _, text in found) == 2


def test_variables_reach_a_program_as_they_are_written(root: Path) -> None:
    add(root, "a.py", "import os\n" + FIRST + "print(os.environ['A'])\n", devices=0)
    file = root / "demo" / "a.py"
    env = """# env = {A = '{"b": "$HOME"}'}"""
    file.write_text(file.read_text().replace("# devices = 0\n", f"# devices = 0\n{env}\n"))
    written, ran = code(cells(shows("demo/a.py:one", "demo/a.py:two")))
    (root / "a.py").write_text(written.partition("\n")[2])
    shown = subprocess.run(
        [sys.executable, "-c", ran], cwd=root, check=True, capture_output=True, timeout=busy.stretched(60)
    ).stdout
    assert shown == b'{"b": "$HOME"}\n'


def test_a_python_in_a_folder_with_a_space_runs_a_program(root: Path) -> None:
    add(root, "a.py", FIRST + "print('it', 'ran')\n", processes=2, devices=0)
    written, ran = code(cells(shows("demo/a.py:one")))
    (root / "a.py").write_text(written.partition("\n")[2])
    python = root / "my folder" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (root / "cell.ipy").write_text(f"import sys\nsys.executable = {str(python)!r}\n{ran}\n")
    command = [sys.executable, "-m", "IPython", "--quick", "--no-banner", "cell.ipy"]
    env = {**os.environ, "HOME": str(root), "IPYTHONDIR": str(root / "ipython")}
    done = subprocess.run(command, cwd=root, env=env, check=True, capture_output=True, text=True, timeout=stretched(60))
    assert "it ran" in done.stdout


def test_the_files_that_a_program_needs_are_written_once_before_it(root: Path) -> None:
    add(root, "beside.py", processes=2)
    (root / "demo" / "data.mjs").write_text("// --8<-- [start:x]\nlet x;\n// --8<-- [end:x]\n", "utf8")
    add(root, "a.py", files=["beside.py", "data.mjs"], devices=0)
    add(root, "b.py", files=["beside.py"], devices=0)
    found = code(cells(shows("demo/a.py:one", "demo/b.py:one", "demo/beside.py:one")))
    written = [text.split("\n")[0] for text in found if text.startswith("%%writefile")]
    assert written == [f"%%writefile {name}" for name in ("beside.py", "data.mjs", "a.py", "b.py")]
    assert found[1] == "%%writefile data.mjs\nlet x;"
    ran = [text.split("\n")[-2] for text in found if "_exit_code" in text]
    assert ran == [f'!"{{sys.executable}}" {name}.py' for name in ("a", "b", "beside")]


def test_a_change_of_a_file_that_a_program_needs_changes_the_notebook(root: Path) -> None:
    add(root, "a.py", files=["data.txt"], devices=0)
    for text in ("one", "two"):
        (root / "demo" / "data.txt").write_text(text, "utf8")
        assert f"%%writefile data.txt\n{text}" in code(cells(shows("demo/a.py:one")))


def test_only_the_first_program_is_in_the_kernel(root: Path) -> None:
    add(root, "a.py", devices=0)
    add(root, "b.py", FIRST, devices=2)
    found = code(cells(shows("demo/a.py:one", "demo/b.py:one")))
    assert found[0].startswith("%%writefile logical_devices.py")
    assert [text for text in found if text.startswith("%%writefile b.py")]
    assert "logical_devices.py 2 b.py" in found[-1]


def test_a_section_inside_a_statement_makes_the_program_a_file(root: Path) -> None:
    inside = "\nif True:\n    # --8<-- [start:one]\n    one = 1\n    # --8<-- [end:one]\n    two = 2\n\nclaims = {}\n"
    add(root, "a.py", inside, devices=0)
    assert code(cells(shows("demo/a.py:one")))[0].startswith("%%writefile a.py")


def test_blocks_of_the_page_itself(root: Path) -> None:
    source = '# Page\n\n```python\nx = 1\n```\n\n```json\n{}\n```\n\n```python {data-run="no"}\ny = 1\n```\n'
    found = cells(source)
    assert code(found) == ["x = 1"]
    assert ("markdown", "```json\n{}\n```") in found
    assert ("markdown", "```python\ny = 1\n```\n\nNot run here: needs a TPU.") in found


def test_the_same_page_gives_the_same_bytes(root: Path) -> None:
    add(root, "a.py")
    assert cells(shows("demo/a.py:one")) == cells(shows("demo/a.py:one"))


def test_another_record_gives_another_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")
    program = house.build(tmp_path / "snippets", monkeypatch)
    page = f"# Page\n\nIt does {{{{ {house.PATH}:steps }}}} steps.\n\n```python\nx = 1\n```\n"
    assert any("It does 12 steps." in text for _, text in cells(page))
    records.write(house.record_of(program, measures={"steps": 13}))
    assert any("It does 13 steps." in text for _, text in cells(page))


def test_a_card_that_moves_gives_another_notebook(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")
    page = '# Page\n\n<a href="/__program__/demo/a.py">a</a>\n\n```python\nx = 1\n```\n'
    for url in ("one/", "two/"):
        assert any(f'href="{SITE}{url}#program-demo-a"' in text for _, text in cells(page, a=url))


def test_links_in_the_html_of_a_lab_start_where_its_others_do() -> None:
    text = '[a](b.ipynb) <a href="b.ipynb#c">d</a>'
    assert with_links(text, base=f"{SITE}labs/", page=f"{SITE}labs/a/") == (
        f'[a]({SITE}labs/b/) <a href="{SITE}labs/b/#c">d</a>'
    )


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("## Title {#id .class}", "## Title"),
        ("A [b](../strategies/mirrored.md#x).", "A [b](https://example.org/guide/strategies/mirrored/#x)."),
        (
            "A [b](#x) and [c](https://c.org/d.md).",
            "A [b](https://example.org/guide/demo/page/#x) and [c](https://c.org/d.md).",
        ),
        ("![A dot](../assets/dot.png)", "![A dot](https://example.org/guide/assets/dot.png)"),
        ("[unused]: https://[your-host]/", "[unused]: https://[your-host]/"),
        ("[b]: ../index.md", "[b]: https://example.org/guide/"),
        ("<!-- hidden -->\nA\n\n*[AB]: abc", "A"),
        (
            '!!! note "Title"\n\n    Inside.\n\n    - item\n\n        deeper\n\nAfter.',
            "**Title**\n\nInside.\n\n- item\n\n    deeper\n\nAfter.",
        ),
        (
            'A <a class="x" href="/__root__/a/b.json#c">b</a> <a href="/__source__/Makefile">c</a>',
            f'A <a class="x" href="{SITE}a/b.json#c">b</a> <a href="https://github.com/o/r/blob/main/Makefile">c</a>',
        ),
        (
            '<a href="/__repository__/issues?a=b&amp;c=d">b</a> <a href="/__program__/demo/a.py">c</a>',
            f'<a href="https://github.com/o/r/issues?a=b&amp;c=d">b</a> <a href="{SITE}demo/#program-demo-a">c</a>',
        ),
        (
            """<a href='../x/'>b</a> <img alt="A" src="y.png"> <a href="#z">c</a> <a href="https://c.org/d.md">d</a>""",
            (
                f"""<a href='{SITE}demo/x/'>b</a> <img alt="A" src="{PAGE}y.png"> <a href="{PAGE}#z">c</a> """
                """<a href="https://c.org/d.md">d</a>"""
            ),
        ),
        ('<img alt="A" src="https://[cdn]/a.png">', '<img alt="A" src="https://[cdn]/a.png">'),
        ('`<a href="/__root__/x">`, href="../y/"', '`<a href="/__root__/x">`, href="../y/"'),
        ('=== "Tab"\n\n    Inside.\n', "**Tab**\n\nInside."),
        ("/// details | More\nInside.\n///", "**More**\n\nInside."),
        ("/// output | a/b.py:c\n///\n\nAfter.", "After."),
        (
            "/// quiz | What?\n    id: a\n    covers: [S2]\n\n- [x] A {claim: a/b.py:c}\n\n    R\n///\nAfter.",
            "*Question: [What?](https://example.org/guide/demo/page/)*\n\nAfter.",
        ),
        (
            "/// figure | a/b.py:c\n    alt: A.\n\nCaption.\n///",
            "*Figure: [see the page](https://example.org/guide/demo/page/)*\n\nCaption.",
        ),
        (
            "/// survey | a.json\nCaption.\n///",
            "*Table: [see the page](https://example.org/guide/demo/page/)*\n\nCaption.",
        ),
        ("- item\n\n    continued", "- item\n\n    continued"),
        (
            '`{{ x }}`, `config { ... }`, `"{:.2f}".format(x)`, ``a[0](b) ` <!-- c -->``<!-- `d` --> [e](#f)',
            f'`{{{{ x }}}}`, `config {{ ... }}`, `"{{:.2f}}".format(x)`, ``a[0](b) ` <!-- c -->`` [e]({PAGE}#f)',
        ),
    ],
)
def test_prose(text: str, made: str) -> None:
    assert to_jupyter(text, base=f"{SITE}demo/", page=PAGE, real=partial(real, a="demo/")) == made


def test_a_container_goes_on_after_a_fence_in_it(root: Path) -> None:
    box = "!!! note\n\n    Before.\n\n    ```text\n    x\n    ```\n\n    After.\n"
    head, options = "/// quiz | What?\n    id: a\n    covers: [S2]\n", "- [x] Key {claim: a/b.py:c}\n\n    R\n///\n"
    quiz = f"{head}\n```text\ny\n```\n\n{options}"
    texts = [text for _, text in cells(f"# Page\n\n{box}\n{quiz}\nEnd.\n")]
    assert texts[1:] == [
        "# Page\n\n**Note**\n\nBefore.",
        "```text\nx\n```",
        f"After.\n\n*Question: [What?]({SITE}demo/page/)*\n\nEnd.",
    ]


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("index.md", SITE),
        ("a/index.md#b", f"{SITE}a/#b"),
        ("reindex.md", f"{SITE}reindex/"),
        ("a.md?b=c#d", f"{SITE}a/?b=c#d"),
        ("a.zip?b", f"{SITE}a.zip?b"),
        ("labs/a.ipynb", f"{SITE}labs/a/"),
        ("mailto:a@b.c", "mailto:a@b.c"),
        ("//example.org/a.md", "//example.org/a.md"),
        ("#b", f"{PAGE}#b"),
        ("?b", f"{PAGE}?b"),
    ],
)
def test_absolute_links(target: str, address: str) -> None:
    assert absolute(target, SITE, PAGE) == address


def test_links_under_the_title() -> None:
    made = notebooks.links(path="s/page/page.ipynb", repository=REPOSITORY)
    assert 'href="page.ipynb" download' in made
    assert 'href="https://colab.research.google.com/github/o/r/blob/gh-pages/s/page/page.ipynb"' in made
