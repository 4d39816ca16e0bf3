"""No file that a browser would run is published without a security policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks import active
from hooks.errors import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">\n{}</svg>'


@pytest.mark.parametrize("name", ["b.html", "a.HTM", "a.xhtml", "a.xml", "route.KML", "a.gpx", "a.svgz", "a"])
def test_no_page_is_published_as_it_is(name: str, tmp_path: Path) -> None:
    """Nor a kind that nobody has looked at: hosts serve many as XML, in which scripts run."""
    found = active.wrong(tmp_path / name, tmp_path)
    assert found
    assert (found.file, found.line, found.cause) == ((tmp_path / name).as_posix(), 0, active.PAGE)
    assert found.cure.startswith("write a page in Markdown")


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("<script>alert(1)</script>", "the element `script`"),
        ('<s:script xmlns:s="http://www.w3.org/2000/svg"/>', "the element `script`"),
        ("<foreignObject/>", "the element `foreignObject`"),
        ('<h:iframe xmlns:h="http://www.w3.org/1999/xhtml" srcdoc=""/>', "the element `iframe`"),
        ('<g onclick="alert(1)"/>', "the attribute `onclick`"),
        ('<a href="&#9;java&#10;Script:alert(1)"/>', "`javascript:` in the attribute `href`"),
        ('<a xlink:href="javascript:alert(1)"/>', "`javascript:` in the attribute `href`"),
        ('<set attributeName="href" to="javascript:alert(1)"/>', "`javascript:` in the attribute `to`"),
        ('<?xml-stylesheet href="a.xsl" type="text/xsl"?>', "a style sheet's instruction"),
    ],
)
def test_what_a_drawing_would_run_is_named_with_its_line(part: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "a.SVG").write_text(SVG.format(part))
    found = active.wrong(tmp_path / "a.SVG", tmp_path)
    assert found
    assert (found.line, found.cause) == (2, f"a drawing is published with no security policy, and holds {what}")


def test_a_drawing_in_which_anything_may_stand_is_refused() -> None:
    hidden = f'<!DOCTYPE svg [\n<!ENTITY x "<script/>">]>{SVG.format("&x;")}'
    assert active.in_drawing(hidden.encode()) == (
        2,
        "a drawing is published with no security policy, and holds an entity, which stands for anything",
    )
    assert active.in_drawing(SVG.format("<script>").encode()) == active.in_drawing(SVG.format("<script/>").encode())
    for text in (SVG.format("<g>"), "", "<?xml version='1.0' encoding='klingon'?><svg/>", SVG.format("<x:script/>")):
        assert (active.in_drawing(text.encode()) or (0, ""))[1].startswith("a drawing that is no XML (")


@pytest.mark.parametrize("of", ["utf-8", "utf-16"])
def test_other_drawings_are_published(of: str, tmp_path: Path) -> None:
    head = f'<?xml version="1.0" encoding="{of}"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/x.dtd">'
    style = "<style>a{b:c}</style><desc>javascript: on script</desc>"
    (tmp_path / "a.svg").write_text(head + SVG.format(f'{style}<a xlink:href="b.html" class="on"/>'), of)
    assert active.wrong(tmp_path / "a.svg", tmp_path) is None
    assert active.wrong(ROOT / "docs/assets/favicon.svg", ROOT / "docs") is None
    assert active.wrong(tmp_path / "a.js", tmp_path) is None


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("secret")
    (tmp_path / "a.txt").symlink_to(tmp_path / "key.txt")
    found = active.wrong(tmp_path / "a.txt", tmp_path)
    assert found
    assert found.cause == active.LINK
    assert active.wrong(tmp_path / "key.txt", tmp_path) is None


def test_a_file_in_a_linked_folder_is_refused(tmp_path: Path) -> None:
    """MkDocs follows links to folders."""
    (docs := tmp_path / "docs").mkdir()
    (elsewhere := tmp_path / "elsewhere" / "more").mkdir(parents=True)
    (elsewhere / "key.txt").write_text("secret")
    (docs / "x").symlink_to(elsewhere.parent)
    found = active.wrong(docs / "x" / "more" / "key.txt", docs)
    assert found
    assert (found.cause, found.file) == (active.LINK, str(docs / "x"))
    assert active.wrong(docs / "x" / "more" / "key.txt", docs / "x") is None


def test_every_file_beside_the_pages_is_used() -> None:
    """Each is published: nobody would notice one that was left there."""
    docs = ROOT / "docs"
    readers = [path for kind in ("*.md", "*.js", "*.css", "*.json") for path in docs.rglob(kind)]
    readers += [*(ROOT / "hooks").rglob("*.py"), *(ROOT / "snippets").glob("*/*.py")]
    readers += [*(ROOT / "hooks/theme").rglob("*.html"), ROOT / "mkdocs.yml", *ROOT.glob("*.md")]
    text = "".join(path.read_text("utf8") for path in readers)
    files = [path for path in docs.rglob("*") if path.is_file() and path.suffix != ".md" and path.name[0] != "."]
    # A page names its drawings by their stem.
    named = {path: path.stem if path.parent.name == "widgets" else path.name for path in files}
    found = [path for path, name in named.items() if path.parent != docs / "labs" and name not in text]
    assert [path.relative_to(docs).as_posix() for path in found] == []
