"""The index of errors: every error once, in order, escaped, with its links."""

from pathlib import Path

import pytest

from hooks import error_index, errors
from hooks.errors import GuideError
from hooks.used import Use, Used
from tests.hooks import house


def use(text: str, ident: str = "error-a-b") -> Use:
    return Use("strategies/a.py", "b", "docs/strategies/a.md", ident, text)


def test_errors_are_grouped_by_type_in_order() -> None:
    page = Used("a", errors=[use("ValueError: z"), use("ValueError: a"), use("google.protobuf.VersionError: v")])
    html = error_index.index([("strategies/a/", "A", page)])
    places = [html.index(text) for text in ("<h2", "ValueError: a", "ValueError: z", "VersionError</h2>")]
    assert places == sorted(places)
    assert html.count("<h2") == 2


def test_a_text_without_a_type_is_a_message() -> None:
    html = error_index.index([("a/", "A", Used("a", errors=[use("could not connect to a<b>")]))])
    assert ">Messages</h2>" in html
    assert "a&lt;b&gt;" in html


def test_each_entry_links_its_cure_and_its_program() -> None:
    html = error_index.index([("strategies/a/", "Page <A>", Used("a", errors=[use("ValueError: x")]))])
    assert 'href="/__root__/strategies/a/#error-a-b"' in html
    assert 'href="/__program__/strategies/a.py"' in html
    assert "Page &lt;A&gt;" in html


PAGES = [
    ("heads/a/", "A", Used("a", errors=[use("ValueError: of heads")])),
    ("heads-and-tails/b/", "B", Used("b", errors=[use("ValueError: of another")])),
    ("pipelines/c/", "C", Used("c")),
]
RENDERED = {
    "heads/a/": '<div class="error-entry" id="error-a-b">\n<div class="guide-error"><pre><code>x</code></pre></div>'
    '<p>Do <a href="../d/?a=1&amp;b=2#e">that</a>, <a href="#f">this</a>, <a href="https://x.org/">or</a> '
    '<a href="/__source__/p.py">read</a> <img src="../dot.png" alt="a dot">.</p>'
    '<p class="guide-stamp">Provoked by ...</p></div>',
    "heads-and-tails/b/": "",
    "pipelines/c/": "",
}


def fill(content: str) -> str:
    return error_index.fill(content, PAGES, "docs/a.md", RENDERED)


def test_only_a_marked_page_is_filled() -> None:
    assert fill("<p>text</p>") == "<p>text</p>"
    html = fill("<p>text</p><!-- guide:errors -->")
    assert html.startswith("<p>text</p>")
    assert "of heads" in html
    assert "of another" in html


def test_a_mark_with_a_section_lists_the_errors_of_its_pages_alone() -> None:
    html = fill("<!-- guide:errors heads -->")
    assert "of heads" in html
    assert "of another" not in html


def test_the_errors_of_a_section_come_with_their_cures() -> None:
    assert "<p>Do" not in fill("<!-- guide:errors -->")
    html = fill("<!-- guide:errors heads -->")
    assert "Provoked by ..." not in html
    # From the page that lists them, links that were relative lead astray.
    for href in ("/__root__/heads/d/?a=1&amp;b=2#e", "/__root__/heads/a/#f", "https://x.org/", "/__source__/p.py"):
        assert f'href="{href}"' in html
    assert 'src="/__root__/heads/dot.png"' in html


def test_a_table_in_an_error_is_in_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    table = f"/// table | {house.PATH}:matrix\nWhere it works.\n///"
    html, _ = house.render(f"//// error | {house.PATH}:outside\nCause.\n\n{table}\n\nFix.\n////\n\nAfter.\n")
    (cure,) = error_index.cures(html, "heads/a/").values()
    assert all(said in cure for said in ("Cause.", "Where it works.", "Measured", "Fix."))
    assert not any(said in cure for said in ("Provoked", "After."))
    assert cure.count("<div") == cure.count("</div>")


def test_a_wrong_mark_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\n<!-- guide:errors heads -->\n\n<!-- guide:errors hands -->\n")
    with pytest.raises(GuideError, match=r"^docs/a\.md:5: no page of a section 'hands'"):
        fill("<!-- guide:errors hands -->")


@pytest.mark.parametrize("section", ["pipelines", "hands"])
def test_a_section_without_errors_is_a_mistake(section: str) -> None:
    with pytest.raises(GuideError, match=rf"docs/a\.md: no page of a section '{section}' .* heads, heads-and-tails"):
        fill(f"<!-- guide:errors {section} -->")
