"""The site's own style sheets and scripts, joined."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hooks import bundle
from hooks.errors import GuideError


@pytest.mark.parametrize(
    ("css", "short"),
    [
        ("a {\n  color: red;\n}\n/* why */\nb > c,\nd { margin: 0 auto }", "a{color: red;}b > c,d{margin: 0 auto}"),
        ('a::after { content: "x  {  y"; }', 'a::after{content: "x  {  y";}'),
        ('a::after { content: "/* x */"; }\n/* it\'s */\nb { c: d }', 'a::after{content: "/* x */";}b{c: d}'),
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


DRAWN = """a{mask:url("data:image/svg+xml;charset=utf-8,<svg xmlns='http://www.w3.org/2000/svg'/>")}"""


@pytest.mark.parametrize(
    ("css", "fetches"),
    [
        (DRAWN, False),
        ("a{b:url( 'data:image/png;base64,AA==')}", False),
        ("a{b:url(data:,)}", False),
        ("a{b:url( data:,)}", False),
        ('a{b:url("a.png")}', True),
        ("a{b:url(  'a.png')}", True),
        ("a{b:url(../a.png)}", True),
        ('@import "a.css";', True),
        (DRAWN + "a{b:url(a.png)}", True),
    ],
)
def test_what_a_style_sheet_holds_is_not_fetched(css: str, fetches: bool) -> None:
    assert (bundle._FETCHED.search(css) is not None) == fetches


def test_the_style_sheets_that_all_pages_link_become_one(tmp_path: Path) -> None:
    """The theme's sheet holds its pictures itself; one that fetches a picture stays where the picture is."""
    sheets = {
        "assets/stylesheets/main.css": f'@charset "UTF-8";{DRAWN}',
        "assets/stylesheets/shown.css": "b{c:url(d.png)}",
        "assets/guide.css": "e{f:g}",
        "assets/lone.css": "h{i:j}",
    }
    pages = {"index.html": "", "a/b/index.html": "../../", "404.html": "/guide/"}
    for name, text in sheets.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    for name, root in pages.items():
        named = [sheet for sheet in sheets if "lone" not in sheet or name == "index.html"]
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        links = "\n".join(f'<link rel="stylesheet" href="{root}{sheet}">' for sheet in named)
        (tmp_path / name).write_text(f"<head>{links}</head>", "utf-8")
    config: Any = SimpleNamespace(site_dir=str(tmp_path))
    bundle.on_post_build(config)
    (joined,) = tmp_path.glob("assets/style.*.css")
    assert joined.read_text("utf-8") == f'@charset "UTF-8";{DRAWN}\ne{{f:g}}'
    left = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.css")}
    assert left == {f"assets/{joined.name}", "assets/stylesheets/shown.css", "assets/lone.css"}
    for name, root in pages.items():
        html = (tmp_path / name).read_text("utf-8")
        alone = [f"{root}assets/lone.css"] if name == "index.html" else []
        linked = [f"{root}assets/{joined.name}", f"{root}assets/stylesheets/shown.css", *alone]
        assert [link[1] for link in re.finditer(r'href="([^"]*)"', html)] == linked


def test_a_style_sheet_that_the_site_does_not_have_is_left_to_the_check_of_links(tmp_path: Path) -> None:
    names = ("a.css", "b.css")
    for name in names:
        (tmp_path / name).write_text("e{f:g}", "utf-8")
    hrefs = (*names, "https://cdn.example.org/katex.css")
    links = "".join(f'<link rel="stylesheet" href="{href}">' for href in hrefs)
    (tmp_path / "index.html").write_text(f"<head>{links}</head>", "utf-8")
    config: Any = SimpleNamespace(site_dir=str(tmp_path))
    bundle.on_post_build(config)
    (joined,) = tmp_path.glob("style.*.css")
    linked = re.findall(r'href="([^"]*)"', (tmp_path / "index.html").read_text("utf-8"))
    assert linked == [joined.name, "https://cdn.example.org/katex.css"]
