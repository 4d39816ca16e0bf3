"""Glossary terms: read from the glossary page, marked at their first use, left alone where a link would be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from hooks import glossary
from hooks.errors import GuideError
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

    from bs4 import Tag

GLOSSARY = """\
# Glossary

## Machines

### Replica

One copy of the `model`, see [shard](#shard).
[`tf.distribute`](https://www.tensorflow.org/api_docs/python/tf/distribute)

### Parameter server

Holds variables. [Li et al.](https://example.org/li)

### Server

Something that answers & waits. [A page](https://example.org/server)

### Strategy {#the-strategy}

Says where. [A page](https://example.org/strategy)

### Batch {.unlinked}

Some rows. [A page](https://example.org/batch)
"""


@pytest.fixture(autouse=True)
def terms(monkeypatch: pytest.MonkeyPatch) -> None:
    found = glossary.parse(GLOSSARY)
    monkeypatch.setattr(glossary, "terms", lambda: found)


def marked(text: str, page: str = "docs/strategies/page.md") -> tuple[list[Tag], BeautifulSoup]:
    soup = BeautifulSoup(house.render(text, page=page)[0], "html.parser")
    return soup.select("a.term"), soup


def test_an_entry_is_a_heading_with_its_definition_without_source_and_links() -> None:
    replica, *_, strategy, batch = glossary.parse(GLOSSARY)
    assert (replica.name, replica.id, replica.line) == ("Replica", "replica", 5)
    assert replica.text == "One copy of the `model`, see shard."
    assert (strategy.id, strategy.linked) == ("the-strategy", True)
    assert (batch.name, batch.id, batch.linked) == ("Batch", "batch", False)


SOURCED = "[Source](https://example.org)\n\n"
WRONG = {
    "no definition": (f"### Empty\n\n{SOURCED}", "3: the term 'Empty' has no definition"),
    "nothing below": (f"### Empty\n\n### Full\n\nIt is. {SOURCED}", "3: the term 'Empty' has no definition"),
    "nothing at the end": ("### Empty\n", "3: the term 'Empty' has no definition"),
    "no source": ("### Bare\n\nIt is [here](#bare).\n", "3: the term 'Bare' has no source"),
    "twice": (f"### One\n\nA. {SOURCED}### one\n\nB. {SOURCED}", "7: the term 'one' stands twice: .* line 3"),
    "a plural": (f"### Ones\n\nA. {SOURCED}### One\n\nB. {SOURCED}", "7: the term 'One' stands twice: .* line 3"),
    "its anchor": (f"### One\n\nA. {SOURCED}### Two {{#one}}\n\nB. {SOURCED}", "7: the term 'Two' stands twice"),
    "an attribute": (
        f"### One {{.unlinkd}}\n\nA. {SOURCED}",
        "3: the term 'One' has an attribute that nothing reads: .unlinkd",
    ),
    "no space": (f"###One\n\nA. {SOURCED}", "3: this heading is no term"),
    "another level": (f"#### One\n\nA. {SOURCED}", "3: this heading is no term"),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_entry_is_named_with_its_line(text: str, says: str) -> None:
    with pytest.raises(GuideError, match=rf"^docs/glossary\.md:{says}"):
        glossary.parse(f"# Glossary\n\n{text}")


@pytest.mark.parametrize(
    ("name", "plural"),
    [
        ("Replica", "replicas"),
        ("Strategy", "strategies"),
        ("Micro-batch", "micro-batches"),
        ("Parameter server", "parameter servers"),
    ],
)
def test_the_plural_means_the_same(name: str, plural: str) -> None:
    assert glossary.Term(name.replace(" ", "  "), "x", "", 1).forms() == [name.lower(), plural]


def test_the_real_glossary_has_terms() -> None:
    source = (glossary.ROOT / glossary.PAGE).read_text("utf8")
    assert len(glossary.parse(source)) == source.count("\n### ")


def test_the_first_use_is_a_link_with_a_description() -> None:
    links, soup = marked("Two replicas here. A replica there.\n\n*Replicas* again, and strategies.\n")
    assert [link.text for link in links] == ["replicas", "strategies"]
    assert links[0]["href"] == "../glossary.md#replica"
    note = soup.find(id=links[0]["aria-describedby"])
    assert str(note) == '<div id="term-replica">One copy of the <code>model</code>, see shard.</div>'
    assert soup.select_one("div.term-notes[hidden][data-search-exclude]")


def test_text_around_a_term_stays_as_it_is() -> None:
    text = "Before *one* replica and **two** parameter servers & a server, after."
    assert marked(text)[1].p.get_text() == text.replace("*", "")  # type: ignore[union-attr]


def test_the_longest_term_wins_and_parts_of_words_do_not_count() -> None:
    links, _ = marked("A parameter server, a server-side thing, a preserver, replicas-to-aggregate.\n")
    assert [link["href"] for link in links] == ["../glossary.md#parameter-server"]


@pytest.mark.parametrize(
    "text", ["A parameter\nserver.\n", "- A parameter\n  server.\n", "> A Parameter\n> Servers.\n"]
)
def test_a_term_may_go_over_two_lines(text: str) -> None:
    links, soup = marked(text)
    assert [link["href"] for link in links] == ["../glossary.md#parameter-server"]
    assert " ".join(links[0].text.lower().split()).startswith("parameter server")
    assert [note["id"] for note in soup.select(".term-notes > div")] == ["term-parameter-server"]


def test_a_link_to_the_glossary_gets_the_definition() -> None:
    links, _ = marked("One [copy](../glossary.md#replica) and a replica. [No term](../glossary.md#nothing).\n")
    assert [link.text for link in links] == ["copy"]
    assert links[0]["aria-describedby"] == "term-replica"


@pytest.mark.parametrize(
    "text",
    [
        "# A replica",
        "`replica`",
        "```python\nreplica = 1\n```",
        "[a replica](https://example.org)",
        "| replica |\n|---|\n| x |",
        '!!! note "A replica"\n    Words.',
        "<summary>replica</summary>",
        'Words <a href="/__root__/x">replica</a> more.',
        "Words <svg viewBox='0 0 1 1'><text>replica</text></svg> more.",
        "Words <svg>\n<text>a *b* c</text>\n<text>replica</text></svg>",
        "A path such as replica/server.py, or /replica.",
    ],
)
def test_left_alone(text: str) -> None:
    assert marked(text)[0] == []


def test_after_raw_html_terms_count_again() -> None:
    links, _ = marked('Words <a href="x">replica</a>, <b>a replica</b>.\n')
    assert len(links) == 1
    assert links[0].parent is not None
    assert links[0].parent.name == "b"


def test_a_question_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    links, _ = marked(house.QUIZ.replace("They are equal.", "Every replica."))
    assert links == []


def test_a_term_with_another_meaning_on_the_page_stays_plain() -> None:
    text = "---\nother-meaning: [Servers]\n---\n\nA server, a parameter server.\n"
    assert [link.text for link in marked(text)[0]] == ["parameter server"]


def test_an_unlinked_term_is_marked_only_where_the_author_links_it() -> None:
    assert [link.text for link in marked("A batch.\n")[0]] == []
    assert [link.text for link in marked("A [batch](../glossary.md#batch).\n")[0]] == ["batch"]


@pytest.mark.parametrize("page", ["docs/glossary.md", "README.md"])
def test_pages_without_marks(page: str) -> None:
    assert marked("A replica.\n", page)[0] == []


def test_special_characters_are_escaped() -> None:
    _, soup = marked("A server.\n")
    assert "answers &amp; waits" in str(soup.find(id="term-server"))
