"""Records: what is written is what is read, the bytes are stable, and only a current one counts."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from pathlib import Path

import pytest

from hooks import programs, records, shapes
from hooks.errors import ROOT, GuideError

SOURCE = '''# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "tf_keras>=2"]
# ///
"""Show one thing."""

claims = {"holds": True}
'''
LOCK = """version = 1

[[package]]
name = "tensorflow"
version = "2.21.0"

[[package]]
name = "keras"
version = "3.15.1"

[[package]]
name = "tf-keras"
version = "2.21.0"

[[package]]
name = "numpy"
version = "2.0.0"
resolution-markers = ["python_full_version < '3'"]

[[package]]
name = "numpy"
version = "2.4.6"
resolution-markers = ["python_full_version >= '3'"]
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> programs.Program:
    monkeypatch.setattr(records, "LOCK", tmp_path / "uv.lock")
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path)
    records.LOCK.write_text(LOCK)
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "one.py").write_text(SOURCE)
    return programs.load("strategies/one.py")


def record_of(program: programs.Program, **changes: object) -> records.Record:
    record = records.Record(
        program=program.path,
        sha256=program.sha256,
        device="cpu",
        hardware="2 cores",
        versions={"tensorflow": "2.21.0", "keras": "3.15.1", "tf-keras": "2.21.0", "python": "3.11.7"},
        recorded="2026-11-20",
        seconds=1.5,
        output={"setup": "one\ntwo é\n", "": "no newline"},
        claims={"b": True, "a": False},
        measures={"speedup_x": 1.9, "devices": 4, "name": "x"},
        errors={"e": "ValueError: no"},
        figures={"f": {"kind": "lines", "x": [1, 2, 3], "series": {"z": [1.0, 2.5, 3.0], "a": [0, 0, 0]}}},
        tables={"t": {"columns": ["a", "b"], "rows": [[1, "x"], [True, {"text": "y", "note": "n"}]]}},
    )
    return dataclasses.replace(record, **changes)  # type: ignore[arg-type]


def test_what_is_written_is_what_is_read(program: programs.Program) -> None:
    record = record_of(program)
    assert records.load(program) is None
    file = records.write(record)
    assert file == records.file_of(program, "cpu")
    assert file.name == "one.cpu.json"
    assert records.load(program) == record
    assert records.current(program) == record


def test_the_same_record_has_the_same_bytes(program: programs.Program) -> None:
    record = record_of(program)
    turned = dataclasses.replace(record, claims=dict(reversed(record.claims.items())))
    assert records.to_text(record) == records.to_text(turned)
    assert list(json.loads(records.to_text(record))["output"]) == ["setup", ""], "output keeps the program's order"
    assert list(json.loads(records.to_text(record))["figures"]["f"]["series"]) == ["z", "a"], "so does a legend"
    assert records.to_text(record).endswith("}\n")


def test_numbers_of_a_figure_take_one_line(program: programs.Program) -> None:
    text = records.to_text(record_of(program))
    assert '"x": [1, 2, 3]' in text
    assert '[1, "x"]' in text


def test_a_current_record(program: programs.Program) -> None:
    assert records.state(program) == "missing"
    records.write(record_of(program))
    assert records.state(program) == "current"
    assert records.why_stale(program) == ""
    assert records.state(program, "gpu") == "missing"


def test_another_source_makes_it_stale(program: programs.Program) -> None:
    records.write(record_of(program))
    assert records.outdated(program) is None
    program.file.write_text(SOURCE.replace("one thing", "two things"))
    edited = programs.load(program.path)
    assert records.state(edited) == "stale"
    with pytest.raises(GuideError, match=r"changed after it was recorded.*make record ARGS=strategies/one.py"):
        records.current(edited)
    assert "changed after it was recorded" in str(records.outdated(edited))


@pytest.mark.parametrize("name", ["tensorflow", "keras", "tf-keras"])
def test_another_locked_version_makes_it_stale(name: str, program: programs.Program) -> None:
    versions = dict(record_of(program).versions)
    versions[name] = "1.0"
    records.write(record_of(program, versions=versions))
    assert f"recorded with {name} 1.0" in records.why_stale(program)
    del versions[name]
    records.write(record_of(program, versions=versions, seconds=1.25))
    assert f"recorded with {name} (unknown)" in records.why_stale(program)


