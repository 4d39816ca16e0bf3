"""Figures: every kind is drawn as small, clean SVG; colours hold their contrast; malformed ones stop the build."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from hooks import busy, cache, figure, plot_layout, plot_parts, plots
from hooks.errors import GuideError
from hooks.reference import Missing
from tests.hooks import house
from tests.hooks.pictures import PICTURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.site.chromium import NewReader

CSS = (Path(__file__).resolve().parents[2] / "docs" / "assets" / "figure.css").read_text("utf-8")
FIGURE = """\
/// figure | strategies/mirrored.py:split
    alt: Two bars: the second is {{ strategies/mirrored.py:speedup_x | .0f }} times as high.

Each replica gets *its* rows.
///
"""
ALT = FIGURE.split("\n")[1] + "\n"
LIMIT = 13_000  # characters; a page of four figures weighs less than one photograph


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    return tmp_path / "figures"


def draw(data: dict[str, Any], ident: str = "figure-a") -> str:
    return plots.svg(data, ident=ident, alt='What "one" sees & <more>', name="a/b.py:c")


def elements(svg: str) -> Iterator[ElementTree.Element]:
    return ElementTree.fromstring(svg).iter()


def shapes(svg: str) -> str:
    return "".join(re.findall(r' d="([^"]*)"', svg))


@pytest.mark.parametrize("name", PICTURES)
def test_drawing_is_clean_and_small(name: str) -> None:
    svg = draw(PICTURES[name])
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'What "one" sees & <more>'
    for element in root.iter():
        assert element.tag in {"svg", "div", "p", "g", "path", "text", "defs", "pattern"}
        assert "style" not in element.attrib
        for value in (element.get("fill", ""), element.get("stroke", "")):
            assert value in ("", "none", "currentColor") or value.startswith("url(#figure-a-")
    assert not re.search(r"#[0-9a-f]{6}\b|rgb\(", svg), "colours belong to the style sheet"
    known = set(re.findall(r"\.(fig[\w-]*)", CSS))
    used = {name for classes in re.findall(r'class="([^"]+)"', svg) for name in classes.split()}
    assert used <= known, f"classes without a rule: {used - known}"
    assert max(map(len, re.findall(r"\d+\.(\d+)", shapes(svg))), default=0) <= 2
    assert len(svg) < LIMIT * (1 if name != "matrix-large" else 1.3)


@pytest.mark.parametrize("name", PICTURES)
def test_drawing_twice_gives_the_same(name: str) -> None:
    assert plot_layout.draw(PICTURES[name], "a") == plot_layout.draw(copy.deepcopy(PICTURES[name]), "a")


def test_ids_differ_between_figures() -> None:
    ids: list[str] = []
    for name in ("timeline", "grid", "bars-stacked", "panels"):
        ids += [e.get("id", "") for e in elements(draw(PICTURES[name], f"figure-{name}")) if e.get("id")]
    assert ids
    assert len(ids) == len(set(ids))
    svg = draw(PICTURES["grid"])
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) == {e.get("id") for e in elements(svg) if e.get("id")}


def test_series_differ_by_more_than_colour() -> None:
    dashed = re.findall(
        r'class="fig-s\d"[^>]*stroke-width="1\.8"(?: stroke-dasharray="([^"]+)")?', draw(PICTURES["lines"])
    )
    assert len(set(dashed)) == 3
    assert len({e.get("id") for e in elements(draw(PICTURES["bars-stacked"])) if e.tag == "pattern"}) == 3


def test_groups_look_the_same_in_every_panel() -> None:
    def grid(*groups: str) -> dict[str, Any]:
        return {"kind": "grid", "rows": ["r"], "columns": list("ab"), "text": [["1", "2"]], "group": [list(groups)]}

    svg = ElementTree.fromstring(draw({"kind": "panels", "panels": [grid("x", "y"), grid("y", "z")]}))
    key, first, second = svg.findall(".//svg")
    assert [text.text for text in key.iter("text")] == ["x", "y", "z"]
    tints = [set(re.findall(r"fig-t\d", ElementTree.tostring(part, "unicode"))) for part in (first, second)]
    assert tints == [{"fig-t1", "fig-t2"}, {"fig-t2", "fig-t3"}]


def test_texts_of_wide_plots_get_room() -> None:
    text = [["0+1+2+3"] * 8] * 2
    data = {"kind": "grid", "rows": ["a", "b"], "columns": list("abcdefgh"), "text": text, "group": [["g"] * 8] * 2}
    svg = draw(data)
    assert 'class="fig fig-wide"' in svg
    assert svg.count("0+1+2+3") == 16


def test_gaps_are_gaps() -> None:
    data = {"kind": "lines", "x": [1, 2, 3, 4, 5], "series": {"a": [1, 2, None, 4, 5]}, "markers": False, "ylabel": "y"}
    (line,) = re.findall(r'class="fig-s1"[^>]* d="([^"]+)"', draw(data))
    assert line.count("M") == 2


def test_a_bar_that_is_missing_has_no_label() -> None:
    svg = draw({"kind": "bars", "categories": ["a", "b"], "series": {"s": [2, None]}})
    assert ">2<" in svg
    assert "nan" not in svg


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_bar_that_is_missing_takes_none_away(scale: str) -> None:
    def bars(first: list[float | None]) -> list[str]:
        series = {"below": first, "middle": [4, 5], "above": [6, 7]}
        data = {"kind": "bars", "stacked": True, "yscale": scale, "categories": ["a", "b"], "series": series}
        drawn = [e for e in elements(draw(data)) if re.match(r"fig-b[23]\b", e.get("class", ""))]
        return [e.get("d", "") for e in drawn][:2]  # after them the legend

    found = bars([2, None])
    assert [bool(re.fullmatch(r"(M[^Mz]*[LHV][^Mz]*z){2}", bar)) for bar in found] == [True, True]
    if scale == "linear":  # which has a bar of no height too
        assert found == bars([2, 0])


@pytest.mark.parametrize("more", [{}, {"stacked": True}], ids=["beside", "stacked"])
@pytest.mark.parametrize("flat", [True, False], ids=["lying", "standing"])
def test_bars_on_a_logarithmic_axis_stay_inside(more: dict[str, Any], *, flat: bool) -> None:
    data = {"kind": "bars", "yscale": "log", "horizontal": flat, "categories": ["a", "b"], "series": {"s": [2, 3000]}}
    svg = draw(data | more)
    _, _, width, height = (float(n) for n in ElementTree.fromstring(svg).get("viewBox", "").split())
    bars = [e.get("d", "") for e in elements(svg) if e.get("class", "").startswith("fig-b1")]
    ends = [float(n) for d in bars for n in re.findall(r"-?\d+(?:\.\d+)?", d)]
    assert ends
    assert min(ends) >= 0
    assert max(ends) <= max(width, height)


@pytest.mark.parametrize(
    ("name", "label", "below"),
    [
        ("bars", "images per second", False),
        ("bars-flat", "milliseconds for a step", True),
        ("bars-that-lie-by-themselves", "MiB", True),
        ("bars-that-lie-by-themselves", "what is held", False),
    ],
)
def test_the_label_of_bars_stands_at_its_axis(name: str, label: str, *, below: bool) -> None:
    svg = draw(PICTURES[name])
    height = float(ElementTree.fromstring(svg).get("viewBox", "").split()[3])
    (place,) = [float(e.get("y", "")) for e in elements(svg) if e.tag.endswith("text") and e.text == label]
    assert (place > height / 2) is below


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (-2, "\u22122"),
        (1234, "1234"),
        (50000, "50,000"),
        (2e6, "2\u00d710\u2076"),
        (1e-5, "10\u207b\u2075"),
    ],
)
def test_short_numbers(value: float, text: str) -> None:
    assert plot_parts.short(value) == text


BAD = [
    ({"kind": "pie"}, "its kind is 'pie'"),
    ({"kind": "lines", "x": [1, 2], "series": {"a": [1]}}, "1 values for 2 places"),
    ({"kind": "lines", "x": [1, 2], "series": {"a": [1, "b"]}}, "holds 'b', which is not a number"),
    ({"kind": "lines", "x": [1, 2], "series": {"a": [True, 1]}}, "holds True, which is not a number"),
    ({"kind": "lines", "x": [1, 2], "series": {"a": [None, None]}}, "holds no number"),
    ({"kind": "lines", "x": [1, 2], "yscale": "log", "series": {"a": [0, 1]}}, "not positive"),
    ({"kind": "lines", "x": [1, 2], "xscale": "sqrt", "series": {"a": [0, 1]}}, "not linear, log or log2"),
    ({"kind": "lines", "x": [1], "series": {str(n): [n] for n in range(9)}}, "more than 8 series"),
    ({"kind": "bars", "categories": ["a"], "series": {"b": ["c"]}}, "not a number"),
    ({"kind": "scatter", "series": {"a": {"x": [1], "y": [1, 2]}}}, "not as many"),
    ({"kind": "timeline", "lanes": ["a"], "spans": []}, "no spans"),
    ({"kind": "timeline", "lanes": ["a"], "spans": [{"lane": 1, "start": 0, "end": 1}]}, "names lane 1"),
    ({"kind": "matrix", "rows": [], "columns": [], "values": []}, "no rows or no columns"),
    ({"kind": "matrix", "rows": ["a"], "columns": ["b"], "values": [["c"]]}, "not a number"),
    ({"kind": "field", "x": [0, 1], "y": [0, 1], "values": [[1, 1], [1, 1]]}, "all its values are the same"),
    ({"kind": "field", "x": [0, 1], "y": [0, 1], "values": [[0, 1], [1, 2]], "levels": [2, 1]}, "rising"),
    ({"kind": "panels", "panels": [PICTURES["panels"]]}, "hold no panels"),
    ({"kind": "panels", "columns": 4, "panels": [PICTURES["bars"]]}, "1 to 3 columns"),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_bad_data_is_named(data: dict[str, Any], message: str) -> None:
    with pytest.raises(Missing, match=r"a/b\.py:c") as caught:
        draw(data)
    assert message in caught.value.cause


def test_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = draw(PICTURES["bars"])
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(plots, "_draw", lambda *_: pytest.fail("drawn again"))
    assert draw(PICTURES["bars"]) == first
    assert plots.svg(PICTURES["bars"], ident="figure-a", alt="new", name="n") == first.replace(
        "What &quot;one&quot; sees &amp; &lt;more&gt;", "new"
    )


def test_a_changed_drawer_draws_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(PICTURES["bars"])
    monkeypatch.setattr(plots, "_drawer", lambda: "another matplotlib")
    draw(PICTURES["bars"])
    assert len(list(folder.iterdir())) == 2


def test_matplotlib_is_imported_for_new_figures_only() -> None:
    code = "import sys, hooks.extension; assert 'matplotlib' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=Path(__file__).resolve().parents[2], timeout=busy.stretched(60)
    )


# On a page.


def test_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    html, used = house.render(FIGURE)
    soup = BeautifulSoup(html, "html.parser")
    box = soup.select_one("figure#figure-strategies-mirrored-split")
    assert box
    assert box.svg
    assert box.svg["aria-label"] == "Two bars: the second is 2 times as high."
    assert soup.select_one("figure > .guide-scroll[data-search-exclude] svg")
    assert box.figcaption
    assert str(box.figcaption.p) == "<p>Each replica gets <em>its</em> rows.</p>"
    assert [cell.get_text() for cell in box.select("details tr")[1].select("th, td")] == ["a", "1"]
    assert "CPU · TensorFlow" in box.get_text()
    assert used.figures[0].text == "Two bars: the second is 2 times as high."


def test_panels_on_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house.build(tmp_path / "snippets", monkeypatch, figures={"split": PICTURES["panels"]})
    soup = BeautifulSoup(house.render(FIGURE)[0], "html.parser")
    box = soup.select_one("figure div[role=img]")
    assert box
    assert box["aria-label"]
    assert len(box.select("svg")) == 4
    tables = soup.select("details.guide-data table")
    assert len(tables) == 3, "a scatter is no table"
    labels = [table.parent["aria-label"] for table in tables if table.parent]
    assert len(set(labels)) == 3


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("lines-log", ["2", "1,000,000", "2,000,000"]),
        ("bars", ["prefetch", "151.9", "451"]),
        ("matrix", ["dog", "4", "44", "2", "1"]),
        ("grid", ["replica 1", "ok (trains)", "ok (trains)", "wrong (silent)", ""]),
        ("timeline", ["device 0", "F1", "forward", "1", "2"]),
    ],
)
def test_data_as_a_table(name: str, row: list[str]) -> None:
    table = BeautifulSoup(figure.numbers(PICTURES[name], "a"), "html.parser")
    assert [cell.get_text() for cell in table.select("tr")[2].select("th, td")] == row


@pytest.mark.parametrize(
    ("data", "caption", "heads"),
    [
        (PICTURES["bars"], "images per second", ["category", "from disk", "from memory"]),
        (PICTURES["bars-flat"], "milliseconds for a step", ["category", "time"]),
        (PICTURES["bars-that-lie-by-themselves"], "Memory taken after one element: MiB", ["what is held", "time"]),
        (PICTURES["bars"] | {"title": "Speed", "xlabel": "stage"}, "Speed: images per second", ["stage"]),
        (PICTURES["lines-log"], "bytes sent by each device", ["replicas", "ring", "all to one"]),
    ],
)
def test_a_table_says_what_its_numbers_are(data: dict[str, Any], caption: str, heads: list[str]) -> None:
    table = BeautifulSoup(figure.numbers(data, "a"), "html.parser")
    assert [part.get_text() for part in table.select("caption")] == [caption]
    assert [cell.get_text() for cell in table.select("thead th")][: len(heads)] == heads


def test_a_year_has_no_comma() -> None:
    years = {"kind": "lines", "x": [2018, 2024, 12000], "series": {"state": [5.4, 6480.0, None]}}
    table = BeautifulSoup(figure.numbers(years, "a"), "html.parser")
    assert [cell.get_text() for cell in table.select("tbody th")] == ["2018", "2024", "12,000"]


@pytest.mark.parametrize("name", ["lines", "scatter", "field"])
def test_what_no_table_would_help(name: str) -> None:
    assert figure.numbers(PICTURES[name], "a") == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("    alt: Two bars:", "    also: Two bars"), ":2: `/// figure` has no option `also`"),
        (
            (ALT, ""),
            ":1: the figure `strategies/mirrored.py:split` has no alternative text",
        ),
        ((ALT, "    alt: ''\n"), ":2: option `alt`: it must be a sentence"),
        (
            (ALT, "    alt:\n"),
            ":2: option `alt`: it must be a sentence that says what a reader would see. Fix: write it after",
        ),
        ((ALT, "    alt: bars\n"), ":2: option `alt`: it must be a sentence"),
        ((" is {{", " is\n        {{"), ":2: `alt` goes over two lines. Fix: write it on one line."),
        ((" is {{", " is\n    {{"), ":2: `alt` goes over two lines"),
        ((" is {{", " is\n        this: {{"), ":2: `alt` goes over two lines"),
        ((ALT, ALT + "    alt: Two bars of one height.\n"), ":3: `/// figure` has the option `alt` twice"),
        (("speedup_x", "speed_x"), "did you mean `speedup_x`"),
        (("Each replica gets *its* rows.\n", ""), ":1: `/// figure | strategies/mirrored.py:split` has no content"),
        ((":split", ":splat"), ":1: `strategies/mirrored.py` has no `splat` in its `figures`"),
        (("    alt", "   alt"), ":1: the figure `strategies/mirrored.py:split` has no alternative text"),
    ],
)
def test_malformed_figures_stop_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str], message: str
) -> None:
    house.build(tmp_path / "snippets", monkeypatch)
    text = FIGURE.replace(*change)
    assert text != FIGURE
    with pytest.raises(GuideError) as caught:
        house.render(text)
    assert message in str(caught.value)


def test_figure_data_that_cannot_be_drawn_names_page_program_and_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {"kind": "lines", "x": [1, 2], "yscale": "log", "series": {"a": [0, 1]}}
    house.build(tmp_path / "snippets", monkeypatch, figures={"split": data})
    with pytest.raises(
        GuideError, match=r"page\.md:1: the figure `strategies/mirrored\.py:split` cannot be drawn: .*log"
    ):
        house.render(FIGURE)


NINE = {f"p{n}": {"x": [n], "y": [n]} for n in range(9)}


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "lines", "x": [1, 2], "series": {name: [1, 2] for name in NINE}},
        {"kind": "scatter", "series": NINE},
        {"kind": "field", "x": [0, 1], "y": [0, 1], "values": [[1, 2], [3, 4]], "points": NINE},
        {"kind": "field", "x": [0, 1], "y": [0, 1], "values": [[1, 2], [3, 4]], "paths": NINE},
    ],
)
def test_more_series_than_can_be_told_apart_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(Missing, match=r"`a/b\.py:c` cannot be drawn: it has more than 8 series or groups"):
        draw(more)


# Colours.


def colours(scheme: str) -> dict[str, str]:
    rules = re.findall(r"(:root|\[data-md-color-scheme=\"slate\"\]) \{([^}]*)\}", CSS)
    return dict(re.findall(r"--fig-([\w]+): (#[0-9a-f]{6})", next(body for head, body in rules if scheme in head)))


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours. Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio ."""

    def luminance(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["root", "slate"])
