"""Questions: right ones render and are noted, every malformed one stops the build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

from hooks import quiz_key, records
from hooks.errors import GuideError
from hooks.reference import Missing
from tests.hooks import house
from tests.hooks.house import MANY, QUIZ

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)


@pytest.mark.usefixtures("record")
def test_markup() -> None:
    html, used = house.render(QUIZ)
    soup = BeautifulSoup(html, "html.parser")
    box = soup.select_one("fieldset#quiz-weights")
    assert box
    assert box["data-quiz"] == "weights"
    assert box.legend
    assert box.legend.get_text() == "What is true of the weights? Choose one."
    assert [i["type"] for i in box.select("label > input")] == ["radio"] * 3
    assert len({i["value"] for i in box.select("input")}) == 3
    assert not box.select("input[checked]")
    assert [li["data-right"] for li in box.select(".quiz-options > li")] == ["1", "0", "0"]
    options, why = box.select_one(".quiz-options"), box.select_one("details.quiz-why")
    assert options
    assert why
    assert options.has_attr("data-search-exclude")
    assert why.has_attr("data-search-exclude")
    assert [item.get_text(" ", strip=True).split()[0] for item in why.select("li")] == ["Right:", "Wrong:", "Wrong:"]
    assert [item.find(class_="quiz-reason").p.get_text() for item in why.select("li")] == [  # type: ignore[union-attr]
        "The gradients are summed.",
        "That would be N models.",
        "The guide says it.",
    ]
    assert [a["href"] for a in why.select(".quiz-proof a")] == [
        "/__source__/snippets/strategies/mirrored.py#L16",
        "/__program__/strategies/mirrored.py",
        "/__source__/snippets/strategies/mirrored.py#L17",
        "/__program__/strategies/mirrored.py",
        "https://www.tensorflow.org/guide/distributed_training",
    ]
    assert "weights_equal is true" in why.get_text()
    assert "claim:" not in html
    (question,) = used.questions
    assert (question.id, question.page, question.covers, question.key, question.multi, question.line) == (
        "weights",
        "docs/strategies/page.md",
        ["S2", "P1"],
        [True, False, False],
        False,
        3,
    )
    assert question.options == ["They are equal.", "They differ.", "Nobody knows."]
    assert question.proof[0] == "claim: strategies/mirrored.py:weights_equal"


@pytest.mark.usefixtures("record")
def test_links_to_a_card_of_the_same_page() -> None:
    html, _ = house.render(f"{QUIZ}\n/// program | strategies/mirrored.py\n///\n")
    assert "/__program__/" not in html
    assert 'href="#program-strategies-mirrored"' in html


@pytest.mark.usefixtures("record")
def test_several_right_options() -> None:
    html, used = house.render(MANY)
    soup = BeautifulSoup(html, "html.parser")
    assert [i["type"] for i in soup.select("input")] == ["checkbox"] * 3
    assert "Choose 2." in soup.legend.get_text()  # type: ignore[union-attr]
    assert used.questions[0].covers == ["P1", "T3"]
    assert used.questions[0].options[0] == "Equal. Indeed."
    assert "is true" in soup.select(".quiz-proof")[0].get_text()
    assert "is false" in soup.select(".quiz-proof")[1].get_text()


@pytest.mark.usefixtures("record")
def test_code_and_values_in_a_question() -> None:
    text = QUIZ.replace("That would be `N` models.", "It took {{ strategies/mirrored.py:steps }} steps.").replace(
        "- [x] They", "```text\nshown\n```\n\n- [x] They"
    )
    html, used = house.render(text)
    assert "It took <data" in html
    assert BeautifulSoup(html, "html.parser").select_one("fieldset > .highlight")
    assert len(used.values) == 1


def test_an_id_may_return_on_the_next_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    assert len(house.render(QUIZ, page="docs/a.md")[1].questions) == 1
    assert len(house.render(QUIZ, page="docs/b.md")[1].questions) == 1


WRONG = [
    ("no question", ("What is true of the *weights*?", ""), "/// quiz |", "says nothing after `|`"),
    ("no id", ("    id: weights\n", ""), "/// quiz", "has no id"),
    ("id with capitals", ("id: weights", "id: My Weights"), "id: My", "not lower-case words joined"),
    ("id a number", ("id: weights", "id: 7"), "id: 7", "not lower-case words joined"),
    ("no rows", ("    covers: [S2, P1]\n", ""), "/// quiz", "covers nothing"),
    ("no such row", ("[S2, P1]", "[S2, Q1]"), "covers", "docs/curriculum.toml has no row `Q1`"),
    ("row twice", ("[S2, P1]", "S2, S2"), "covers", "named twice"),
    ("unknown option", ("covers", "level: 3\n    covers"), "level", "has no option `level`"),
    ("option twice", ("    id: weights\n", "    id: weights\n    id: others\n"), "    id: others", "`id` twice"),
    ("attrs", ("covers", "attrs: {class: x}\n    covers"), "attrs", "has no option `attrs`"),
    ("options are not YAML", ("id: weights", "id: [weights"), "/// quiz", "starts no block that can be read"),
    ("an empty line before the options", ("\n    id: weights", "\n\n    id: weights"), "/// quiz", "has no id"),
    ("no mark", ("- [ ] They differ", "- They differ"), "- They differ", "has no mark"),
    ("no key", (" {claim: strategies/mirrored.py:weights_differ}", ""), "They differ", "does not say what decides it"),
    ("key with a typo", ("differ. {claim", "differ. {clam"), "They differ", "not decided by `clam:`"),
    ("key that is no reference", ("mirrored.py:weights_differ", "mirrored.py"), "They differ", "is not a reference"),
    ("source without https", ("https://www", "http://www"), "Nobody", "is not a source"),
    ("source that is no address", ("https://www.", "https://[www."), "Nobody", "is not a source"),
    ("two sources", ("distributed_training}", "distributed_training https://b.org}"), "Nobody", "is not a source"),
    ("no reason", ("    That would be `N` models.\n\n", ""), "They differ", "has no reason"),
    ("no text", ("They differ. ", ""), "- [ ] {claim", "has no text"),
    ("none is right", ("[x]", "[ ]"), "/// quiz", "has no right option"),
    ("all are right", ("[ ]", "[x]"), "/// quiz", "has no wrong option"),
    ("the same text twice", ("They differ.", "They are equal."), "/// quiz", "same option twice"),
    ("text after the options", ("says it.\n", "says it.\n\nMore.\n"), "/// quiz", "does not end with its list"),
    ("two lists", ("- [ ] Nobody", "Well.\n\n- [ ] Nobody"), "/// quiz", "does not end with its list"),
    ("no list", ("- [", "* ("), "/// quiz", "does not end with its list"),
    ("wrong mark", ("[ ] They differ", "[x] They differ"), "They differ", "right, but by its claim it is wrong"),
    ("wrong key", ("{claim: s", "{claim: not s"), "They are equal", "is marked right, but by its claim it is wrong"),
    ("unknown program", ("mirrored.py:weights_d", "mirored.py:weights_d"), "mirored", "mean `strategies/mirrored.py`"),
    ("unknown claim", (":weights_differ", ":weigths_differ"), "weigths", "did you mean `weights_differ`"),
    ("a measure is no claim", (":weights_differ", ":steps"), ":steps", "has no `steps` in its `claims`"),
    ("never closed", ("it.\n///", "it."), "/// quiz", "is never closed"),
    ("a misspelt block", ("/// quiz", "/// quizz"), "/// quizz", "starts no block that is known"),
]  # fmt: skip


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(("change", "at", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_a_malformed_question_stops_the_build(change: tuple[str, str], at: str, message: str) -> None:
    text = QUIZ.replace(*change)
    assert text != QUIZ
    with pytest.raises(GuideError) as caught:
        house.render(text)
    line = text[: text.index(at)].count("\n") + 1
    assert str(caught.value).startswith(f"docs/strategies/page.md:{line}: ")
    assert message in str(caught.value)
    assert "Fix: " in str(caught.value)


@pytest.mark.usefixtures("record")
def test_the_second_of_two_questions_with_one_id_is_named() -> None:
    text = QUIZ + "\n" + QUIZ.replace("# Title\n", "")
    with pytest.raises(GuideError, match=r"page\.md:22: the id `weights` is used twice on this page"):
        house.render(text)


@pytest.mark.usefixtures("record")
def test_the_second_end_of_a_block_is_named() -> None:
    with pytest.raises(GuideError, match=r"page\.md:20: `///` closes no block"):
        house.render(QUIZ + "\n///\n")


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize("count", [1, 7])
def test_number_of_options(count: int) -> None:
    options = "".join(
        f"- [{'x' if n == 0 else ' '}] Option {n}. {{source: https://example.org}}\n\n    Why.\n\n"
        for n in range(count)
    )
    with pytest.raises(GuideError, match=rf":1: question `q` has {count} options"):
        house.render(f"/// quiz | Q?\n    id: q\n    covers: S2\n\n{options}///\n")


def test_a_stale_record_stops_the_build_but_not_a_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = house.build(tmp_path / "snippets", monkeypatch)
    program.file.write_text(house.SOURCE.replace("True", "bool(1)"), encoding="utf-8")
    with pytest.raises(GuideError, match=r"page\.md:7: question `weights`: .*changed.*make record ARGS=strategies"):
        house.render(QUIZ)
    monkeypatch.setenv("GUIDE_PREVIEW", "1")
    assert "Not checked: " in house.render(QUIZ)[0]
    records.file_of(program, "cpu").unlink()
    assert "has no record" in house.render(QUIZ)[0]


def test_an_answer_that_another_device_contradicts_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers have a GPU more often than the tests do: an answer holds on every device that has a record."""
    program = house.build(tmp_path / "snippets", monkeypatch)
    records.write(house.record_of(program, device="gpu"))
    assert "They are equal." in house.render(QUIZ)[0]
    otherwise = {"weights_equal": False, "weights_differ": False}
    records.write(house.record_of(program, device="gpu", claims=otherwise))
    said = r"`strategies/mirrored.py:weights_equal` is True on the CPU, and False in the record for GPU"
    with pytest.raises(GuideError, match=said):
        house.render(QUIZ)
    records.write(house.record_of(program, device="gpu", claims=otherwise, sha256="0" * 64))
    assert "They are equal." in house.render(QUIZ)[0]