def test_other_versions_do_not_matter(program: programs.Program) -> None:
    records.write(record_of(program))
    records.LOCK.write_text(LOCK.replace("2.4.6", "2.5.0 "))
    assert records.state(program) == "current"


def test_an_unlocked_dependency_is_named(program: programs.Program) -> None:
    records.write(record_of(program))
    records.LOCK.write_text(LOCK.replace('"tf-keras"', '"tf-other"'))
    with pytest.raises(
        GuideError, match=r"one\.py:\d+: the program depends on tf-keras, which uv.lock does not"
    ) as caught:
        records.why_stale(program)
    assert "pyproject.toml" in caught.value.cure, "to record it again would not correct it"


def test_missing_says_what_to_run_on_that_device(program: programs.Program) -> None:
    with pytest.raises(GuideError, match=r"no record for gpu.*make record DEVICE=gpu ARGS=strategies/one.py"):
        records.current(program, "gpu")


def test_the_lock_is_read_for_this_machine(program: programs.Program) -> None:
    assert records.locked_versions() == {
        "tensorflow": "2.21.0",
        "keras": "3.15.1",
        "tf-keras": "2.21.0",
        "numpy": "2.4.6",
    }


def test_a_lock_that_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    lock = tmp_path / "uv.lock"
    lock.write_text("version = 1\n<<<<<<< ours\n")
    with pytest.raises(GuideError, match=r"uv\.lock:2: the lock cannot be read"):
        records._locked(lock, 0, 0)


@pytest.mark.parametrize(
    ("key", "value", "cause"),
    [
        ("claims", {"a": 1}, "'claims' is not a table of true and false"),
        ("claims", {"a": "true"}, "'claims' is not"),
        ("sha256", "abc", "'sha256' is not a SHA-256"),
        ("seconds", "1", "'seconds' is not a number"),
        ("output", {"a": "text"}, "'output' is not lines of text"),
        ("recorded", "yesterday", "'recorded' is not a date"),
        ("recorded", "2026-02-30", "'recorded' is not a date"),
        ("recorded", "2026-11-99", "'recorded' is not a date"),
        ("program", "strategies/two.py", "it should be 'strategies/one.py'"),
        ("device", "gpu", "it should be 'cpu'"),
        ("measures", {"a": None}, "'measures' is not"),
        ("extra", 1, "'extra' is unknown"),
        ("figures", {"f": {"kind": "pie"}}, "figure 'f': its kind is 'pie'"),
        (
            "tables",
            {"t": {"columns": ["a"], "rows": [], "title": "A"}},
            "table 't': it is not a dict of 'columns' and 'rows'",
        ),
        ("tables", {"t": {"columns": ["a"], "rows": [[1, 2]]}}, "table 't': row 0 has 2 cells for 1 columns"),
    ],
)
def test_a_broken_record_is_refused(key: str, value: object, cause: str, program: programs.Program) -> None:
    data = json.loads(records.to_text(record_of(program)))
    records.file_of(program, "cpu").write_text(json.dumps({**data, key: value}))
    with pytest.raises(GuideError) as caught:
        records.load(program)
    assert cause in caught.value.cause
    assert "make record" in caught.value.cure


def test_a_record_that_is_cut_short_is_refused(program: programs.Program) -> None:
    text = records.to_text(record_of(program))
    records.file_of(program, "cpu").write_text(text[:100])
    with pytest.raises(GuideError, match="it is not JSON"):
        records.load(program)
    data = json.loads(text)
    del data["claims"]
    records.file_of(program, "cpu").write_text(json.dumps(data))
    with pytest.raises(GuideError, match="'claims' is missing"):
        records.load(program)


