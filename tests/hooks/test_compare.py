"""Comparing a run with its record: what may differ, and that everything else is noticed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from hooks import compare, records, unsteady

BASE = records.Record("a/b.py", "0" * 64, "cpu", "2 cores", {}, "2026-11-20", 1.0)


def found(tolerance: float = 1e-3, **parts: tuple[Any, Any]) -> list[str]:
    old = dataclasses.replace(BASE, **{name: pair[0] for name, pair in parts.items()})
    new = dataclasses.replace(BASE, **{name: pair[1] for name, pair in parts.items()})
    return [str(one) for one in compare.differences(old, new, tolerance)]


def test_a_claim_that_is_listed_as_unsteady_is_not_compared() -> None:
    path, _, name = sorted(unsteady.listed())[0].partition(":")
    old = dataclasses.replace(BASE, program=path, claims={name: True, "another": True})
    new = dataclasses.replace(old, claims={name: False, "another": False})
    assert [str(one) for one in compare.differences(old, new, 0)] == ["claim 'another' is False, the record says True"]
    elsewhere: list[dict[str, Any]] = [{"program": "a/b.py"}, {"device": "gpu"}]
    for change in elsewhere:
        assert len(compare.differences(dataclasses.replace(old, **change), new, 0)) == 2, "elsewhere it is"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("plain text", "plain text"),
        ("loss 0.6931", "loss 0.6932"),
        ("loss 1e-07", "loss -3e-07"),
        ("loss 1", "loss 0.9999"),
        ("loss nan", "loss nan"),
        ("loss -inf", "loss -inf"),
        ("step 12.3 ms", "step 4.1 ms"),
        ("step   12.3 ms", "step 104.1 ms"),
        ("step 12.3ms", "step 4ms"),
        ("took 3 s", "took 12 s"),
        ("speed-up 1.9x", "speed-up 2.31x"),
        ("speed-up 1.9 ×", "speed-up 2.3 ×"),  # noqa: RUF001
        ("rate 1,234 images/s", "rate 987 images/s"),
        ("rate 10/s", "rate 12/s"),
        ("wait 5 µs", "wait 9 µs"),
        ("[0.1, 0.2]", "[0.10001, 0.2]"),
        ("[1. -0.]", "[1. 0.]"),
        ("12,345.6 bytes", "12,345.7 bytes"),
    ],
)
def test_output_that_agrees(old: str, new: str) -> None:
    assert found(output=({"s": old}, {"s": new})) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("plain text", "plain  text"),
        ("True", "False"),
        ("replicas 4", "replicas 5"),
        ("loss 0.6931", "loss 0.7931"),
        ("loss 0.6931", "loss nan"),
        ("loss 0.6931", "loss inf"),
        ("loss inf", "loss 0.6931"),
        ("loss inf", "loss -inf"),
        ("loss 1.5", "loss -1.5"),
        ("1,000 rows", "1,001 rows"),
        ("counted 10000.", "counted 10005."),
        ("step 12.3 ms", "step 12.3 s"),
        ("step 12.3 ms", "step fast"),
        ("step 12.3 ms", "step nan ms"),
        ("on 4 x GPU", "on 8 x GPU"),
        ("loss 0.5 min, 0.7 max", "loss 0.6 min, 0.7 max"),
        ("step 12.3 ms", "step 12.3"),
        ("3 x 4", "3 x 5"),
        ("3x4", "3x5"),
        ("version 2.21.0", "version 2.21.1"),
        ("GPU:0", "GPU:1"),
        ("conv2d_1", "conv2d_2"),
        ("one\ntwo", "one"),
        ("one\ntwo\n", "one\ntwo"),
    ],
)
def test_output_that_differs(old: str, new: str) -> None:
    assert len(found(output=({"s": old}, {"s": new}))) == 1


def test_a_difference_names_section_and_line() -> None:
    [sentence] = found(output=({"fit": "a\nb 1\n"}, {"fit": "a\nb 2\n"}))
    assert sentence == "output of section 'fit', line 2: it printed 'b 2', the record says 'b 1'"
    assert "outside all sections" in found(output=({"": "a"}, {"": "b"}))[0]


def test_output_of_a_section_may_not_come_or_go() -> None:
    assert "nothing was printed" in found(output=({"fit": "a"}, {}))[0]
    assert "the record has none" in found(output=({}, {"fit": "a"}))[0]


def test_the_tolerance_counts() -> None:
    pair = ({"s": "loss 1.0"}, {"s": "loss 1.05"})
    assert found(output=pair)
    assert not found(0.1, output=pair)


def test_claims_and_errors_are_equal_or_reported() -> None:
    assert found(claims=({"a": True}, {"a": False})) == ["claim 'a' is False, the record says True"]
    assert found(claims=({"a": True}, {})) == ["claim 'a' is missing, the record has it"]
    assert found(claims=({}, {"a": True})) == ["claim 'a' is new, the record lacks it"]
    assert found(errors=({"e": "ValueError: 16 rows"}, {"e": "ValueError: 17 rows"}))


@pytest.mark.parametrize(
    ("name", "old", "new", "differs"),
    [
        ("loss", 0.5, 0.50001, False),
        ("loss", 0.5, 0.6, True),
        ("rows", 16, 17, True),
        ("rows", 16, 16.0, True),
        ("word", "a", "b", True),
        ("step_ms", 1.0, 9.0, False),
        ("total_s", 1.0, 9.0, False),
        ("total_s", 1.0, "9", True),
        ("speedup_x", 1.0, 9.0, False),
        ("images_per_s", 1, 9, False),
        ("loss_sum", 1.0, 9.0, True),
    ],
)
def test_measures(name: str, old: object, new: object, differs: bool) -> None:
    assert bool(found(measures=({name: old}, {name: new}))) is differs


def table(*rows: list[Any], columns: tuple[str, ...] = ("what", "loss", "step [ms]")) -> dict[str, Any]:
    return {"t": {"columns": list(columns), "rows": list(rows)}}


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        (["a", 0.5, 12.0], ["a", 0.50001, 99.0], False),
        (["a", 0.5, 12.0], ["b", 0.5, 12.0], True),
        (["a", 0.5, 12.0], ["a", 0.6, 12.0], True),
        (["a", 0.5, 12.0], ["a", 0.5, "fast"], True),
        (["a", True, 12.0], ["a", False, 12.0], True),
        (["a", True, 12.0], ["a", 1, 12.0], True),
        ([{"text": "a", "note": "n"}, 1, 1], [{"text": "a", "note": "m"}, 1, 1], True),
        ([{"text": "a"}, 1, 1], ["a", 1, 1], True),
    ],
)
def test_tables(old: list[Any], new: list[Any], differs: bool) -> None:
    assert bool(found(tables=(table(old), table(new)))) is differs


@pytest.mark.parametrize(("column", "free"), [("a [ms]", True), ("a [x]", True), ("a (x)", False), ("a (s)", False)])
def test_only_a_unit_in_square_brackets_makes_a_column_free(column: str, free: bool) -> None:
    old, new = table([1.5], columns=(column,)), table([2.5], columns=(column,))
    assert (found(tables=(old, new)) == []) is free


def test_the_shape_of_a_table_counts() -> None:
    assert found(tables=(table(["a", 1, 1]), table(["a", 1, 1], ["b", 1, 1])))
    assert found(tables=(table(["a"], columns=("x",)), table(["a"], columns=("y",))))


LINES = {"kind": "lines", "title": "t", "x": [1, 2], "series": {"a": [100.0, 0.0], "b": [1.0, 2.0]}}


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({}, False),
        ({"series": {"a": [100.01, 1e-5], "b": [1.0, 2.0]}}, False),
        ({"series": {"a": [110.0, 0.0], "b": [1.0, 2.0]}}, True),
        ({"series": {"a": [100.0, 0.0], "c": [1.0, 2.0]}}, True),
        ({"x": [1, 2, 3]}, True),
        ({"title": "u"}, True),
        ({"kind": "bars"}, True),
        ({"yscale": "log"}, True),
    ],
)
def test_figures(change: dict[str, Any], differs: bool) -> None:
    assert bool(found(figures=({"f": LINES}, {"f": {**LINES, **change}}))) is differs


def test_near_zero_a_figure_may_differ_by_what_no_reader_sees() -> None:
    def drawn(number: float, **axes: str) -> dict[str, Any]:
        return {"f": {**LINES, "series": {"a": [100.0, number]}, **axes}}

    assert not found(figures=(drawn(0.1), drawn(0.4)))
    assert found(figures=(drawn(0.1), drawn(0.7)))
    for scale in ("log", "log2"):
        assert found(figures=(drawn(0.1, yscale=scale), drawn(0.4, yscale=scale)))
        assert not found(figures=(drawn(0.1, xscale=scale), drawn(0.4, xscale=scale))), "the other axis is linear"


def test_a_place_on_a_logarithmic_axis_is_compared_as_closely_near_its_start() -> None:
    def drawn(first: float, **axes: str) -> dict[str, Any]:
        return {"f": {**LINES, "x": [first, 1000.0], "series": {"a": [1.0, 2.0]}, **axes}}

    assert not found(figures=(drawn(1.0), drawn(2.0)))
    assert found(figures=(drawn(1.0, xscale="log2"), drawn(2.0, xscale="log2")))


def test_numbers_of_a_timing_figure_are_free_but_not_its_shape() -> None:
    timed = {**LINES, "timing": True}
    assert not found(figures=({"f": timed}, {"f": {**timed, "series": {"a": [7.0, 7.0], "b": [7.0, 7.0]}}}))
    assert found(figures=({"f": timed}, {"f": {**timed, "series": {"a": [7.0], "b": [7.0]}}}))


def test_a_timeline_is_free_but_for_lanes_and_groups() -> None:
    def timeline(*spans: tuple[int, float, str]) -> dict[str, Any]:
        listed = [{"lane": lane, "start": start, "end": start + 1, "group": group} for lane, start, group in spans]
        return {"f": {"kind": "timeline", "lanes": ["a", "b"], "spans": listed}}

    assert not found(
        figures=(timeline((0, 0.0, "f"), (1, 1.0, "f")), timeline((1, 5.0, "f"), (0, 2.0, "f"), (0, 9.0, "f")))
    )
    assert found(figures=(timeline((0, 0.0, "f"), (1, 1.0, "f")), timeline((0, 0.0, "f"))))
    assert found(figures=(timeline((0, 0.0, "f")), timeline((0, 0.0, "g"))))


def test_packages_of_other_versions_are_named() -> None:
    old = dataclasses.replace(BASE, versions={"python": "3.11.7", "keras": "3.15.1", "tensorflow": "2.21.0"})
    new = dataclasses.replace(
        BASE, versions={"python": "3.12.1", "keras": "3.15.1", "tensorflow": "2.20.0", "grpcio": "1"}
    )
    assert compare.versions(old, dataclasses.replace(old, versions={**old.versions, "python": "3.13.0"})) == []
    assert compare.versions(old, new) == [
        "it ran with grpcio 1, the record has none",
        "it ran with tensorflow 2.20.0, the record has 2.21.0",
    ]
    assert compare.versions(new, old)[0] == "it ran with grpcio missing, the record has 1"
