"""The drawings that readers move: their formulas are the programs'; they work by keyboard and without script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hooks import busy, node, programs, records, widget
from tests import until as patient
from tests.site.survey import WIDTHS
from tests.site.until import until
from tests.site.visit import DRAWN, visit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.site.chromium import NewReader

# For each widget whose program has a table `widget`: that program, how many columns are inputs, the rest as JavaScript.
FORMULAS = {
    "all-reduce": ("parallelism/ring.py", 2, "[w.ring(...i), w.server(...i), w.gather(...i)]"),
    "bubble": (
        "parallelism/schedule.py",
        2,
        "[w.bubble(...i), Math.max(...w.schedule(...i).map((piece) => piece.start)) + 1]",
    ),
    "memory": ("parallelism/memory.py", 4, "[w.stateBytes(...i.slice(0, 3)), w.cutBytes(...i)]"),
}
PAGES = {
    "all-reduce": "parallelism/all-reduce",
    "bubble": "parallelism/pipeline-parallelism",
    "descent": "heads/how-training-works",
    "memory": "parallelism/why-parallel",
}
EVERY = pytest.mark.parametrize("name", sorted(PAGES))


def run(script: str, folder: Path) -> Any:
    """Run a script in Node in a copy of the widgets' folder and return what it prints as JSON."""
    shutil.copytree(widget.WIDGETS, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "check.js").write_text(script)
    done = subprocess.run(
        [node.path(), "check.js"], cwd=folder, capture_output=True, text=True, timeout=busy.stretched(60), check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_widget_is_compared() -> None:
    """No widget comes without a comparison."""
    assert sorted(PAGES) == sorted([*FORMULAS, "descent"])
    # test_demo.py looks at the one that has no sliders.
    assert widget.names() == sorted([*PAGES, "digits"])


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_formula_equals_the_program(name: str, tmp_path: Path) -> None:
    """The script computes what the program computes, for every row of the program's table."""
    path, inputs, formula = FORMULAS[name]
    rows = records.current(programs.load(path), "cpu").tables["widget"]["rows"]
    script = f"""
        import * as w from "./{name}.js";
        const rows = {json.dumps([row[:inputs] for row in rows])};
        console.log(JSON.stringify(rows.map((i) => {formula})));
    """
    assert len(rows) > 10
    assert run(script, tmp_path) == [pytest.approx(row[inputs:], rel=1e-6) for row in rows]


def test_memory_counts_the_second_copy_of_the_gradients(tmp_path: Path) -> None:
    """As `parallelism/choose.py` does: 24 GB of state, and for a moment 6 GB more."""
    script = """
        import { widget } from "./memory.js";
        const model = { parameters: 1.5e9, optimizer: "adam", policy: "float32", parts: 2 };
        console.log(JSON.stringify([24e9, 32e9].map((memory) => widget.show({ ...model, memory }, 640).text)));
    """
    small, large = run(script, tmp_path)
    assert "it does not fit into 24 GB" in small
    assert "it fits into 32 GB" in large


def test_walks_are_those_of_keras(tmp_path: Path) -> None:
    """Step by step the drawing of gradient descent goes where the optimizers of Keras went."""
    record = records.current(programs.load("heads/descent.py"), "cpu")
    paths = record.figures["rates"]["paths"] | record.figures["rules"]["paths"]
    walks = [(*name.partition(", rate ")[::2], len(path["x"]) - 1) for name, path in paths.items()]
    script = f"""
        import * as w from "./descent.js";
        const walks = {json.dumps(walks)};
        const rule = (name) => name.split(" ")[0];
        console.log(JSON.stringify(walks.map(([name, rate, steps]) =>
          w.walk(rule(name), Number(rate), {record.measures["correlation"]}, steps))));
    """
    for (name, path), drawn in zip(paths.items(), run(script, tmp_path), strict=True):
        went = [list(point) for point in zip(path["x"], path["y"], strict=True)]
        assert drawn == [pytest.approx(point, abs=0.02) for point in went], name


@EVERY
@pytest.mark.parametrize("width", [256, 640])
def test_every_setting_draws(name: str, width: int, tmp_path: Path) -> None:
    """At both ends of every control the drawing stays inside its frame, has no broken number and carries no style."""
    script = f"""
        import {{ widget }} from "./{name}.js";
        const found = [];
        const go = (values, [first, ...rest]) => {{
          if (!first) return found.push(widget.show(values, {width}));
          for (const value of [first.values[0], first.start, first.values.at(-1)])
            go({{ ...values, [first.name]: value }}, rest);
        }};
        go({{}}, widget.controls);
        console.log(JSON.stringify(found));
    """
    for drawn in run(script, tmp_path):
        assert "NaN" not in drawn["text"]
        assert "undefined" not in drawn["text"]
        assert not re.search(r"\b1 (?:steps|partitions|micro-batches)", drawn["text"])
        for kind, attributes, *_ in drawn["shapes"]:
            assert "style" not in attributes
            assert None not in attributes.values(), (kind, attributes)  # what JSON makes of NaN and infinity
            if kind == "rect":
                assert attributes["x"] >= 0
                assert attributes["width"] > 0
                assert attributes["x"] + attributes["width"] <= width + 1


def test_a_walk_that_leaves_the_drawing_is_drawn_to_its_edge(tmp_path: Path) -> None:
    script = """
        import { widget } from "./descent.js";
        const values = { rule: "Adam", rate: 1, correlation: 0.95, steps: 80 };
        const paths = ({ shapes }) => shapes.filter(([kind]) => kind === "path").map(([, { d }]) => d);
        const all = [values, { ...values, rule: "SGD", rate: 0.56 }, { ...values, rule: "SGD" }];
        console.log(JSON.stringify(all.map((each) => paths(widget.show(each, 320)).find((d) => !d.endsWith("Z")))));
    """
    for way in run(script, tmp_path):
        points = [tuple(float(n) for n in point.split()) for point in way.removeprefix("M").split("L")]
        assert len(points) > 1
        assert all(0 <= x <= 320 and 0 <= y <= 215 for x, y in points), points[-1]


@EVERY
@pytest.mark.parametrize("width", WIDTHS)
def test_fits_its_box_and_its_text_keeps_its_size(name: str, width: int, tab: Page, site: str) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(f"{site}{PAGES[name]}/")
    box = tab.locator(f'.widget[data-widget="{name}"] .widget-drawing')
    box.locator("svg").wait_for()
    found = box.evaluate(
        """(box) => ({
          hidden: box.scrollWidth - box.clientWidth,
          scale: box.firstChild.clientWidth / box.firstChild.viewBox.baseVal.width,
          out: [...box.querySelectorAll("text")].filter((text) =>
            text.getBoundingClientRect().right > box.getBoundingClientRect().right + 1).map((text) => text.textContent),
        })"""
    )
    assert found["hidden"] == 0
    assert found["scale"] >= 1
    assert found["out"] == []


def test_a_phone_that_is_turned_draws_anew(tab: Page, site: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{site}{PAGES['all-reduce']}/")
    box = tab.locator(".widget-drawing")
    box.locator("svg").wait_for()
    assert box.get_attribute("tabindex") is None, "a stop where nothing scrolls"
    said = tab.locator(".widget-text").inner_text()
    tab.set_viewport_size({"width": 844, "height": 390})
    fits = "(box) => box.firstChild.viewBox.baseVal.width === Math.min(640, box.clientWidth)"
    patient.until(lambda: box.evaluate(fits), fits, sleep=lambda seconds: tab.wait_for_timeout(1000 * seconds))
    assert tab.locator(".widget-text[role=status]").inner_text() == said


@EVERY
def test_moves_by_keyboard(name: str, tab: Page, site: str) -> None:
    """A slider has a name and a text for its value, a key moves it, and the drawing and the sentence follow."""
    tab.goto(f"{site}{PAGES[name]}/")
    box = tab.locator(f'.widget[data-widget="{name}"]')
    box.locator(".widget-text").wait_for()
    tab.evaluate(DRAWN)
    assert box.locator(".widget-fallback").is_hidden()
    slider = box.get_by_role("slider").first
    label = box.locator(".widget-drawing svg").get_attribute("aria-label")
    before = slider.get_attribute("aria-valuetext")
    slider.focus()
    tab.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext") != before
    assert box.locator(".widget-drawing svg").get_attribute("aria-label") != label
    until(
        tab,
        "([box, text]) => document.querySelector(box).textContent !== text",
        [f'[data-widget="{name}"] [role=status]', label],
    )
    assert box.locator("[style]").count() == 0


@EVERY
def test_without_script(name: str, new_reader: NewReader, site: str) -> None:
    """Without JavaScript the figure stands there."""
    page = new_reader(java_script_enabled=False).new_page()
    page.goto(f"{site}{PAGES[name]}/")
    box = page.locator(f'.widget[data-widget="{name}"]')
    assert box.locator(".widget-fallback svg, .widget-fallback table").first.is_visible()
    assert box.get_by_role("slider").count() == 0


def test_script_only_where_it_is_needed(tab: Page, site: str) -> None:
    """A page without a widget does not load the script."""
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    visit(tab, f"{site}parallelism/vocabulary/")
    assert not [url for url in asked if "/widgets/" in url]
