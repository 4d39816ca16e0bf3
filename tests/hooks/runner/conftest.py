"""A runner with fresh interpreters without TensorFlow (`preload=()`), and programs for it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks import programs
from hooks.runner import Runner
from tests.hooks.runner.kit import Make


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the temporary folders of the module's runner."""
    return tmp_path_factory.mktemp("runner")


@pytest.fixture(scope="module")
def runner(place: Path) -> Iterator[Runner]:
    with Runner(preload=(), limit=2, folder=place) as one:
        yield one


@pytest.fixture
def program(tmp_path: Path) -> Make:
    """Return a function that makes a program of a body."""
    made = 0

    def make(body: str, **options: object) -> programs.Program:
        nonlocal made
        made += 1
        keys = {"devices": 0, "seconds": 20, **options}
        table = "".join(f"# {key} = {json.dumps(value)}\n" for key, value in keys.items())
        if "env" in options:
            table = table.replace(json.dumps(options["env"]), '{ PLACE = "here" }')
        text = textwrap.dedent(body).strip()
        end = "" if "claims" in text else 'claims = {"ran": True}\n'
        about = f'# requires-python = ">=3.11,<3.14"\n# dependencies = []\n#\n# [tool.guide]\n{table}'
        head = f'# /// script\n{about}# ///\n"""Show."""'
        (tmp_path / "t").mkdir(exist_ok=True)
        (tmp_path / f"t/p{made}.py").write_text(f"{head}\n\n{text}\n{end}")
        return programs.load(f"t/p{made}.py", root=tmp_path)

    return make
