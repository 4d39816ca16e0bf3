"""Where the comments of programs stand. They are read on pages, where a line has room for 88 characters."""

from __future__ import annotations

import io
import re
import tokenize

import pytest

from hooks import programs


def trailing(text: str) -> list[int]:
    """Return the numbers of the lines of a program that hold a comment after nothing but closing brackets."""
    return [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and re.fullmatch(r"\s*[])}]+[,:]?\s*", token.line[: token.start[1]])
    ]


def test_no_comment_stands_after_a_closing_bracket() -> None:
    """A comment that is too long for its line makes the formatter break the line, and is left at its end."""
    files = sorted(programs.SNIPPETS.glob("*/*.py"))
    found = [
        f"{file.relative_to(programs.SNIPPETS.parent)}:{number}"
        for file in files
        for number in trailing(file.read_text(encoding="utf-8"))
    ]
    if found:
        lines = "\n".join(found)
        pytest.fail(f"these comments belong on a line of their own, above what they speak of:\n{lines}", pytrace=False)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = f(\n    1\n)  # why\n", [3]),
        ("x = [\n    f(1),\n    g(\n        2\n    ),  # why\n]\n", [5]),
        ("with f(\n    1\n):  # why\n    pass\n", [3]),
        ("# why\nx = f(1)  # how\n", []),
        ('x = """\n)  # text\n"""\n', []),
        ("x = f(\n    1,  # why\n)\n", []),
    ],
)
def test_a_comment_after_closing_brackets_is_found(text: str, lines: list[int]) -> None:
    assert trailing(text) == lines
