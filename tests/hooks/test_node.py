"""Scripts run in the Node of the environment, whatever the machine has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks import node

if TYPE_CHECKING:
    from pathlib import Path


def test_the_node_of_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, others = tmp_path / "venv" / "bin", tmp_path / "usr"
    for folder in (ours, others):
        folder.mkdir(parents=True)
        (folder / "node").write_text("#!/bin/sh\n")
        (folder / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(others))
    assert node.path(ours) == str(ours / "node")
    (ours / "node").unlink()
    assert node.path(ours) == str(others / "node")
    (others / "node").unlink()
    with pytest.raises(FileNotFoundError, match="there is no Node to run it"):
        node.path(ours)