GOOD_FIGURES: dict[str, dict[str, object]] = {
    "bars": {"categories": ["a"], "series": {"s": [1]}},
    "scatter": {"series": {"s": {"x": [1], "y": [2]}}},
    "timeline": {"lanes": ["l"], "spans": [{"lane": 0, "start": 0.0, "end": 1.0}]},
    "matrix": {"rows": ["r"], "columns": ["a", "b"], "values": [[1, 2]]},
    "grid": {"rows": ["r"], "columns": ["a"], "text": [["x"]], "group": [["g"]]},
    "field": {"x": [0, 1], "y": [0], "values": [[1, 2]], "points": {"p": {"x": [0], "y": [0]}}},
    "panels": {"panels": [{"kind": "lines", "x": [1], "series": {"s": [1]}}]},
}
BAD_FIGURES: list[dict[str, object]] = [
    {"kind": "lines", "x": [1, 2], "series": {"s": [1]}},
    {"kind": "lines", "series": {"s": [1]}},
    {"kind": "lines", "x": [1], "series": {}},
    {"kind": "scatter", "series": {"s": {"x": [1], "y": []}}},
    {"kind": "timeline", "lanes": ["l"], "spans": [{"lane": 1, "start": 0, "end": 1}]},
    {"kind": "timeline", "lanes": ["l"], "spans": [{"lane": 0, "start": 2, "end": 1}]},
    {"kind": "timeline", "lanes": ["l"], "spans": [{"lane": 0, "start": 0.0, "end": None}]},
    {"kind": "timeline", "lanes": ["l"], "spans": [{"lane": 0, "start": "0", "end": "1"}]},
    {"kind": ["lines"], "x": [1], "series": {"s": [1]}},
    {"kind": "matrix", "rows": ["r", "s"], "columns": ["a"], "values": [[1]]},
    {"kind": "grid", "rows": ["r"], "columns": ["a"], "text": [["x"]], "group": [["g", "h"]]},
    {"kind": "panels", "panels": []},
    {"kind": "lines", "x": [1], "series": {"s": [1]}, "xlable": "x"},
    {"kind": "bars", "categories": ["a"], "series": {"s": [1]}, "markers": True},
    {"kind": "panels", "panels": [{"kind": "bars", "categories": ["a"], "series": {"s": [1, 2]}}]},
    {"kind": "panels", **GOOD_FIGURES["panels"], "xlabel": "x"},
    {"kind": "bars", **GOOD_FIGURES["bars"], "horizontal": "no"},
    {"kind": "bars", **GOOD_FIGURES["bars"], "timing": 1},
]


@pytest.mark.parametrize("kind", GOOD_FIGURES)
def test_a_figure_of_each_kind_passes(kind: str) -> None:
    assert shapes.wrong_figures({"f": {"kind": kind, **GOOD_FIGURES[kind]}}) == ""


@pytest.mark.parametrize("figure", BAD_FIGURES)
def test_a_wrong_figure_is_refused(figure: dict[str, object]) -> None:
    assert shapes.wrong_figures({"f": figure}).startswith("figure 'f': ")


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_sentences_name_the_locked_versions(page: str) -> None:
    text = (ROOT / page).read_text("utf8")
    lock = tomllib.loads(records.LOCK.read_text("utf8"))
    locked = {name: records.locked_versions()[name].rpartition(".")[0] for name in records.ALWAYS}
    wheels = next(package["wheels"] for package in lock["package"] if package["name"] == "tensorflow")
    pythons = sorted({int(found[1]) for wheel in wheels if (found := re.search(r"-cp3(\d+)-", wheel["url"]))})
    *others, last = (f"3.{minor}" for minor in pythons)
    assert re.search(rf"TensorFlow {locked['tensorflow']} and Keras {locked['keras']}\b", text)
    assert set(re.findall(r"\b(tensorflow|keras)==([\d.]+)\.\*", text)) <= locked.items()
    assert f"Python {', '.join(others)} or {last}" in text
    assert lock["requires-python"] == f">=3.{pythons[0]}, <3.{pythons[-1] + 1}"


def test_the_readme_says_where_the_site_is_and_where_its_records_are_from() -> None:
    readme = (ROOT / "README.md").read_text("utf8")
    (address,) = re.findall(r'(?m)^site_url: .*"(https://[^"]+)"', (ROOT / "mkdocs.yml").read_text("utf8"))
    assert f"<{address}>" in readme
    cards = {json.loads(file.read_text("utf8"))["hardware"] for file in programs.SNIPPETS.rglob("*.gpu.json")}
    assert [card for card in cards if f"one {card.partition(',')[0]}, split" not in readme] == []
    assert ("No record is from a TPU" in readme) == (not any(programs.SNIPPETS.rglob("*.tpu.json")))
