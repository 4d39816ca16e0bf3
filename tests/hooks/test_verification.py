"""verification.json says what its schema says, in the same bytes each time, and pages show it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from hooks import verification
from hooks.blocks import Block
from hooks.errors import ROOT, GuideError
from hooks.quiz_key import split
from hooks.used import Question
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = json.loads((ROOT / "hooks" / "verification.schema.json").read_text("utf8"))
OPTIONS = [f"One. {{claim: {house.PATH}:weights_equal}}", "Two. {source: https://example.org/x}"]


def question(ident: str = "one", page: str = "docs/a.md", line: int = 3) -> Question:
    proof = [str(split(option)[1]) for option in OPTIONS]
    return Question(ident, page, ["S2"], [True, False], proof, False, "Q?", ["One.", "Two."], line)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    house.build(tmp_path, monkeypatch)
    blocks = [
        Block("docs/a.md", 9, 11, "python", "x\n", origin=f"{house.PATH}:setup"),
        Block("docs/a.md", 5, 7, "json", "{}\n"),
        Block("docs/b.md", 5, 7, "sh", "make\n", run="no", why="It would call itself"),
    ]
    return verification.collect(blocks=blocks, questions=[question()], labs=[])


def test_keeps_to_its_schema(data: dict) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(data, SCHEMA)
    assert json.loads(verification.to_text(data)) == data


def test_the_schema_refuses_what_is_wrong(data: dict) -> None:
    for change in ({"check": "trusted"}, {"sha256": "x"}, {"line": 0}, {"stamp": "by hand"}):
        wrong = {**data, "blocks": [{**data["blocks"][0], **change}]}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_what_it_says(data: dict) -> None:
    json_block, section, shell = data["blocks"]
    assert (json_block["check"], json_block["devices"]) == ("parsed", {})
    assert section["origin"] == f"{house.PATH}:setup"
    assert section["check"] == "run"
    assert section["devices"]["cpu"]["status"] == "verified"
    assert (shell["check"], shell["why"]) == ("not run", "It would call itself")
    (asked,) = data["questions"]
    wanted = {"program": house.PATH, "claim": "weights_equal", "wanted": True}
    assert asked["proof"] == [{"claims": [wanted]}, {"source": "https://example.org/x"}]
    assert data["totals"]["checks"] == {"not run": 1, "parsed": 1, "run": 1}
    assert data["totals"]["devices"] == {"cpu": 1, "gpu": 0, "tpu": 0}
    assert data["totals"]["options"] == {"claims": 1, "source": 1}


def test_a_claim_that_must_be_false() -> None:
    assert verification._proof("claim: not a/b.py:c and d/e.py:f") == {
        "claims": [
            {"program": "a/b.py", "claim": "c", "wanted": False},
            {"program": "d/e.py", "claim": "f", "wanted": True},
        ]
    }


def test_pages_show_it(data: dict) -> None:
    shown = verification.fill(f"<p>a</p>{verification.TOTALS}<p>b</p>", data)
    assert "<dt>3 blocks of code</dt>" in shown
    assert verification.TOTALS not in shown
    whole = verification.fill(verification.WHOLE, data)
    assert "It would call itself" in whole
    assert house.PATH in whole
    assert '<h2 id="blocks-by-language">Blocks by language</h2><table aria-labelledby="blocks-by-language">' in whole
    first = '<th scope="col">Language</th>', '<th scope="row">python</th><td>1</td><td>1 run</td></tr>'
    assert all(cells in whole for cells in first)
    assert '<tr><th scope="row">sh</th><td>1</td><td>1 not run</td></tr>' in whole
    assert "<td><time>2026-" in whole
    assert verification.fill("<p>a</p>", data) == "<p>a</p>"


def test_the_totals_begin_with_the_versions(data: dict) -> None:
    def first() -> str:
        return verification.totals(data).partition("</div>")[0]

    data["environment"] = {"keras": "3.1", "tensorflow": "9.0", "numpy": "2"}
    begin = '<dl class="guide-totals"><div><dt>TensorFlow 9.0, Keras 3.1</dt><dd>the versions of the records'
    assert first() == f"{begin}</dd>"
    data["locks"] = {"old": {"tensorflow": "8.0"}, "new": {"tensorflow": "9.1"}, "next": {"tensorflow": "10.0"}}
    data["totals"]["locks"] = {"old": {"same": 1200, "fails": 3, "stale": 5}, "new": {}, "next": {"same": 2}}
    assert first() == f"{begin}; also tried: 1,203 with TensorFlow 8.0, 2 with TensorFlow 10.0</dd>"
    data["environment"] = {"numpy": "2"}
    assert first() == '<dl class="guide-totals"><div><dt>3 blocks of code</dt><dd>1 run, 1 parsed, 1 not run</dd>'


def test_ids_are_unique_on_the_whole_site() -> None:
    verification.check_ids([question("one"), question("two")])
    with pytest.raises(GuideError, match=r"docs/b\.md:8: the question id 'one' is also used at docs/a\.md:3"):
        verification.check_ids([question("one"), question("one", "docs/b.md", 8)])
