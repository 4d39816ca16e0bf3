"""Scripts run in the Node of the environment, whatever the machine has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import node


def test_the_node_of_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, others = tmp_path / "venv" / "bin", tmp_path / "usr"
    for folder in (ours, others):
        folder.mkdir(parents=True)
        (folder / "node").write_text("#!/bin/sh\n")
        (folder / "node").chmod(0o755)
    monkeypatch.setattr(node, "sys", SimpleNamespace(executable=str(ours / "python")))
    monkeypatch.setenv("PATH", str(others))
    assert node.path() == str(ours / "node")
    (ours / "node").unlink()
    assert node.path() == str(others / "node")
    (others / "node").unlink()
    with pytest.raises(pytest.fail.Exception, match="no Node found"):
        node.path()
