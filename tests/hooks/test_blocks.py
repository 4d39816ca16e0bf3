"""Every block of a page is found, wherever it stands; what would hide one is an error with its line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import markdown
import pytest

from hooks import leftovers, origins, programs
from hooks.blocks import Block, blocks_of, is_python, uses_tensorflow
from hooks.errors import GuideError
from hooks.fences import check_slashes, fences

EXTENSIONS = [
    "admonition", "attr_list", "md_in_html", "footnotes", "tables", "pymdownx.details", "pymdownx.blocks.details",
    "pymdownx.blocks.tab", "pymdownx.highlight", "pymdownx.superfences", "pymdownx.tabbed",
]  # fmt: skip
CONFIGS = {"pymdownx.highlight": {"pygments_lang_class": True}, "pymdownx.tabbed": {"alternate_style": True}}


def found(source: str) -> list[Block]:
    html = markdown.markdown(source, extensions=EXTENSIONS, extension_configs=CONFIGS)
    return blocks_of(html=html, source=source, file="docs/page.md")


def error(source: str) -> GuideError:
    with pytest.raises(GuideError) as raised:
        found(source)
    return raised.value


@pytest.mark.parametrize(
    "source",
    [
        "```python\nx = 1\n```",
        "~~~python\nx = 1\n~~~",
        "`````python\nx = 1\n`````",
        "``` python\nx = 1\n```",
        "``` { .python .annotate #here }\nx = 1\n```",
        '```python {#here data-run="no" data-why="y"}\nx = 1\n```',
        '```python title="a notest b"\nx = 1\n```',
        "```.python\nx = 1\n```",
        "!!! note\n\n    ```python\n    x = 1\n    ```",
        '??? note "notest"\n\n    ```python\n    x = 1\n    ```',
        '=== "A"\n\n    ```python\n    x = 1\n    ```',
        "/// details | More\n\n```python\nx = 1\n```\n///",
        "/// tab | A\n\n```python\nx = 1\n```\n///",
        "- item\n\n    ```python\n    x = 1\n    ```",
        "1. item\n\n    - deeper\n\n        ```python\n        x = 1\n        ```",
        "> ```python\n> x = 1\n> ```",
        "!!! note\n\n    - item\n\n        ```python\n        x = 1\n        ```",
        "<div markdown>\n\n```python\nx = 1\n```\n\n</div>",
    ],
)
def test_found_wherever_it_stands(source: str) -> None:
    (block,) = found(source)
    assert block.code.strip() == "x = 1"
    assert block.language == "python"
    assert source.split("\n")[block.line - 1].lstrip(" >").startswith(("```", "~~~"))


def test_what_a_block_says() -> None:
    source = '# T\n\n```textproto {#here data-message="x"}\na: 1\n```\n'
    (block,) = found(source)
    assert (block.line, block.end, block.id, block.run, block.why) == (3, 5, "here", "", "")
    assert block.attributes == {"data-message": "x"}
    assert block.name == "textproto[line 3]"
    assert block.sha256 == hashlib.sha256(b"a: 1\n").hexdigest()


def test_a_section_of_a_program() -> None:
    source = '```python\n--8<-- "demo/plain.py:total"\n```\n'
    html = markdown.markdown("```python\ntotal = 6\n```", extensions=EXTENSIONS, extension_configs=CONFIGS)
    (block,) = blocks_of(html=html, source=source, file="docs/page.md")
    assert (block.origin, block.program, block.section) == ("demo/plain.py:total", "demo/plain.py", "total")
    assert block.name == "plain.py:total[line 1]"
    kept = source.replace("python", 'python {data-run="no" data-why="x"}')
    html = html.replace('class="language-python', 'data-run="no" data-why="x" class="language-python')
    with pytest.raises(GuideError, match="programs are run"):
        blocks_of(html=html, source=kept, file="docs/page.md")


@pytest.mark.parametrize(
    ("source", "line", "cause"),
    [
        ("```\nx\n```", 1, "names no language"),
        ("a\n\n```klingon\nx\n```", 3, "nothing checks the language 'klingon'"),
        ("```py\nx = 1\n```", 1, "nothing checks the language 'py'"),
        ("```mermaid\ngraph\n```", 1, "nothing checks the language 'mermaid'"),
        ("```python notest\nx = 1\n```", 1, "a word that means nothing: 'notest'"),
        ("```python {continuation}\nx = 1\n```", 1, "a word that means nothing"),
        ("```python {#id\nx = 1\n```", 1, "cannot be read"),
        ("```python\nx = 1\n", 1, "never closed"),
        ("- a\n\n    ```python\n    x = 1\n\nb\n", 3, "never closed"),
        ("```text\na\n\n```python\nx = 1\n```", 1, "never closed"),
        ("text\n\n    x = 1\n", 3, "not in a fence"),
        ("<pre><code>x = 1</code></pre>", 1, "not in a fence"),
        ("<!--\n```python\nx = 1\n```\n-->", 2, "does not appear"),
        ("```text\nimport os\n```", 1, "is Python code"),
        ('```python {data-run="no"}\nx = 1\n```', 1, "without a reason"),
        ('```python {data-why="x"}\nx = 1\n```', 1, "data-why without data-run"),
        ('```python {data-run="maybe" data-why="x"}\nx = 1\n```', 1, "means nothing"),
        ('```json {data-run="no" data-why="x"}\n{}\n```', 1, "is never run"),
        ('a\n\n```js {data-runn="no"}\n1\n```', 3, "an attribute that nothing reads: 'data-runn'"),
        ('```toml {data-message="x"}\na = 1\n```', 1, "an attribute that nothing reads: 'data-message'"),
        ("```js {#a #b}\n1\n```", 1, "has 'id' twice"),
        ("""```js {data-run="no" data-why='says "no"'}\n1\n```""", 1, """has '"' in the value of 'data-why'"""),
        ('a\n\n```js {data-run="no" data-why="<host>"}\n1\n```', 3, "has '<' in the value of 'data-why'"),
    ],
)
def test_nothing_is_left_out_in_silence(source: str, line: int, cause: str) -> None:
    raised = error(source)
    assert (raised.file, raised.line) == ("docs/page.md", line)
    assert cause in raised.cause


def test_what_is_drawn_from_records_is_no_block() -> None:
    html = '<div class="guide-output highlight"><pre><code>6\n</code></pre></div>'
    assert blocks_of(html=html, source="/// output | a.py:b\n///\n", file="docs/page.md") == []


def test_lines_count_front_matter() -> None:
    (fence,) = fences("---\ntitle: ```python\n---\n\n```python\nx = 1\n```\n", "docs/page.md")
    assert (fence.line, fence.end) == (5, 7)


def test_shorter_fences_may_stand_inside_longer_ones() -> None:
    (fence,) = fences("````markdown\n```python\nx = 1\n```\n````\n", "docs/page.md")
    assert fence.language == "markdown"


@pytest.mark.parametrize(("text", "line"), [("/// note | a\n", 1), ("a\n\n///\n", 3), ("//// a | b\n///\n", 2)])
def test_slashes_must_close(text: str, line: int) -> None:
    with pytest.raises(GuideError) as raised:
        check_slashes(text, "docs/page.md")
    assert raised.value.line == line


@pytest.mark.parametrize(
    ("html", "source", "line"),
    [
        ("<p><code>python notest\nx = 1\n</code></p>", "a\n\n```python notest\nx = 1\n```", 3),
        ("<p>```python</p>", "a\n```python", 2),
        ("<p>/// detials | More</p>", "/// detials | More", 1),
        ("<p>{{ a.py:b }}</p>", "a\n\n{{ a.py:b }}", 3),
        ('<p>--8&lt;-- "a.py:b"</p>', 'a\n\n--8<-- "a.py:b"', 3),
        ("<p>It is { demo/a.py:b }.</p>", "a\n\nIt is { demo/a.py:b }.", 3),
        ("<p>&lt;!-- a note</p>", "a\n\n<!-- a note", 3),
        ('<table class="guide-cells"><caption><p>{{ a }}</p></caption></table>', "a\n\n{{ a }}", 3),
        ("<p>Six. {claim: a.py:b}</p>", "Six. {claim: a.py:b}", 1),
        ('<p>!!! note "x</p>', 'a\n\n!!! note "x', 3),
        ('<a href="https://[your-host]/v1">it</a>', 'a\n\n<a href="https://[your-host]/v1">it</a>', 3),
        ('<img alt="it" src="https://[x">', '<img alt="it" src="https://[x">', 1),
        ("<p>Word {#anchor}</p>", "Word {#anchor}", 1),
        ("<p>A note.[^1]</p>", "A note.[^1]", 1),
        ("<p>| a | b |\n| 1 | 2 |</p>", "a\n\n| a | b |\n| 1 | 2 |", 3),
        ("<p>Two things:\n* <em>one</em>\n* two</p>", "a\n\nTwo things:\n* *one*\n* two", 3),
        ("<p>In this\n  1. one</p>", "a\n\nIn this\n  1. one", 3),
        ("<p>See [this][nowhere].</p>", "a\n\nSee [this][nowhere].", 3),
        ("<p>a</p>\n<!-- guide:error -->\n", "a\n\n<!-- guide:error -->", 3),
        ("<!--guide:totals-->", "<!--guide:totals-->", 1),
        ("<p>All: <!-- guide:totals --></p>", "All: <!-- guide:totals -->", 1),
        ('<div class="admonition dangr">', 'a\n\n!!! dangr "A"\n    b', 3),
        ('<details class="dangr" open="open">', "- a\n\n    ???+ Dangr\n        b", 3),
        ('<details class="dangr">', "/// details | A\n    type: dangr\n\nb\n///", 2),
    ],
)
def test_leftovers(html: str, source: str, line: int) -> None:
    with pytest.raises(GuideError) as raised:
        leftovers.check(html, source, "docs/page.md")
    assert raised.value.line == line


@pytest.mark.parametrize(
    "html",
    [
        "<p>Write <code># --8&lt;-- [start:name]</code> and <code>{{ a.py:b }}</code>.</p>",
        "<pre><code>```python\n</code></pre>",
        "<p>A wrapped <code>span of\ncode</code>.</p>",
        "<p>f(x) = {a, b}, x[1][2]</p>",
        "<p>It is 3 - 1\n-1, or\n2.5 * 4.</p>\n<ul>\n<li>one\n<ul>\n<li>two - 3</li>\n</ul>\n</li>\n</ul>",
        '<details class="guide-program program"><p>fails: are 3 and 4 for {{node mul}}</p></details>',
        '<details class="guide-data"><table class="guide-cells"><caption>{{ a }}</caption></table></details>',
        "<!-- guide:errors heads -->\n<p>Write <code>&lt;!-- guide:x --&gt;</code></p>\n<!-- guide:totals -->",
    ],
)
def test_no_leftovers(html: str) -> None:
    leftovers.check(html, "", "docs/page.md")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('```python\n--8<-- "no/such.py:x"\n```', 2),
        ('a\n\n--8<-- "no/such.py:x"\n', 3),
        ('```python\nx = 1\n--8<-- "no/such.py:x"\n```', 3),
        ('```python\n--8<-- "no/such.py:1:2"\n```', 2),
        ('```python\n--8<-- "strategies//mirrored.py"\n```', 2),
        ('```python\n--8<-- "./strategies/mirrored.py"\n```', 2),
        ('```toml\n--8<-- "ruff.toml"\n```', 2),
        ("```python\n--8<--\nno/such.py\n--8<--\n```", 2),
    ],
)
def test_snippets_that_lead_nowhere(source: str, line: int) -> None:
    with pytest.raises(GuideError) as raised:
        origins.check(source, "docs/page.md")
    assert raised.value.line == line


def test_a_program_that_is_not_there_is_told_from_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside each program lies a record, whose name is near too."""
    (tmp_path / "a").mkdir()
    for name in ("mirrored.py", "mirrored.cpu.json"):
        (tmp_path / "a" / name).touch()
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path)
    with pytest.raises(GuideError) as raised:
        origins.check('```python\n--8<-- "a/mirored.py:x"\n```', "docs/page.md")
    assert raised.value.cure == "correct the path (did you mean `a/mirrored.py`)"


