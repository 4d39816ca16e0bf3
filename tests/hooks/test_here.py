"""Places on this machine are found in what is kept, wherever they stand, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks import here
from hooks.errors import ROOT

RUN = "/tmp/guide-a1b2c3_d"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f"File '{RUN}/3/cwd/a.txt'", "File 'a.txt'"),
        (f"at {RUN}/12/tmp/x/y", "at x/y"),
        (f"{RUN}/3/home", ""),
        (f"in {RUN}/3/page/000_a.py", "in 000_a.py"),
        (f"{RUN}/keras/config.json", "keras/config.json"),
        (f"{RUN}/matplotlib/fonts", "matplotlib/fonts"),
        (f"{RUN}/path-x9y8z7w6/node", "path-x9y8z7w6/node"),
        ("/var/folders/q/guide-lab-a1b2c3_d/out.png", "out.png"),
        ("/tmp/guide-kernel-a1b2c3_d/kernel.json", "kernel.json"),
        (f"{ROOT}/hooks/here.py:3", "hooks/here.py:3"),
        (f"({ROOT})", "()"),
    ],
)
def test_a_place_is_found(text: str, rest: str) -> None:
    """Also at the start of a line of a text that stands in JSON."""
    assert here.named("it", text)
    assert here.named("it", json.dumps({"output": f"first\n{text}"}))
    assert here.without(text) == rest


@pytest.mark.parametrize("text", ["/tmp/a/guide-ab/3", "/tmp/guide-book", f"{ROOT}s/a", f"x{ROOT}", "keras/src/a.py"])
def test_another_path_is_none(text: str) -> None:
    assert here.named("it", text) == ""
    assert here.without(text) == text


def test_a_project_with_a_short_path_does_not_hide_others() -> None:
    """Containers have their sources in `/src`, and so has Keras."""
    named, _ = here._patterns(Path("/src"))
    assert named.search("keras/src/layers.py") is None
    assert (named.search("File /src/hooks/a.py") or [""])[0] == "/src/hooks/a.py"
