"""The server that programs start: which one they get, what is handed to it, and that it ends."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from hooks import busy, programs
from tests import child

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
time.sleep(600)
"""
FAILS = 'import sys; sys.exit("no versions of servable digits")'
# Names the unknown flag first, then all that it knows, in bytes that are no text too.
TALKS = """
import sys
known = b"\\t--flag=0 int32 what it is for\\n" * 280
sys.stdout.buffer.write(b"unknown argument: --no_such_flag\\n\\xff" + known)
sys.exit(1)
"""
# Text, a lone 0 and a batch of none, as a server answers them over REST.
ASKS = """
import json, sys, urllib.error, urllib.request
import tensorflow as tf
from model_server import ModelServer

class Answers(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def text(self, x):
        return {"y": tf.strings.as_string(x)}
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def total(self, x):
        return {"y": tf.reduce_sum(x)}
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def same(self, x):
        return {"y": tf.identity(x)}

base = sys.argv[1]
model = Answers()
tf.saved_model.save(model, base + "/1", {name: getattr(model, name) for name in ("text", "total", "same")})

def ask(signature, key, value):
    body = json.dumps({"signature_name": signature, key: value}).encode()
    try:
        with urllib.request.urlopen(f"http://{server.rest}/v1/models/m:predict", body, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

with ModelServer("--model_name=m", f"--model_base_path={base}") as server:
    print(json.dumps({
        "text": ask("text", "instances", [1.0]),
        "zero": ask("total", "inputs", [1.0, -1.0]),
        "none": ask("same", "inputs", []),
        "row": ask("same", "instances", [0.0]),
    }))
"""


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
    family = psutil.Process().children(recursive=True)
    return [one for one in family if any(str(folder) in word for word in child.words(one))]


def test_takes_the_real_server_where_there_is_one(model_server: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    """It gets two free ports and all flags; it ends with the block."""
    kind = model_server(LISTENS, real=True)
    with kind("--model_name=digits", f"--model_base_path={tmp_path}") as server:
        assert server.name == "TensorFlow Serving"
        words = (tmp_path / "arguments").read_text().split()
        assert words[2] == "--grpc_channel_arguments=grpc.so_reuseport=0"
        assert words[3:] == ["--model_name=digits", f"--model_base_path={tmp_path}"]
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


@pytest.mark.parametrize("real", [True, False])
def test_a_long_reason_is_kept(model_server: Callable[..., Any], tmp_path: pathlib.Path, real: bool) -> None:
    """TensorFlow Serving names an unknown flag before some 9,000 characters on those that it knows."""
    kind = model_server(TALKS.replace("stdout", "stdout" if real else "stderr"), real=real)
    with pytest.raises(RuntimeError, match="unknown argument: --no_such_flag"):
        kind("--no_such_flag")
    assert servers(tmp_path) == []


def test_a_failing_block_ends_the_server(model_server: Callable[..., Any], tmp_path: pathlib.Path) -> None:
    """An exception inside the block goes on, and the server is gone."""
    kind = model_server(LISTENS, real=True)
    with pytest.raises(ZeroDivisionError), kind(f"--model_base_path={tmp_path}"):
        _ = 1 / 0
    assert servers(tmp_path) == []


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, Any]]:
    """Return the folder of a model, and what the stand-in answered when it served it."""
    base = tmp_path_factory.mktemp("served")
    nowhere = {**os.environ, "PATH": "", "PYTHONPATH": str(FOLDER)}
    command = [sys.executable, "-B", "-c", ASKS, str(base)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=busy.stretched(300), check=False, env=nowhere
    )
    assert done.returncode == 0, done.stderr
    return base, json.loads(done.stdout)


def test_the_stand_in_answers_in_one_form(served: tuple[pathlib.Path, dict[str, Any]]) -> None:
    """A lone output stays bare where it is 0 or empty; what JSON cannot hold is refused, with a reason."""
    _, answers = served
    assert answers["zero"] == [200, {"outputs": 0.0}]
    assert answers["none"] == [200, {"outputs": []}]
    assert answers["row"] == [200, {"predictions": [0.0]}]
    code, refusal = answers["text"]
    assert code == 400
    assert "bytes is not JSON serializable" in refusal["error"]


def start(*flags: str) -> subprocess.CompletedProcess[str]:
    """Start the stand-in and wait until it has ended by itself."""
    command = [sys.executable, "-P", str(FOLDER / "stand_in.py"), "--port=0", "--rest_api_port=0"]
    limit = busy.stretched(180)
    return subprocess.run([*command, *flags], capture_output=True, text=True, timeout=limit, check=False)


@pytest.mark.parametrize("poll", ["0", "1"])
def test_the_stand_in_ends_when_its_parent_is_gone(served: tuple[pathlib.Path, dict[str, Any]], poll: str) -> None:
    """Started for a process that has ended, it serves nobody and ends by itself, also where it polls only once."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(timeout=30)
    done = start(f"--parent={gone.pid}", f"--model_base_path={served[0]}", f"--file_system_poll_wait_seconds={poll}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stand-in: gRPC ")


@pytest.mark.parametrize("what", ["no path", "no folder", "a broken file"])
def test_the_stand_in_says_which_model_did_not_load(tmp_path: pathlib.Path, what: str) -> None:
    """It ends with the reason where it would have nothing to serve."""
    base = tmp_path / "base"
    reason = f"default did not load: no version in {base}"
    if what == "a broken file":
        (base / "1").mkdir(parents=True)
        (base / "1" / "saved_model.pb").write_bytes(b"no protobuf")
        reason = "default did not load: {1: "
    if what == "no path":
        reason = "no --model_base_path"
    done = start(*([] if what == "no path" else [f"--model_base_path={base}"]))
    assert done.returncode == 1, done.stdout
    assert reason in done.stderr
