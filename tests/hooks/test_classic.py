"""Modules as one classic script: Node runs it and compares with the modules."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hooks import busy, classic, node, offline
from hooks.errors import ROOT, GuideError

HELPER = "export function twice(n) {\n  return 2 * n;\n}\n"
WIDGET = 'import { twice } from "./units.js";\n\nexport const widget = { show: (n) => twice(n) + 1 };\n'
MAIN = "(async () => {\nconst { widget } = await import(`./${globalThis.wanted}.js`);\nprint(widget.show(20));\n})();\n"


def run(script: str, tmp_path: Path) -> str:
    file = tmp_path / "script.cjs"
    file.write_text(script, "utf-8")
    done = subprocess.run([node.path(), file], capture_output=True, text=True, timeout=busy.stretched(60), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_does_what_the_modules_do(tmp_path: Path) -> None:
    made = classic.script({"units.js": HELPER, "a.js": WIDGET, "main.js": MAIN}, "docs")
    assert run(f'globalThis.wanted = "a";\nglobalThis.print = console.log;\n{made}', tmp_path) == "41"


def test_a_module_that_must_know_its_address_is_left_out(tmp_path: Path) -> None:
    made = classic.script({"a.js": "export const here = import.meta.url;\n", "b.js": HELPER}, "docs")
    assert "import.meta" not in made
    assert run(made, tmp_path) == ""


@pytest.mark.parametrize(
    "text",
    [
        "export default 1;",
        'import * as a from "./a.js";',
        'import { a as b } from "./a.js";',
        "export { a };",
        'import "./a.js";',
        "export const a = 1, b = 2;",
        "export const a = 1,",
    ],
)
def test_a_form_that_is_not_known_stops(text: str) -> None:
    with pytest.raises(GuideError, match=r"docs/widgets/a\.js:2: `(im|ex)port") as raised:
        classic.script({"a.js": f"const a = 1;\n{text}\n"}, "docs/widgets")
    assert "Fix: write" in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "export const a = { b: [1, 2], c: f(1, 2) };",
        "export const a = (b, c) => [b, c]; // d, e",
        "export const a = 'b, c' + `d, e`;",
        "export const a = {\n  b: 1,\n  c: 2,\n};",
        "export const a = `b,\nc`;",
        "export const a = 1; // b",
    ],
)
def test_a_comma_inside_a_value_is_none_between_names(text: str) -> None:
    assert f"{text.removeprefix('export ')}\nreturn {{ a }};" in classic.script({"a.js": text}, "docs")


def test_every_widget_draws_the_same_from_a_file(tmp_path: Path) -> None:
    folder = ROOT / "docs" / "assets" / "widgets"
    files = [file for file in offline.modules(folder) if file.name != "widget.js"]
    names = [f.name for f in files if f.name != "units.js" and "import.meta" not in f.read_text("utf-8")]
    assert len(names) > 2
    show = """
      const start = Object.fromEntries(widget.controls.map(({ name, start }) => [name, start]));
      shown.push(widget.show(start, 640));
    """
    modules = {file.name: file.read_text("utf-8") for file in files}
    modules["main.js"] = "".join(f'{{ const {{ widget }} = modules["{name}"]; {show} }}\n' for name in names)
    made = run(
        f"globalThis.shown = [];\n{classic.script(modules, 'docs')}\nconsole.log(JSON.stringify(shown));", tmp_path
    )
    loads = "".join(
        f"{{ const {{ widget }} = await import({json.dumps(str(folder / name))}); {show} }}\n" for name in names
    )
    file = tmp_path / "modules.mjs"
    file.write_text(f"const shown = [];\n{loads}console.log(JSON.stringify(shown));", "utf-8")
    said = subprocess.run(
        [node.path(), file], capture_output=True, text=True, timeout=busy.stretched(60), check=True
    ).stdout
    assert json.loads(made) == json.loads(said)
