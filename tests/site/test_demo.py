"""The demo of the TensorFlow.js page: it answers as Keras does, for everyone, and asks nobody else."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hooks import busy, node
from hooks.errors import ROOT
from hooks.programs import SNIPPETS
from tests.site.survey import STICKING_OUT, TARGET_SIZE, WIDTHS
from tests.site.visit import visit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Locator, Page

    from tests.site.chromium import NewReader

PAGE = "deployment/tensorflow-js/"
DEMO = ROOT / "docs" / "assets" / "demo"
EXAMPLES = json.loads((DEMO / "examples.json").read_text("utf8"))
READ = """
() => {
  const values = [...document.querySelectorAll(".digit-value")].map((cell) => parseFloat(cell.textContent) / 100);
  return [values, document.querySelector(".widget-text").textContent];
}
"""


def images() -> np.ndarray:
    """Return the examples that the demo offers, as the model takes them."""
    rows = [[int(sign, 17) / 16 for sign in signs] for signs in EXAMPLES["images"]]
    return np.array(rows, "float32").reshape(-1, 8, 8, 1)


# In a process of its own: that of the tests stays free of TensorFlow.
ASK_KERAS = """
import sys
import keras
import numpy as np
model, examples, answers = sys.argv[1:]
np.save(answers, keras.models.load_model(model).predict(np.load(examples), verbose=0))
"""


@pytest.fixture(scope="session")
def keras_says(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """Ask the copy of the model that was kept for Keras."""
    folder = tmp_path_factory.mktemp("keras")
    np.save(folder / "examples.npy", images())
    files = [DEMO / "model.keras", folder / "examples.npy", folder / "answers.npy"]
    command = [sys.executable, "-c", ASK_KERAS, *map(str, files)]
    subprocess.run(command, check=True, capture_output=True, timeout=busy.stretched(120))
    return np.asarray(np.load(folder / "answers.npy"))


@pytest.fixture
def demo(tab: Page) -> Locator:
    """Open the page and load the model, by keyboard."""
    visit(tab, PAGE)
    box = tab.locator('.widget[data-widget="digits"]')
    box.get_by_role("button", name="Load the model").focus()
    tab.keyboard.press("Enter")
    box.get_by_role("grid").wait_for()
    return box


def test_the_runtime_is_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    """`make bundle` makes the file that the site serves; so do the tests, from the same packages."""
    if not (SNIPPETS / "deployment" / "node_modules").is_dir():
        pytest.fail("no npm packages. Fix: run the tests by `make test`, or `npm ci` in snippets/deployment")
    bundle, made = SNIPPETS / "deployment" / "bundle.mjs", tmp_path / "runtime.js"
    subprocess.run([node.path(), str(bundle), "runtime.mjs", str(made)], check=True, timeout=busy.stretched(120))
    assert made.read_bytes() == (DEMO / "runtime.js").read_bytes(), "run `make bundle`"
    assert (tmp_path / "LICENSES.txt").read_bytes() == (DEMO / "LICENSES.txt").read_bytes(), "run `make bundle`"


def test_the_runtime_is_small_and_evaluates_no_text() -> None:
    script = (DEMO / "runtime.js").read_bytes()
    assert len(gzip.compress(script, 9)) <= 120_000
    assert b"eval(" not in script
    assert b"new Function" not in script
    licences = (DEMO / "LICENSES.txt").read_text("utf8")
    assert "Apache License" in licences
    assert "Permission is hereby granted" in licences


def test_the_model_says_which_program_made_it() -> None:
    """Who changes the program trains the model again: `make demo`."""
    made = json.loads((DEMO / "model.json").read_text("utf8"))["userDefinedMetadata"]
    program = SNIPPETS / "deployment" / made["program"]
    assert made["sha256"] == hashlib.sha256(program.read_bytes()).hexdigest(), "run `make demo`"
    record = json.loads(program.with_suffix(".cpu.json").read_text("utf8"))
    assert made["accuracy"] == pytest.approx(record["measures"]["accuracy"], abs=0.01)


def test_nothing_is_loaded_before_it_is_asked_for(tab: Page) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    visit(tab, PAGE)
    assert not [url for url in asked if "/assets/demo/" in url]
    assert tab.locator(".widget-fallback svg").first.is_visible()
    tab.get_by_role("button", name="Load the model").click()
    tab.get_by_role("grid").wait_for()
    assert sorted({url.rpartition("/")[2] for url in asked if "/assets/demo/" in url}) == [
        "digits.css",
        "examples.json",
        "group1-shard1of1.bin",
        "model.json",
        "runtime.js",
    ]
    assert tab.locator(".widget-fallback").is_hidden()


def test_every_example_is_read_as_keras_reads_it(
    context: BrowserContext, demo: Locator, keras_says: np.ndarray, site: str
) -> None:
    """All hundred held-out images, by the buttons, with the network cut off and every request watched."""
    page, elsewhere = demo.page, []
    context.on("request", lambda request: elsewhere.append(request.url))
    page.evaluate(
        "addEventListener('securitypolicyviolation', (event) => { window.broken = event.effectiveDirective; })"
    )
    context.set_offline(True)
    said = []
    for digit in EXAMPLES["digits"]:
        demo.get_by_role("button", name=f"Next example of a {digit}").click()
        values, status = page.evaluate(READ)
        assert f" of a {digit}: the model reads {int(np.argmax(values))}" in status
        said.append(values)
    context.set_offline(False)
    answers = np.array(said)
    assert len(answers) >= 64
    assert (answers.argmax(1) == keras_says.argmax(1)).all()
    # Weights of 16 bits, and percentages with one digit behind the point.
    assert abs(answers - keras_says).max() < 0.005
    assert elsewhere == []
    assert page.evaluate("window.broken ?? null") is None


def test_the_model_itself_differs_little_from_keras(demo: Locator, keras_says: np.ndarray) -> None:
    """The same numbers as the page shows, before they are rounded."""
    script = """async ([url, images]) => {
      const [predict] = await (await import(url)).load();
      return images.map((image) => [...predict(Float32Array.from(image), [1, 8, 8, 1])]);
    }"""
    module = demo.page.evaluate("new URL('../../assets/widgets/digits.js', location.href).href")
    found = np.array(demo.page.evaluate(script, [module, images().reshape(-1, 64).tolist()]))
    assert abs(found - keras_says).max() < 2e-3


def test_a_digit_is_drawn_by_keyboard(demo: Locator) -> None:
    """A one, pixel by pixel: down the middle, with arrow keys and space."""
    page = demo.page
    demo.get_by_role("gridcell").first.focus()
    for key in ["ArrowRight"] * 3:
        page.keyboard.press(key)
    for row in range(8):
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowLeft")
        if row < 7:
            page.keyboard.press("ArrowDown")
    values, status = page.evaluate(READ)
    assert "the model reads 1" in status
    assert int(np.argmax(values)) == 1
    assert page.locator(":focus").get_attribute("aria-label") == "row 8, column 4: ink 16 of 16"
    page.keyboard.press("Home")
    assert page.locator(":focus").get_attribute("aria-label") == "row 8, column 1: empty"
    # One stop of the Tab key for 64 pixels.
    assert demo.locator('.digit-cell[tabindex="0"]').count() == 1
    demo.get_by_role("button", name="Clear the image").click()
    assert page.evaluate(READ)[1] == "Choose an example, or draw a digit."


STROKES = {
    "0": [[(50, 10), (25, 30), (22, 60), (50, 90), (76, 62), (75, 30), (50, 10)]],
    "1": [[(50, 10), (50, 90)]],
    "5": [[(75, 12), (32, 12), (28, 48), (60, 44), (76, 66), (60, 88), (26, 84)]],
    "7": [[(22, 14), (78, 14), (45, 90)], [(30, 52), (72, 52)]],
}


@pytest.mark.parametrize("digit", STROKES)
def test_a_digit_is_drawn_by_pointer(demo: Locator, digit: str) -> None:
    page, pad = demo.page, demo.locator(".digit-pad")
    pad.scroll_into_view_if_needed()
    frame = pad.bounding_box()
    assert frame
    for stroke in STROKES[digit]:
        places = [(frame["x"] + x * frame["width"] / 100, frame["y"] + y * frame["height"] / 100) for x, y in stroke]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=6)
        page.mouse.up()
    assert f"Your drawing: the model reads {digit}" in page.evaluate(READ)[1]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_axe_finds_nothing_in_the_loaded_demo(demo: Locator, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = demo.page
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("(scheme) => document.body.setAttribute('data-md-color-scheme', scheme)", scheme)
    demo.get_by_role("button", name="Next example of a 3").click()
    options: dict[str, Any] = {"resultTypes": ["violations"], "rules": TARGET_SIZE}
    found = Axe().run(page, context=".widget", options=options).response["violations"]
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"][:3]]) for rule in found] == []
    assert page.evaluate(STICKING_OUT) == []


def test_a_failed_load_says_so_and_can_be_repeated(new_reader: NewReader, site: str) -> None:
    reader = new_reader(base_url=site)
    page = reader.new_page()
    visit(page, PAGE)
    reader.set_offline(True)
    start = page.get_by_role("button", name="Load the model")
    start.click()
    page.get_by_text("The model did not load").wait_for()
    reader.set_offline(False)
    start.click()
    page.get_by_role("grid").wait_for()
