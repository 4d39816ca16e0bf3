"""Where keys and values of YAML stand."""

from __future__ import annotations

import pytest

from hooks import yaml_lines

TEXT = "a: !ENV [b, 1]\nlist:\n  - c: d.md\n  - d.md\n---\nb: 2\n"


@pytest.mark.parametrize(("value", "lines"), [("a", [1]), ("b", [1, 6]), ("d.md", [3, 4]), (1, [1]), ("e", [])])
def test_lines(value: object, lines: list[int]) -> None:
    assert yaml_lines.lines_of(TEXT, value) == lines


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (["d"], 1),
        (["a"], 2),
        (["a", "b"], 3),
        (["a", "b", "c"], 5),
        (["a", "b", 1], 6),
        (["a", "b", "e"], 3),
        (["a", "e", "c"], 2),
        (["a", "b", "c", "f"], 5),
        ([], 1),
        (["e"], 1),
    ],
)
def test_the_line_of_a_path(path: list[object], line: int) -> None:
    assert yaml_lines.line_at("d: c, a\na:\n  b:\n    - [c]\n    - c\n    - 1\n", *path) == line
    assert yaml_lines.line_at("", *path) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [(TEXT, None), ("", None), ("a: 1\nb:\n  a: 1\n  c: 2\n  c: 3\n", ("c", 5)), ("a: 1\n'a': 2\n", ("a", 2))],
)
def test_a_key_that_stands_twice(text: str, found: tuple[str, int] | None) -> None:
    assert yaml_lines.twice(text) == found


@pytest.mark.parametrize(
    ("text", "line"), [(TEXT, 0), (r"a: \ud83d", 0), ('a: "\\U0001F680"', 0), ('a:\n  - b\n  - "\\uD83D"', 3)]
)
def test_half_of_a_character(text: str, line: int) -> None:
    assert yaml_lines.cut(text) == line


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a, b]\n",
        "a: &a {c: *a, d: b}\n",
        "a: &a0 [b]\n" + "".join(f"a{n}: &a{n} [{', '.join(9 * [f'*a{n - 1}'])}]\n" for n in range(1, 20)),
    ],
)
def test_aliases_are_followed_once(text: str) -> None:
    assert yaml_lines.lines_of(text, "b") == [1]
    assert yaml_lines.twice(text) is None
