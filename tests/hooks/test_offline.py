"""The archive of the site: what changes in a page so that it works from a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hooks import csp, machines, offline, redirects, widget

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = "https://example.org/guide/"
FOLDERS = {".", "a", "a/b", "self-check"}
CONFIG = '{"base": "..", "features": ["navigation.instant", "navigation.tabs"]}'
PAGE = csp.add_policy(
    '<html><head><link rel="canonical" href="https://example.org/guide/a/">'
    f'<link rel="{machines.ALTERNATE}" type="text/markdown" href="index.md"></head><body>'
    '<script type="module" src="../assets/widgets/widget.js"></script>'
    f'<script id="__config" type="application/json">{CONFIG}</script></body></html>'
)


def away(path: str) -> str:
    return ADDRESS + path if path == "guide.zip" else ""


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("..", "../index.html"),
        ("../", "../index.html"),
        (".", "index.html"),
        ("b/", "b/index.html"),
        ("b/#there", "b/index.html#there"),
        ("b/?q=x#there", "b/index.html?q=x#there"),
        ("../a/b", "../a/b/index.html"),
        ("#here", "#here"),
        ("../programs/a.py", "../programs/a.py"),
        ("../missing/", "../missing/"),
        ("https://example.org/guide/a/", "https://example.org/guide/a/"),
        ("mailto:a@example.org", "mailto:a@example.org"),
        ("https://[host", "https://[host"),
        ("../guide.zip", "https://example.org/guide/guide.zip"),
    ],
)
def test_links_to_folders_name_the_page_in_them(url: str, named: str) -> None:
    found = offline.links(f'<a href="{url}">', "a/index.html", folders=FOLDERS, away=away)
    assert found.replace('"./index.html', '"index.html') == f'<a href="{named}">'


def test_links_in_the_scripts_with_questions_too() -> None:
    text = 'guideExam.bank("a", {"q": "\\u003ca href=\\"../a/b/#x\\">"});'
    found = offline.links(text, "self-check/a.js", folders=FOLDERS, away=away)
    assert found == text.replace("b/#x", "b/index.html#x")


def test_a_page_that_has_moved_leads_to_the_page_in_the_folder() -> None:
    stub = csp.add_policy(redirects.stubs({"old/": "a/b/"}, ADDRESS)["old/index.html"])
    html = offline.page(stub, "old/index.html", folders=FOLDERS, away=away)
    assert 'content="0; url=../a/b/index.html"' in html
    assert 'href="../a/b/index.html"' in html


def test_a_page_allows_files_and_keeps_its_policy_otherwise() -> None:
    html = offline.page(PAGE, "a/index.html", folders=FOLDERS, away=away)
    assert "script-src 'self' file:" in html
    assert "object-src 'none'" in html
    assert html.count("file:") == PAGE.count("'self'")
    assert "unsafe" not in html
    assert html.index('<script src="../assets/offline.js">') < html.index("canonical")


def test_a_page_loads_no_module_and_navigates_as_a_browser_does() -> None:
    html = offline.page(PAGE, "a/index.html", folders=FOLDERS, away=away)
    assert 'type="module"' not in html
    assert '<script defer src="../assets/widgets/classic.js"></script>' in html
    assert '"features": ["navigation.tabs"]' in html
    assert f'<link rel="{machines.ALTERNATE}" type="text/markdown" href="index.md">' in html, "it lies in the archive"


@pytest.mark.parametrize(
    ("features", "left"),
    [
        (["navigation.instant", "a"], ["a"]),
        (["a", "navigation.instant", "b"], ["a", "b"]),
        (["a", "navigation.instant"], ["a"]),
        (["navigation.instant"], []),
    ],
)
def test_the_features_stay_a_list(features: list[str], left: list[str]) -> None:
    html = offline.page(json.dumps({"features": features}), "a/index.html", folders=FOLDERS, away=away)
    assert json.loads(html) == {"features": left}


def test_the_index_of_the_search_names_pages() -> None:
    docs = [{"location": "", "text": "é"}, {"location": "a/b/"}, {"location": "a/b/#c"}, {"location": "x.html#y"}]
    script = offline.index(json.dumps({"config": {}, "docs": docs}))
    found = json.loads(script.removeprefix("var __index = "))
    assert [entry["location"] for entry in found["docs"]] == [
        "index.html",
        "a/b/index.html",
        "a/b/index.html#c",
        "x.html#y",
    ]


def test_the_archive_holds_what_a_reader_needs(tmp_path: Path) -> None:
    for name, text in {
        "index.html": "<html><head></head></html>",
        "404.html": "x",
        "sitemap.xml": "x",
        "guide.zip": "an older one",
        "a/index.html": PAGE,
        "programs/a.py": 'print("<a href=\\"../a/\\">")',
        "search/search_index.json": '{"docs": []}',
        "assets/widgets/widget.js": "const a = 1;\n",
        "assets/pixel.png": "\0",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    found = offline.files(tmp_path, address=ADDRESS, name="guide.zip", widgets=tmp_path / widget.FOLDER)
    assert list(found) == [
        "a/index.html",
        "assets/pixel.png",
        "assets/widgets/classic.js",
        "assets/widgets/widget.js",
        "index.html",
        "programs/a.py",
        "search/search_index.js",
    ]
    assert found["programs/a.py"] == (tmp_path / "programs/a.py").read_bytes()
