"""The Markdown copy of a page: what it shows, in order, without answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks.markdown_copy import convert
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "https://example.org/guide/a/"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<h2 id="x">A <code>b</code><a class="headerlink" href="#x">P</a></h2>', "## A `b`"),
        (
            '<p>One <a href="../b/#c">link</a>,\n<strong>two</strong> <em>three</em>.</p>',
            "One [link](https://example.org/guide/b/#c), **two** *three*.",
        ),
        ("<ul><li>a</li><li><p>b</p><ul><li>c</li></ul></li></ul>", "- a\n- b\n\n  - c"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        (
            "<table><tr><th>a</th><th>b|c</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "| a | b\\|c |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            '<div class="language-python highlight"><pre><code>a = 1\nb = 2\n</code></pre></div>',
            "```python\na = 1\nb = 2\n```",
        ),
        (
            '<div class="language-python highlight" data-needs="import x&#10;import y"><pre><code>x</code></pre></div>',
            "```python\nimport x\nimport y\n\nx\n```",
        ),
        ("<pre><code>a\n\n\nb</code></pre>", "```text\na\n\n\nb\n```"),
        ("<ul><li><pre><code>a\n\n\nb</code></pre></li></ul>", "- ```text\n  a\n\n\n  b\n  ```"),
        ("<p><code>`x`</code></p>", "`` `x` ``"),
        ("<pre><code>```</code></pre>", "````text\n```\n````"),
        ('<p><svg aria-label="A line."><text>x</text></svg></p>', "[Figure: A line.]"),
        ('<img src="../x.png" alt="A dot">', "![A dot](https://example.org/guide/x.png)"),
        ("<details><summary>More</summary><p>Text</p></details>", "**More**\n\nText"),
        ("<p>a</p><script>b</script><!-- c --><button>d</button>", "a"),
        ('<div class="term-notes" hidden><div>x</div></div>text', "text"),
        ("<p>a ` b <code>c`d</code></p>", "a ` b ``c`d``"),
    ],
)
def test_convert(html: str, expected: str) -> None:
    assert convert(html, PAGE) == f"{expected}\n"


def test_a_question_has_its_options_and_not_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    text = convert(house.render(house.QUIZ)[0], PAGE)
    assert "**Question.** What is true of the *weights*?" in text
    assert "- (A) They are equal.\n- (B) They differ.\n- (C) Nobody knows." in text
    for answer in ("Right", "Wrong", "gradients are summed", "[x]", "claim"):
        assert answer not in text


def test_a_question_has_its_stem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    text = convert(house.render(house.QUIZ.replace("- [x]", house.STEM))[0], PAGE)
    stem = "1. First.\n2. Then on *two* devices:\n\n```text\nif x:\n    y = 1\n```"
    assert f"weights*?\n\n{stem}\n\n- (A) They are equal." in text


def test_outputs_and_values_are_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    page = "It takes {{ strategies/mirrored.py:steps }} steps.\n\n/// output | strategies/mirrored.py:setup\n///\n"
    text = convert(house.render(page)[0], PAGE)
    assert "It takes 12 steps." in text
    assert "```text\nreplicas: 4 < 5 & more\n```" in text