def test_contrast(scheme: str) -> None:
    fig = colours(scheme)
    ground = fig["ground"]
    for name in ("ink", "muted"):
        assert contrast(fig[name], ground) >= 4.5
    assert contrast(fig["axis"], ground) >= 3
    for n in range(1, 9):
        assert contrast(fig[f"s{n}"], ground) >= 3
        assert contrast(fig[f"s{n}"], fig[f"t{n}"]) >= 3
        assert contrast(fig["ink"], fig[f"t{n}"]) >= 4.5
    for n in range(9):
        assert contrast(fig["low" if n < 5 else "high"], fig[f"h{n}"]) >= 4.5
    levels = [contrast(fig[f"h{n}"], ground) for n in range(9)]
    assert levels == sorted(levels)


def test_no_text_leaves_its_drawing(new_reader: NewReader) -> None:
    """In a browser, with a font that is not the one everything was measured with."""
    drawn = "".join(f"<div>{draw(data, f'figure-{name}')}</div>" for name, data in PICTURES.items())
    page_of = f"<style>{CSS}</style><body style='width:370px;margin:0;font-family:sans-serif'>{drawn}"
    page = new_reader(viewport={"width": 390, "height": 800}).new_page()
    page.set_content(page_of)
    outside = page.evaluate(
        """() => [...document.querySelectorAll("svg text")].filter((text) => {
          const a = text.getBoundingClientRect(), b = text.closest("svg").getBoundingClientRect();
          return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 2 || a.bottom > b.bottom + 2;
        }).map((text) => text.textContent)"""
    )
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("svg text")].map((text) =>
          parseFloat(getComputedStyle(text).fontSize) * text.closest("svg").getScreenCTM().a)"""
    )
    assert outside == []
    assert min(sizes) >= 9
