"""Structured data, the feed and redirects: well-formed, escaped, checked."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from hooks import busy, errors, feed, machines, node, redirects, structured
from hooks.errors import GuideError
from hooks.records import Record
from hooks.used import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

SITE = ("Guide", "https://example.org/guide/")
ATOM = "{http://www.w3.org/2005/Atom}"


def described(**changes: Any) -> dict[str, Any]:
    asked = Question(
        "one", "docs/a.md", ["P1"], [True, False], ["", ""], False, "What </script> is it?", ["Yes", "No"], 1
    )
    said: dict[str, Any] = {
        "url": f"{SITE[1]}a/b/",
        "title": "B",
        "description": "About b.",
        "changed": "2026-11-21",
        "site": SITE,
        "path": [("A", f"{SITE[1]}a/")],
        "questions": [("https://example.org/guide/c/#quiz-one", asked)],
    }
    return structured.describe(**said | changes)


def test_a_page_its_trail_and_its_questions() -> None:
    article, trail, quiz = described()["@graph"]
    assert (article["@type"], article["headline"], article["dateModified"]) == ("TechArticle", "B", "2026-11-21")
    assert [step["name"] for step in trail["itemListElement"]] == ["Guide", "A", "B"]
    assert [step["item"] for step in trail["itemListElement"]] == [SITE[1], f"{SITE[1]}a/", f"{SITE[1]}a/b/"]
    assert quiz["hasPart"][0]["@id"] == "https://example.org/guide/c/#quiz-one"


def test_the_home_page_is_the_site_and_a_page_without_questions_has_none() -> None:
    assert described(url=SITE[1])["@type"] == "WebSite"
    assert len(described(questions=[])["@graph"]) == 2


def test_no_text_ends_the_data_and_no_answer_is_in_it() -> None:
    html = structured.block(described())
    assert html.count("</script>") == 1
    data = json.loads(re.sub(r"^<script[^>]*>|</script>$", "", html))
    assert data["@graph"][2]["hasPart"][0]["text"] == "What </script> is it?"
    assert "Yes" not in html


def record(program: str, day: str, device: str = "cpu") -> Record:
    return Record(program, "0", device, "a machine", {"keras": "3.15.1", "grpcio": "1"}, day, 1.0)


def test_the_feed_has_an_entry_for_each_day_and_device_the_last_first() -> None:
    found = feed.runs([record("a.py", "2026-11-20"), record("b.py", "2026-11-21"), record("b.py", "2026-11-21", "gpu")])
    text = feed.atom(found, name="A & B", site=SITE[1], pages={"b.py": [("b/", "Page <b>")]})
    root = ElementTree.fromstring(text)
    entries = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}updated", "")[:10] for entry in entries] == [
        "2026-11-21",
        "2026-11-21",
        "2026-11-20",
    ]
    assert entries[0].findtext(f"{ATOM}title") == "1 program run on GPU"
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 3
    content = entries[0].findtext(f"{ATOM}content") or ""
    assert '<a href="https://example.org/guide/b/">Page &lt;b&gt;</a>' in content
    assert "Keras 3.15.1" in content
    assert "grpcio" not in content
    assert root.findtext(f"{ATOM}updated") == "2026-11-21T00:00:00Z"


PAGES = {"", "a/", "new/page/"}


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"old/page/": "new/page/"},
        {"old/": "new/page/#x"},
        {"a/#old": "a/#new"},
        {"a/#old": "new/page/#x"},
        {"a/#old": "new/page/"},
        {"old/": ""},
    ],
)
def test_a_good_table(table: dict[str, str]) -> None:
    redirects.check(table, PAGES)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (["old/", "a/"], "is no table"),
        ("old/: a/", "is no table"),
        ({"old/": 3}, "no pair of addresses"),
        ({3: "a/"}, "no pair of addresses"),
        ({"old/": None}, "no pair of addresses"),
        ({"../old/": "a/"}, "no pair of addresses"),
        ({"old page": "a/"}, "no pair of addresses"),
        ({"": "a/"}, "no pair of addresses"),
        ({"https://x.org/": "a/"}, "no pair of addresses"),
        ({"a/#größe": "a/#x"}, "no pair of addresses"),
        ({"old/": "b/"}, "leads to b/, which is no page"),
        ({"a/": "new/page/"}, "hides a page"),
        ({"old/#x": "a/#x"}, "starts from old/, which is no page. Fix: redirect that page"),
        ({"old/": "a/#z", "old/#x": "a/#y"}, "starts from old/, which is no page. Fix: write a/#x for old/#x"),
    ],
)
def test_a_wrong_table(table: Any, says: str) -> None:
    with pytest.raises(GuideError, match=says):
        redirects.check(table, PAGES)


def test_a_wrong_entry_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "ROOT", tmp_path)
    text = "extra:\n  redirects:\n    b/old/: a/\n    old/: b/\n    a/#old: a/#new\n    'x y': a/\n"
    (tmp_path / "mkdocs.yml").write_text(text)
    for old, new, line in (("old/", "b/", 4), ("x y", "a/", 6)):
        with pytest.raises(GuideError, match=rf"^mkdocs\.yml:{line}: "):
            redirects.check({old: new}, PAGES)
    with pytest.raises(GuideError, match=r"^mkdocs\.yml:5: "):
        redirects.anchors("<p></p>", "a/", {"a/#old": "a/#new"})


def test_a_moved_page_leads_on() -> None:
    made = redirects.stubs({"old/page/": "new/page/#x", "a/#old": "a/#new"}, SITE[1])
    assert list(made) == ["old/page/index.html"]
    html = made["old/page/index.html"]
    assert 'content="0; url=../../new/page/#x"' in html
    assert 'href="https://example.org/guide/new/page/#x"' in html
    assert "noindex" in html


@pytest.mark.parametrize(
    ("asked", "links", "shown"),
    [
        ("", ["https://example.org/new/#a"], []),
        ("#b", ["https://example.org/new/#a"], ["https://example.org/new/#b"]),
    ],
)
def test_a_heading_that_is_asked_for_replaces_that_of_the_target(
    asked: str, links: list[str], shown: list[str]
) -> None:
    assert _leads(asked, refresh=links) == shown


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("", []), ("#here", []), ("#none", []), ("#gone", ["https://example.org/new/#there"])],
)
def test_a_heading_that_went_to_another_page_is_followed_there(asked: str, shown: list[str]) -> None:
    assert _leads(asked, hidden={"gone": "https://example.org/new/#there"}, others=["here"]) == shown


def _leads(asked: str, refresh: Sequence[str] = (), hidden: Any = None, others: Sequence[str] = ()) -> list[str]:
    """Return where the script leads a reader who asks for an anchor.

    Args:
        asked: the anchor, with its mark, or nothing.
        refresh: the links of a page that moved.
        hidden: the hidden links of a page, by id.
        others: ids of other elements.
    """
    code = """
      const [script, hash, refresh, hidden, others] = process.argv.slice(1).map((text, at) =>
        at < 2 ? text : JSON.parse(text));
      const shown = [], link = (href) => ({ href, matches: (asked) => asked === "a[hidden]" });
      globalThis.location = { hash, replace: (url) => shown.push(String(url)) };
      globalThis.document = {
        getElementById: (id) =>
          id in hidden ? link(hidden[id]) : others.includes(id) ? { matches: () => false } : null,
        querySelector: (asked) => (refresh.length ? link(refresh[0]) : null),
      };
      require(script);
      console.log(JSON.stringify(shown));
    """
    script = str(errors.ROOT / "docs" / redirects.SCRIPT)
    given = [asked, *(json.dumps(part) for part in (list(refresh), hidden or {}, list(others)))]
    command = [node.path(), "-e", code, "--", script, *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=busy.stretched(60), check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_an_old_anchor_stands_before_the_new_one() -> None:
    html = redirects.anchors('<p>x</p><h2 class="y" id="new">N</h2>', "a/", {"a/#old": "a/#new", "b/#o": "b/#n"})
    assert html == '<p>x</p><span id="old"></span><h2 class="y" id="new">N</h2>'
    with pytest.raises(GuideError, match="which is not there"):
        redirects.anchors("<p></p>", "a/", {"a/#old": "a/#new"})


@pytest.mark.parametrize("new", ["a/#new", "b/#new"])
def test_an_anchor_that_a_page_still_has_leads_nowhere(new: str) -> None:
    with pytest.raises(GuideError, match="a/#old starts from an anchor that the page still has"):
        redirects.anchors('<h2 id="old">O</h2><h2 id="new">N</h2>', "a/", {"a/#old": new})


def test_an_anchor_that_went_to_another_page_leaves_a_hidden_link() -> None:
    table = {"a/#old": "b/c/#new", "a/#older": "b/c/"}
    html = redirects.anchors("<p>x</p>", "a/", table)
    assert html == (
        '<p>x</p><a hidden id="old" href="../b/c/#new"></a><a hidden id="older" href="../b/c/"></a>'
        '<script src="../assets/moved.js"></script>'
    )
    assert redirects.anchors(html, "a/", table) == html
    there = '<h2 id="new">N</h2>'
    assert redirects.anchors(there, "b/c/", table) == there
    with pytest.raises(GuideError, match="leads to the anchor 'new', which is not there"):
        redirects.anchors("<p></p>", "b/c/", table)


def test_an_edit_adds_no_anchor_again_and_a_mistake_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\n## New\n\n[It](/__program__/b/c.py)\n")
    file = SimpleNamespace(abs_src_path=str(tmp_path / "docs" / "a.md"), src_uri="a.md")
    page = SimpleNamespace(url="a/", file=file, title="A", content='<h2 id="new">New</h2>', toc=[])
    repository = {"name": "o/r", "branch": "main", "pages_branch": "gh-pages"}
    extra = {"repository": repository, "redirects": {"a/#old": "a/#new", "a/#older": "a/#new"}}
    config: Any = SimpleNamespace(config_file_path=str(tmp_path / "mkdocs.yml"), extra=extra)
    monkeypatch.setattr(machines, "_pages", [page])
    for _ in range(2):
        machines.on_env(env=None, config=config, files=None)  # type: ignore[arg-type]
        assert page.content == '<span id="old"></span><span id="older"></span><h2 id="new">New</h2>'
    page.content += '<a href="/__program__/b/c.py">It</a>'
    with pytest.raises(GuideError, match=r"^docs/a\.md:5: this page refers to b/c\.py"):
        machines.on_env(env=None, config=config, files=None)  # type: ignore[arg-type]
