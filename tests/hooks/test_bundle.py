"""The site's own style sheets and scripts, joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks import bundle
from hooks.errors import GuideError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("css", "short"),
    [
        ("a {\n  color: red;\n}\n/* why */\nb > c,\nd { margin: 0 auto }", "a{color: red;}b > c,d{margin: 0 auto}"),
        ('a::after { content: "x  {  y"; }', 'a::after{content: "x  {  y";}'),
        ("@media (min-width: 1em) and (hover) {\n a { b: c }\n}", "@media (min-width: 1em) and (hover){a{b: c}}"),
    ],
)
def test_style_sheets_lose_what_means_nothing(css: str, short: str) -> None:
    assert bundle.squeeze(css) == short


def test_scripts_lose_comments_of_their_own_line() -> None:
    script = '/* What\n * it does. */\n(() => {\n  // why\n  const a = "/* b */ // c"; // stays\n})();\n'
    assert bundle.strip(script) == '(() => {\nconst a = "/* b */ // c"; // stays\n})();'


def test_code_after_a_comment_stays() -> None:
    script = "/** @type {X} */ const x = 1;\nconst y = 2;\n/* b */\nconst z = 3;"
    assert bundle.strip(script) == "/** @type {X} */ const x = 1;\nconst y = 2;\nconst z = 3;"


def test_a_script_with_text_over_lines_is_left_alone() -> None:
    script = "const a = `\n  // not a comment\n`;"
    assert bundle.strip(script) == script


def test_files_are_joined_in_order(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.js").write_text(f"{name}()\n", "utf-8")
    assert bundle.join(["b.js", "a.js"], tmp_path) == "b()\n;\na()\n;"


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_bytes(b"a {}\n/* \xe9 */\n")
    with pytest.raises(GuideError, match=r"a\.css:2: a character here is not UTF-8"):
        bundle.join(["a.css"], tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(GuideError, match=r"mkdocs\.yml:\d+: `assets/site\.css` does not exist in docs/"):
        bundle.join(["assets/site.css"], tmp_path)


def test_pages_link_the_joined_style_sheet_once_where_the_first_was() -> None:
    def link(name: str) -> str:
        return f'<link rel="stylesheet" href="../assets/{name}">'

    html = f"<head>{link('theme/a.css')}\n{link('theme/b.css')}{link('own.css')}{link('other.css')}</head>"
    assert bundle.joined(html, ["a.css", "b.css", "own.css"], "style.css") == (
        f"<head>{link('style.css')}{link('other.css')}</head>"
    )