@pytest.mark.parametrize("path", ["a/.ignore", "a/./b.yaml", "a/node_modules/x.js", "a/.b/x.js"])
def test_a_file_that_no_page_would_follow_is_refused(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a page shows and `programs.files` does not list is in the key of no kept page."""
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path)
    for name in ("a/b.yaml", path):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x: 1\n")
    assert origins.text_of("a/b.yaml") == "x: 1\n"
    with pytest.raises(GuideError) as raised:
        origins.check(f'# A\n\n```yaml\n--8<-- "{path}"\n```', "docs/page.md")
    assert (raised.value.line, path in raised.value.cause) == (4, True)


def test_a_section_ends_with_an_end_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path)
    lines = "// --8<-- [start:render]\nrender();\n// --8<-- [{}:render]\n"
    (tmp_path / "a" / "a.js").write_text(lines.format("End"))
    assert origins.text_of("a/a.js:render") == "render();"
    (tmp_path / "a" / "a.js").write_text(lines.format("start"))
    with pytest.raises(GuideError, match=r"a\.js:1: the section 'render' of snippets/a/a\.js never ends"):
        origins.text_of("a/a.js:render")


def test_python_in_disguise() -> None:
    assert is_python("import os")
    assert is_python("x = 1")
    assert not is_python("3")
    assert not is_python("replicas: 4")


def test_which_blocks_want_devices() -> None:
    assert uses_tensorflow("import os\nimport tensorflow as tf")
    assert uses_tensorflow("from keras import layers")
    assert not uses_tensorflow("print('import tensorflow')")
