"""Start the interpreters that the runner needs: the server that forks, and fresh ones."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks import busy, interpreter
from hooks.devices import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

START = 180.0
GOODBYE = b"\0"  # in no JSON
# What could change a result and is not the program's own choice; which GPU to use, and where the library of a TPU lies,
# is the user's, as when devices are looked for.
FOREIGN_ENV = (
    *("TF_", "KERAS_", "XLA_", "DNNL_", "ONEDNN_", "OMP_", "CUDA_", "GRPC_", "LC_", "PYTHON"),
    # Settings of a contributor's shell, git, Node, desktop and notebooks, which CI does not have.
    *("BASH", "CDPATH", "GIT_", "GLOBIGNORE", "IPYTHON", "JUPYTER_", "MATPLOTLIB", "MPL", "NODE_", "SHELLOPTS", "XDG_"),
    # Of the servers and the cluster that programs start.
    *("FORWARDED_ALLOW_IPS", "GUNICORN_", "RAY_", "UVICORN_", "WEB_CONCURRENCY"),
)
KEPT_ENV = {"CUDA_VISIBLE_DEVICES", "TF_PLUGGABLE_DEVICE_LIBRARY_PATH"}
FIXED_ENV = {
    "COLUMNS": "80",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    # Programs ask servers of this machine alone; urllib and gRPC would ask the user's proxy for them.
    **dict.fromkeys(("NO_PROXY", "no_proxy", "no_grpc_proxy"), "127.0.0.1,localhost"),
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TZ": "UTC",
}
# What a program takes from PATH if it is there, and something else if not: records are made without it, as in CI.
HIDDEN = ("tensorflow_model_server",)


class Launcher:
    """Hands the socket of a job to a fork of the server or to a fresh interpreter; owns the folder of all jobs.

    Args:
        preload: modules that the server imports; with none there is no server.
        place: where the folder is made; the system's place by default.
    """

    def __init__(self, preload: Sequence[str], place: Path | None) -> None:
        self.preload = tuple(preload)
        self._clean = clean()  # now: the environment of this process may change while threads start others
        self._place, self._made, self._closed = place, 0, False
        self._folder: Path | None = None
        self._path = ""
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def folder(self) -> Path:
        """Return the name for the folder of the next job. Its supervisor makes it and removes it."""
        with self._lock:
            self._made += 1
            return self._base() / str(self._made)

    def launch(self, end: socket.socket, device: str, env: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
        """Start a supervisor that talks over `end`.

        Args:
            end: its end of a socket pair.
            device: the device that the job is for.
            env: variables that must be set before TensorFlow is imported; with any, the interpreter is a fresh one, as
                on any device but the CPU: the server's TensorFlow is one that sees no GPU.

        Returns:
            The fresh interpreter, None where the server forked.

        Raises:
            RuntimeError: the server did not start.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("the runner was closed")
            if env or not self.preload or device != "cpu":
                settings = {**self._env(), **TABLE[device].env, **env}
                return self._python("alone", end, [str(self._base())], settings)
            socket.send_fds(self._started(), [b"."], [end.fileno()])
            return None

    def stop(self) -> None:
        """Tell the server to end, also while it imports; nothing starts any more."""
        self._closed = True
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the server, and with it every job of its; remove the folder."""
        self.stop()
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            wait(self._server)
        self._control = self._server = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self) -> socket.socket:
        """Return the socket of the server, started and ready; a server that died is started again."""
        if self._server is not None and self._server.poll() is None and self._control is not None:
            return self._control
        if self._control is not None:
            self._control.close()
        ours, theirs = socket.socketpair()
        with theirs:
            env = {**self._env(), **TABLE["cpu"].env}
            self._server = self._python("main", theirs, [" ".join(self.preload), str(self._base())], env)
        self._control = ours
        if self._closed:  # `stop` came before there was a socket to shut
            self.stop()
        answer, limit = None, busy.Limit(START)
        while answer is None and (left := limit.left()):
            ours.settimeout(left)
            with contextlib.suppress(TimeoutError):
                answer = next(lines(ours), {"error": "it ended"})
        ours.settimeout(None)
        if self._closed:
            answer = {"error": "the runner was closed"}
        elif answer is None:
            answer = {"error": f"it still ran after {limit.allowed:.3g} s"}
        if "error" in answer:
            ours.close()
            self._server.kill()  # it has no jobs yet
            self._server.wait()
            self._control = self._server = None
            raise RuntimeError(f"importing {', '.join(self.preload)} failed: {answer['error']}")
        return ours

    def _python(
        self, what: str, end: socket.socket, arguments: list[str], env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start `hooks.server.what` in an interpreter of its own, out of reach of the terminal's Ctrl-C."""
        command = [*interpreter.command("server", what), str(end.fileno()), *arguments]
        with (self._base() / "log").open("ab") as log:  # what TensorFlow says when it is imported
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[end.fileno()],
                env=env,
                cwd="/",
                start_new_session=True,
            )

    def _base(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="guide-", dir=self._place))
        return self._folder

    def _env(self) -> dict[str, str]:
        # What these write when they are imported, and the user's settings of them, which could change a result.
        homes = {"KERAS_HOME": str(self._base() / "keras"), "MPLCONFIGDIR": str(self._base() / "matplotlib")}
        self._path = self._path or path_without(HIDDEN, self._clean.get("PATH", os.defpath), self._base())
        return {**self._clean, **homes, "PATH": self._path}


def clean() -> dict[str, str]:
    """Return the environment without what could change a result, and with what makes results equal."""
    kept = {key: value for key, value in os.environ.items() if key in KEPT_ENV or not key.startswith(FOREIGN_ENV)}
    return {**kept, **FIXED_ENV}


def path_without(names: Sequence[str], path: str, place: Path) -> str:
    """Return a PATH on which none of some commands is found, and all others are.

    Args:
        names: the commands.
        path: the PATH to start from.
        place: a folder. For each folder on PATH that has one of the commands, one with links to all else is made there.

    Raises:
        OSError: such a folder could not be read, or the links not be made.
    """
    folders = path.split(os.pathsep)
    for at, folder in enumerate(folders):
        if any(shutil.which(name, path=folder) for name in names):
            folders[at] = tempfile.mkdtemp(prefix="path-", dir=place)
            for name in set(os.listdir(folder)).difference(names):
                os.symlink(os.path.abspath(os.path.join(folder, name)), os.path.join(folders[at], name))
    return os.pathsep.join(folders)


def lines(end: socket.socket) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that come over a socket, one a line, until the other end closes."""
    text = b""
    while True:
        try:
            part = end.recv(1 << 20)
        except ConnectionResetError:
            return
        if not part:
            return
        *whole, text = (text + part).split(b"\n")
        for line in whole:
            yield json.loads(line)


def leave(end: socket.socket) -> None:
    """Say goodbye to a supervisor, so that it does not take this process for dead, and hear no more of it."""
    with contextlib.suppress(OSError):
        end.send(GOODBYE, socket.MSG_DONTWAIT)
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def wait(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that has been told to end; kill it where it does not."""
    try:
        process.wait(timeout=25)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
