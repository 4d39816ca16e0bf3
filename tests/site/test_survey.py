"""The look at every page finds what is wrong on one: a page with a mistake of each kind, and the same page without."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from hooks import busy
from hooks.errors import ROOT
from tests import child
from tests.site.serve import reserved, serving
from tests.site.survey import ZOOMED

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">
<style>
body {{ background: #fff; color: #111; margin: 0 }}
body[data-md-color-scheme="slate"] {{ background: #111; color: #eee }}
.light {{ color: {light} }}
body[data-md-color-scheme="slate"] .light {{ color: #eee }}
body[data-md-color-scheme="slate"] .dark {{ color: {dark} }}
body[data-md-color-scheme="slate"] header {{ color: {header} }}
</style></head>
<body data-md-color-scheme="default">
<header>Above</header>
<main><article>
<h1>A page</h1>
<p>Plain words.</p><p class="light">Other words.</p><p class="dark">More words.</p>
<p style="width: {width}px; background: #eee; color: #111">A box.</p>
<img src="data:," {image}>
</article></main>
<script>{script}</script>
</body></html>
"""
GOOD = {
    "light": "#111",
    "dark": "#eee",
    "header": "#eee",
    "width": "300",
    "image": 'alt=""',
    "script": "",
}
WRONG = {
    "light": "#bbb",
    "dark": "#333",
    "header": "#222",
    "width": "360",
    "image": "",
    "script": "console.error('it broke'); fetch('http://127.0.0.1:9/').catch(() => {});",
}
# What opens asks for more, which comes late: words that are too pale.
OPENS = {
    **GOOD,
    "light": "#bbb",
    "script": """
const details = document.querySelector("article").appendChild(document.createElement("details"));
details.ontoggle = async () => {
  const words = document.createElement("p");
  words.textContent = await (await fetch("late.txt")).text();
  words.className = "light";
  details.append(words);
};
document.querySelectorAll("p").forEach((words) => words.remove());
""",
}
# The last is looked at first.
PAGES = {"good": GOOD, "wrong": WRONG, "opens": OPENS}
COMMAND = [sys.executable, "-m", "tests.site.survey"]


@pytest.fixture(scope="module")
def looks(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Look at the page with all mistakes, at the one without, and at the one that opens."""
    folder = tmp_path_factory.mktemp("pages")
    for name, values in PAGES.items():
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(PAGE.format(**values))
    (folder / "opens" / "late.txt").write_text("Late words.")
    with reserved() as port, serving(folder, port, late={"opens/late.txt": 5}) as home:
        text, limit = json.dumps([browser_path, home, [f"{name}/" for name in PAGES]]), busy.stretched(300)
        done = subprocess.run(COMMAND, cwd=ROOT, input=text, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_page_without_mistakes_is_clean(looks: dict[str, Any]) -> None:
    for look in looks["good/"].values():
        assert look["problems"] + look["elsewhere"] + look["policy"] == []
        assert not any(look["sticking_out"].values())
        assert not any(look["axe"].values())


@pytest.mark.parametrize(
    ("width", "scheme", "says", "where"),
    [
        ("390", "light", "color-contrast", 'class="light"'),
        ("390", "dark", "color-contrast", 'class="dark"'),
        ("1440", "dark", "color-contrast", "<header"),
        ("390", "light", "image-alt", "<img"),
        ("1440", "light", "image-alt", "<img"),
    ],
)
def test_axe_names_each_mistake(looks: dict[str, Any], width: str, scheme: str, says: str, where: str) -> None:
    (found,) = (line for line in looks["wrong/"][width]["axe"][scheme] if line.startswith(says))
    assert "1 elements" in found
    assert where in found


def test_the_rest_is_noted(looks: dict[str, Any]) -> None:
    wrong = looks["wrong/"]["390"]
    assert "console error: it broke" in wrong["problems"]
    assert "http://127.0.0.1:9/" in wrong["elsewhere"]
    assert wrong["sticking_out"][str(ZOOMED)][-1] == f"page is {360 - ZOOMED} px too wide"
    assert wrong["sticking_out"]["390"] == []


def test_what_comes_late_is_awaited_and_looked_at(looks: dict[str, Any]) -> None:
    opens = looks["opens/"]["390"]
    assert opens["requests"] == ["opens/", "opens/late.txt"]
    assert opens["problems"] == []
    (pale,) = opens["axe"]["light"]
    assert "Late words." in pale


def test_it_ends_when_the_tests_are_killed(browser_path: str, tmp_path: Path) -> None:
    """Its parent is killed while it waits for a page that never answers: this process holds the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server, (tmp_path / "said").open("w+") as said:
        asked = json.dumps([browser_path, f"http://127.0.0.1:{server.getsockname()[1]}/", ["a/"]])
        code = f"import subprocess; subprocess.run({COMMAND!r}, input={asked!r}, text=True)"
        pipes = {"stdout": subprocess.DEVNULL, "stderr": said}
        with child.started([sys.executable, "-c", code], cwd=ROOT, env=dict(os.environ), **pipes) as started:
            started.wait_for(lambda: bool(select.select([server], [], [], 0)[0]))
            family = started.look()
            assert family
            started.process.kill()
            assert psutil.wait_procs(family, timeout=child.PATIENCE)[1] == []
        said.seek(0)
        assert said.read() == "nobody waits for it: the process that started it was killed\n"
