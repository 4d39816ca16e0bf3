"""The server that programs start: which one they get, what is handed to it, and that it ends."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from hooks import programs

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = programs.SNIPPETS / "deployment"

# Takes connections on both ports, as a server does, and writes down what it was started with.
LISTENS = """
import pathlib, socket, sys, time
values = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
pathlib.Path(values["model_base_path"], "arguments").write_text(" ".join(sys.argv[1:]))
wanted = [int(values["port"]), int(values["rest_api_port"])]
listening = [socket.create_server(("127.0.0.1", port)) for port in wanted]
print("server: gRPC", listening[0].getsockname()[1], "REST", listening[1].getsockname()[1], flush=True)
time.sleep(60)
"""
FAILS = 'import sys; sys.exit("no versions of servable digits")'


@pytest.fixture
def model_server(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that writes one server, as the real one or as the stand-in, and gives the class to start it."""

    def make(source: str, *, real: bool) -> Any:
        name = "tensorflow_model_server" if real else "stand_in.py"
        file = tmp_path / name
        file.write_text(f"#!{sys.executable}\n{source}")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.syspath_prepend(FOLDER)
        module = importlib.import_module("model_server")
        # It looks for the stand-in beside itself.
        monkeypatch.setattr(module, "__file__", str(tmp_path / "model_server.py"))
        return module.ModelServer

    return make


def servers(folder: pathlib.Path) -> list[psutil.Process]:
    """Return the running servers that were written into a folder; the tests have other children too."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(str(folder) in word for word in child.cmdline()):
                found.append(child)
    return found


def test_takes_the_real_server_where_there_is_one(model_server: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    """It gets two free ports and all flags; it ends with the block."""
    kind = model_server(LISTENS, real=True)
    with kind("--model_name=digits", f"--model_base_path={tmp_path}") as server:
        assert server.name == "TensorFlow Serving"
        words = (tmp_path / "arguments").read_text().split()
        assert words[2:] == ["--model_name=digits", f"--model_base_path={tmp_path}"]
        ports = [word.partition("=")[2] for word in words[:2]]
        assert [server.grpc, server.rest] == [f"127.0.0.1:{port}" for port in ports]
        assert len(set(ports)) == 2
        assert len(servers(tmp_path)) == 1
    assert servers(tmp_path) == []


def test_takes_the_stand_in_elsewhere(model_server: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    """The stand-in chooses its ports and says which; it is told whose child it is."""
    kind = model_server(LISTENS, real=False)
    with kind(f"--model_base_path={tmp_path}") as server:
        assert server.name == "stand-in"
        words = (tmp_path / "arguments").read_text().split()
        assert words == [f"--parent={os.getpid()}", "--port=0", "--rest_api_port=0", f"--model_base_path={tmp_path}"]
        for address in (server.grpc, server.rest):
            host, port = address.split(":")
            socket.create_connection((host, int(port)), timeout=5).close()
    assert servers(tmp_path) == []


@pytest.mark.parametrize("real", [True, False])
def test_a_server_that_does_not_start_says_why(
    model_server: Callable[..., Any], tmp_path: pathlib.Path, real: bool
) -> None:
    """The error holds what the server wrote, and nothing is left running."""
    kind = model_server(FAILS, real=real)
    with pytest.raises(RuntimeError, match="no versions of servable digits"):
        kind("--model_name=digits")
    assert servers(tmp_path) == []


def test_a_failing_block_ends_the_server(model_server: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    """An exception inside the block goes on, and the server is gone."""
    kind = model_server(LISTENS, real=True)
    with pytest.raises(ZeroDivisionError), kind(f"--model_base_path={tmp_path}"):
        _ = 1 / 0
    assert servers(tmp_path) == []


def test_the_stand_in_ends_when_its_parent_is_gone(tmp_path: pathlib.Path) -> None:
    """Started for a process that has ended, it serves nobody and ends by itself."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(timeout=30)
    command = [sys.executable, "-P", str(FOLDER / "stand_in.py")]
    flags = [f"--parent={gone.pid}", "--port=0", "--rest_api_port=0", f"--model_base_path={tmp_path}"]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stand-in: gRPC ")
