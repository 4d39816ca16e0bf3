"""What search puts first: names in any spelling, pasted texts, looser queries, answers before the index is made."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hooks import busy, node

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "assets" / "search.js"
DOCS = [
    {"location": "multi/", "title": "MultiWorkerMirroredStrategy", "text": "", "aliases": ["MWMS", "multi worker"]},
    {
        "location": "multi/#wrong",
        "title": "What goes wrong",
        "text": "<p>The <code>task_id</code> 5 exceeds the maximum.</p>",
    },
    {"location": "map/", "title": "Transformation", "text": "a map", "aliases": ["Dataset.map", "map"]},
    {"location": "map/#lazy", "title": "Lazy maps", "text": "&lt;Tensor&gt; and so on and so on"},
    {"location": "glossary/", "title": "Glossary", "text": "", "boost": 0.3},
    {"location": "glossary/#host", "title": "Host", "text": "", "boost": 0.3},
]
LOAD = """
require(process.argv[1]);
const { Places, Search, variants } = guideSearch;
const docs = JSON.parse(process.argv[2]);
const places = new Places(docs);
const order = (query, items = []) => places.order(query, items).map((group) => group.map((doc) => doc.location));
"""


def run(code: str) -> Any:
    """Run code in Node with the script and the documents and return what it makes of `result`."""
    script = f"{LOAD}\nPromise.resolve((async () => {{ {code} }})()).then((r) => console.log(JSON.stringify(r)));"
    done = subprocess.run(
        [node.path(), "-e", script, "--", str(SCRIPT), json.dumps(DOCS)],
        capture_output=True,
        text=True,
        timeout=busy.stretched(60),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "query",
    [
        "MultiWorkerMirroredStrategy",
        "multiworkermirrored",
        "tf.distribute.MultiWorkerMirroredStrategy",
        "mwms",
        "Multi-Worker",
        "multi_worker",
        "MultiWorkerMirroredStrategy(communication)",
    ],
)
def test_a_name_in_any_spelling(query: str) -> None:
    assert run(f"return order({json.dumps(query)})")[0] == ["multi/"]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("ValueError: The `task_id` 5 exceeds the maximum id of worker.", "multi/#wrong"),
        ("lazy maps", "map/#lazy"),
        ("it has <Tensor> and so on", "map/#lazy"),
    ],
)
def test_a_pasted_text_and_a_heading_lead_to_their_place(query: str, place: str) -> None:
    assert run(f"return order({json.dumps(query)})") == [[place, place.partition("#")[0]]]


@pytest.mark.parametrize("query", ["", "?", "no such words here", "host"])
def test_nothing_comes_first_where_nothing_fits(query: str) -> None:
    assert run(f"return order({json.dumps(query)})") == []


def test_the_rest_keeps_the_order_of_the_index() -> None:
    items = [[DOCS[4]], [DOCS[1], DOCS[0]], [DOCS[2]]]
    found = run(f"return order('map', {json.dumps(items)})")
    assert found == [["map/"], ["glossary/"], ["multi/#wrong", "multi/"]]


@pytest.mark.parametrize(
    ("query", "strict"),
    [
        ("the loss of a worker", "+loss +worker*"),
        ("loss ", "+loss"),
        ("ValueError: x", "+ValueError +x*"),
        ('"as it is"', '"as it is"'),
        ("the", "the"),
        ("what is a replica?", "+replica*"),
        ("Why does fit stop. It hangs...", "+fit +stop +hangs*"),
    ],
)
def test_all_words_are_asked_for_first(query: str, strict: str) -> None:
    assert run(f"return variants({json.dumps(query)})")[0] == strict


@pytest.mark.parametrize(
    ("query", "next_asked"),
    [
        ("the checkpiont", "+checkpiont~1"),
        ("wroker run", "+wroker~1 +run"),  # codespell:ignore wroker
        ("map fun", "map fun"),
    ],
)
def test_a_misspelt_word_is_looked_for_before_any_of_the_words(query: str, next_asked: str) -> None:
    assert run(f"return variants({json.dumps(query)})")[1] == next_asked


@pytest.mark.parametrize(
    ("query", "pages"),
    [
        ("how do I train with multi worker here", ["multi/"]),
        ("slow MWMS", ["multi/"]),
        ("what does a map do", []),
        ("multi workers", []),
    ],
)
def test_a_name_within_a_question_leads_to_its_page(query: str, pages: list[str]) -> None:
    """A name of one ordinary word does not: it stands in questions about other things."""
    assert run(f"return order({json.dumps(query)})") == [pages] * bool(pages)


def test_answers_before_the_index_is_made_and_asks_looser_when_nothing_is_found() -> None:
    code = """
    const sent = [], answers = [];
    const worker = { postMessage: (message) => sent.push(message) };
    const search = new Search(worker, (message) => answers.push(message));
    const from = (data) => worker.onmessage({ data });
    search.post({ type: 0, data: { docs } });
    search.post({ type: 2, data: "mwms" });
    from({ type: 1 });
    from({ type: 3, data: { items: [] } });
    search.post({ type: 2, data: "first word" });
    search.post({ type: 2, data: "second word" });
    from({ type: 3, data: { items: [[docs[2]]] } });
    from({ type: 3, data: { items: [] } });
    from({ type: 3, data: { items: [[docs[4]]] } });
    const shown = (message) => message.data?.items.map((group) => group[0].location);
    const asked = sent.slice(1).map((message) => message.data);
    return [asked, answers.map((message) => [message.type, shown(message) ?? null])];
    """
    sent, answers = run(code)
    assert sent == ["+mwms*", "+first +word*", "+second +word*", "+second~1 +word"]
    assert answers == [[1, None], [3, ["multi/"]], [3, ["multi/"]], [3, ["glossary/"]]]
