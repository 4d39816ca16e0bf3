"""A mistake in a template of the theme is said with its file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from mkdocs.exceptions import PluginError

from hooks import templates

if TYPE_CHECKING:
    from pathlib import Path

BASE = '<title>{% block title %}{% endblock %}</title>\n{% include "part.html" %}\n'
MAIN = '{% extends "base.html" %}\n{% block title %}{{ page.title }}{% endblock %}\n'


def raised(folder: Path, **files: str) -> Exception:
    """Render `main.html` of our templates over a theme, and return what that raises."""
    ours, theirs = folder / "ours", folder / "theirs"
    for place, texts in ((theirs, {"base": BASE, "part": "a part"}), (ours, {"main": MAIN, **files})):
        place.mkdir()
        for name, text in texts.items():
            (place / f"{name}.html").write_text(text)
    env = Environment(loader=FileSystemLoader([ours, theirs]), undefined=StrictUndefined, autoescape=True)
    with pytest.raises((TemplateError, TypeError)) as error:
        env.get_template("main.html").render(page={"title": "A", "order": None})
    return error.value


@pytest.mark.parametrize(
    ("file", "text", "line", "said"),
    [
        ("main", MAIN.replace("endblock", "endblok"), 2, "TemplateSyntaxError: Encountered unknown tag 'endblok'"),
        (
            "main",
            MAIN.replace("page.title", "page.nobody"),
            2,
            "UndefinedError: 'dict object' has no attribute 'nobody'",
        ),
        ("main", MAIN.replace("page.title", "page.order + 1"), 2, "TypeError: unsupported operand"),
        (
            "main",
            MAIN.replace("page.title", "page.title | shout"),
            2,
            "TemplateAssertionError: No filter named",
        ),
        ("main", MAIN.replace("base", "bas"), 1, "TemplateNotFound: 'bas.html' not found"),
        ("part", "one\n{{ nobody }}\n", 2, "UndefinedError: 'nobody' is undefined"),
        ("part", "one\n{% if %}\n", 2, "TemplateSyntaxError: Expected an expression"),
    ],
)
def test_file_line_and_cause(tmp_path: Path, file: str, text: str, line: int, said: str) -> None:
    mistake = templates.mistake(raised(tmp_path, **{file: text}), tmp_path / "ours")
    assert mistake is not None
    assert re.fullmatch(
        rf"{re.escape(str(tmp_path))}/ours/{file}\.html:{line}: this template cannot be rendered "
        rf"\({re.escape(said)}.*\)\. Fix: correct what stands there, as https://\S+ says\.",
        str(mistake),
    )


def test_what_others_did_stays_as_it_is(tmp_path: Path) -> None:
    broken = raised(tmp_path, part="{{ nobody }}")
    assert templates.mistake(broken, tmp_path / "theirs" / "deeper") is None
    assert templates.mistake(PluginError("a mistake in a page"), tmp_path) is None
    assert templates.mistake(KeyError("page"), tmp_path) is None
