"""Links, anchors, images, ids and resources are checked as a browser gets them; errors name the source's line."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from mkdocs.exceptions import PluginError

from hooks import errors as guide_errors
from hooks import links, loud, publish
from hooks.errors import GuideError
from tests.anew import anew

if TYPE_CHECKING:
    from pathlib import Path

SITE = "https://example.org/guide/"
REPOSITORY = {"name": "owner/repo", "branch": "main", "pages_branch": "gh-pages"}


def errors(tmp_path: Path, html: str, *, source: str = "", name: str = "a/index.html", css: str = "") -> list[str]:
    """Return the causes for a site of a home page, a page and a style sheet."""
    site, docs = tmp_path / "site", tmp_path / "docs"
    for folder in (site / "a", site / "assets", docs):
        folder.mkdir(parents=True, exist_ok=True)
    (site / "index.html").write_text('<h1 id="top">Home</h1><a name="old"></a>')
    (site / "assets/dot.png").write_bytes(b"")
    (site / "assets/site.css").write_text(css)
    (site / name).write_text(html)
    (docs / "a.md").write_text(source)
    return [str(e) for e in links.check(site, site_url=SITE, sources={name: docs / "a.md"}, root=tmp_path)]


@pytest.mark.parametrize(
    "html",
    [
        '<a href="../">home</a><a href="../index.html">home</a><a href="..#top">top</a><a href="../#old">old</a>',
        f'<a href="{SITE}">home</a><a href="/guide/#top">top</a>',
        '<p id="here"></p><a href="#here">here</a><a href="">here</a><a href="?q=x">search</a>',
        '<a href="https://other.org/x#y">other</a><a href="mailto:a@b.c">mail</a>',
        '<img src="../assets/dot.png" alt="A dot"><img src="../assets/dot.png" alt="" role="presentation">',
        '<link rel="canonical" href="https://example.org/guide/a/"><link rel="stylesheet" href="../assets/site.css">',
        '<svg role="img" aria-label="A line"></svg><img src="data:image/png;base64,AA" alt="A dot">',
    ],
)
def test_holds(html: str, tmp_path: Path) -> None:
    assert errors(tmp_path, html) == []


@pytest.mark.parametrize(
    ("html", "cause"),
    [
        ('<a href="../b/">b</a>', "a dead link: ../b/"),
        ('<a href="b.md">b</a>', "a dead link: b.md"),
        ('<a href="../#nowhere">b</a>', "a dead anchor: ../#nowhere"),
        ('<a href="#nowhere">b</a>', "a dead anchor: #nowhere"),
        ('<a href="/elsewhere/">b</a>', "leaves the site"),
        ('<a href="javascript:void(0)">b</a>', "a link that is a script"),
        ('<a href="https://[b">b</a>', "a link that leads nowhere: https://[b"),
        ('<p id="x"></p><p id="x"></p>', "the id 'x' stands 2 times"),
        ('<img src="../assets/dot.png">', "an image without a text"),
        ('<img src="../assets/dot.png" alt=" ">', "an image without a text"),
        ('<svg role="img"></svg>', "an image without a text"),
        ('<img src="../assets/dit.png" alt="A dot">', "fetches what is not there"),
        ('<script src="https://cdn.org/x.js"></script>', "third party"),
        ('<script src="//cdn.org/x.js"></script>', "third party"),
        ('<link rel="preconnect" href="https://fonts.org">', "third party"),
        ('<link rel="stylesheet" href="https://fonts.org/x.css">', "third party"),
        (
            '<img srcset="../assets/dot.png 1x, https://img.org/x.png 2x" src="../assets/dot.png" alt="x">',
            "third party",
        ),
        ('<iframe src="https://video.org/x"></iframe>', "third party"),
        ('<p style="background: url(https://img.org/x.png)">', "third party"),
        ("<style>@import 'https://fonts.org/x.css';</style>", "third party"),
        ('<svg><use href="https://icons.org/x.svg#a"/></svg>', "third party"),
    ],
)
def test_does_not_hold(html: str, cause: str, tmp_path: Path) -> None:
    (error,) = errors(tmp_path, html)
    assert cause in error


def test_names_the_line_of_the_source(tmp_path: Path) -> None:
    source = "# A\n\nSee [b](b.md#x),\n[c](../c.md).\n\n![](assets/dit.png)\n"
    html = '<a href="../c/">c</a><a href="b.md#x">b</a><img src="../assets/dit.png" alt="x">'
    assert [error.partition(": ")[0] for error in errors(tmp_path, html, source=source)] == [
        "docs/a.md:6",
        "docs/a.md:4",
        "docs/a.md:3",
    ]


@pytest.mark.parametrize(
    "html",
    [
        '<img alt="A dot" src="../assets/dot.png" srcset="https://[cdn]/a.png 2x">',
        '<video poster="https://[cdn]/a.png"></video>',
        '<object data="https://[cdn]/a.png"></object>',
        '<p style="background: url(https://[cdn]/a.png)">',
    ],
)
def test_an_address_that_cannot_be_read_is_named_with_its_line(html: str, tmp_path: Path) -> None:
    (error,) = errors(tmp_path, html, source=f"# A\n\n{html}\n")
    assert error.startswith("docs/a.md:3: the page fetches from an address that cannot be read: https://[cdn]/a.png")


def test_what_is_shown_on_other_pages_too_is_named_where_it_is_written(tmp_path: Path) -> None:
    site, docs = tmp_path / "site", tmp_path / "docs"
    sources = {}
    for name in ("a", "errors"):
        (site / name).mkdir(parents=True)
        (site / name / "index.html").write_text('<img src="../gone.png" alt="x"><img src="../gone.png" alt="x">')
        sources[f"{name}/index.html"] = docs / f"{name}.md"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\n![x](gone.png) ![x](gone.png)\n")
    (docs / "errors.md").write_text("# Errors\n")
    (error,) = links.check(site, site_url=SITE, sources=sources, root=tmp_path)
    assert (error.file, error.line) == ("docs/a.md", 3)


def test_a_footnote_that_nothing_refers_to(tmp_path: Path) -> None:
    source = "# A\n\nText.\n\n[^1]: Note.\n"
    (error,) = errors(tmp_path, '<li id="fn:1">Note. <a href="#fnref:1">back</a></li>', source=source)
    assert error.startswith("docs/a.md:5: nothing refers to the footnote [^1]")


def test_style_sheets(tmp_path: Path) -> None:
    assert errors(tmp_path, "", css="a { background: url(dot.png) } b { src: url('data:x') }") == []
    (error,) = errors(tmp_path, "", css="@import 'https://fonts.org/x.css';")
    assert "site/assets/site.css: the page fetches from a third party" in error
    (error,) = errors(tmp_path, "", css="a { background: url(dit.png) }")
    assert "not there" in error
    (error,) = errors(tmp_path, "", css="a { background: url(https://[cdn]/a.png) }")
    assert error.startswith("site/assets/site.css: the page fetches from an address that cannot be read")


def test_placeholders_become_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide_errors, "ROOT", tmp_path)
    (tmp_path / "snippets/s").mkdir(parents=True)
    (tmp_path / "snippets/s/a.py").write_text("")
    html = (
        '<a href="/__root__/programs/s/a.py" download="a.py">d</a><a href="/__source__/snippets/s/a.py#L3">s</a>'
        '<a href="/__program__/s/a.py">p</a><a href="/__repository__/">r</a>'
        '<a href="/__repository__/issues/new?template=wrong.yml&amp;title=x">i</a>'
    )
    made = publish.links(
        html, url="s/page/", file="docs/s/page.md", repository=REPOSITORY, cards={"s/a.py": "s/other/"}
    )
    assert 'href="../../programs/s/a.py" download="a.py"' in made
    assert 'href="https://github.com/owner/repo/blob/main/snippets/s/a.py#L3"' in made
    assert 'href="../other/#program-s-a"' in made
    assert 'href="https://github.com/owner/repo">r' in made
    assert 'href="https://github.com/owner/repo/issues/new?template=wrong.yml&amp;title=x"' in made
    with pytest.raises(GuideError, match="no page shows that program"):
        publish.links(html, url="s/page/", file="docs/s/page.md", repository=REPOSITORY, cards={})


def test_a_program_without_a_card_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide_errors, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("# A\n\nIt took {{ s/a.py:b }} s.\n")
    with pytest.raises(GuideError, match=r"^page\.md:3: this page refers to s/a\.py"):
        publish.links('<a href="/__program__/s/a.py">p</a>', url="", file="page.md", repository=REPOSITORY, cards={})


def test_a_file_that_the_repository_does_not_have_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide_errors, "ROOT", tmp_path)
    link = '<a href="/__source__/snippets/s/b.py#L3">b</a>'
    (tmp_path / "page.md").write_text(f"# A\n\n{link}\n")
    with pytest.raises(GuideError, match=r"^page\.md:3: a link to snippets/s/b\.py, which the repository does not"):
        publish.links(link, url="", file="page.md", repository=REPOSITORY, cards={})


def test_the_reason_stands_under_its_block() -> None:
    block = '<div class="highlight" data-run="no" data-why="needs a TPU."><div><pre><code>x</code></pre></div></div>'
    made = publish.reasons(f"<p>a</p>{block}<p>b</p>")
    assert made == f'<p>a</p>{block}\n<p class="guide-why">Not run here: needs a TPU.</p><p>b</p>'
    assert publish.reasons("<p>a</p>") == "<p>a</p>"


def test_all_errors_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loud, "serving", lambda: False)
    one, two = GuideError("docs/a.md", 1, "x", "y"), GuideError("docs/b.md", 2, "x", "y")
    loud.report([])
    with pytest.raises(GuideError, match=r"docs/a\.md:1"):
        loud.report([one])
    with pytest.raises(Exception, match=r"(?s)docs/a\.md:1.*docs/b\.md:2"):
        loud.report([one, two])


def test_a_preview_goes_on(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(loud, "serving", lambda: True)
    monkeypatch.setattr(loud.LOGGER, "propagate", True)
    loud.report([GuideError("docs/a.md", 1, "x", "y")])
    loud.stop_on_warnings()
    assert "docs/a.md:1: x. Fix: y." in caplog.text


def test_a_warning_stops_a_build_that_is_to_be_quiet_too() -> None:
    own = anew(loud)
    own.LOGGER = logging.Logger("a build", logging.ERROR)  # as `-q` sets it
    own.start(serving=False)
    own.stop_on_warnings()
    own.LOGGER.warning("%s is odd", "it")
    with pytest.raises(PluginError, match=r"^this build logged warnings:\nit is odd$"):
        own.stop_on_warnings()