def test_an_answer_may_rest_on_the_record_of_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = house.build(tmp_path / "snippets", monkeypatch)
    on_gpus = QUIZ.replace("mirrored.py:", "mirrored.py@gpu:")
    with pytest.raises(
        GuideError, match=r"has no record for gpu\. Fix: run `make record DEVICE=gpu ARGS=strategies/mir"
    ):
        house.render(on_gpus)
    records.write(house.record_of(program, device="gpu"))
    assert "They are equal." in house.render(on_gpus)[0]
    records.write(house.record_of(program, device="gpu", claims={"weights_equal": False, "weights_differ": False}))
    with pytest.raises(GuideError, match="weights"):
        house.render(on_gpus)
    with pytest.raises(GuideError, match=r"there is no device `ipu`.*name one of cpu, gpu, tpu"):
        house.render(QUIZ.replace("mirrored.py:", "mirrored.py@ipu:"))


def test_keys() -> None:
    text, key = quiz_key.split("Text {a} {claim: a/b.py:c and not d/e.py:f}")
    assert quiz_key.parse(str(key)) == key
    assert text == "Text {a}"
    assert [(str(c.reference), c.wanted) for c in key.claims] == [("a/b.py:c", True), ("d/e.py:f", False)]
    assert str(key) == "claim: a/b.py:c and not d/e.py:f"
    with pytest.raises(Missing):
        quiz_key.split("Text {claim: a/b.py:c and }")
