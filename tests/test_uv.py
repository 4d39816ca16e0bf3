"""`.ci/uv.py`: it takes the wheel of the machine that it runs on, and none that is not the locked one."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import re
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path, PosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hooks.errors import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = "9.8.7"


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the script as a module, for a project in the temporary folder, on a machine of one kind without uv."""
    spec = importlib.util.spec_from_file_location("uv_of_ci", ROOT / ".ci" / "uv.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    # By its text: an import would leave bytecode beside it.
    exec(compile((ROOT / ".ci" / "uv.py").read_text("utf8"), spec.origin or "", "exec"), module.__dict__)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "platform", linux("x86_64"))
    monkeypatch.setattr(module, "shutil", SimpleNamespace(which=lambda _: None))
    return module


def linux(machine: str) -> SimpleNamespace:
    """Return what stands for `platform` in the script alone, on a machine of this kind."""
    return SimpleNamespace(system=lambda: "Linux", machine=lambda: machine, python_version=platform.python_version)


def binary(version: str) -> str:
    return f"#!/bin/sh\necho uv {version}\n"


def lock(folder: Path, pythons: str = ">=3.11, <3.99", **changes: str) -> Path:
    """Write a lock file that names a wheel for two machines, and the wheels; return where the binary goes."""
    tables = []
    for tag in ("manylinux_2_17_aarch64", "manylinux_2_17_x86_64"):
        wheel = folder / f"uv-{VERSION}-py3-none-{tag}.manylinux2014.whl"
        with zipfile.ZipFile(wheel, "w") as made:
            made.writestr(f"uv-{VERSION}.data/scripts/uv", f"{binary(VERSION)}# {tag}\n")
        known = {"url": wheel.as_uri(), "hash": "sha256:" + hashlib.sha256(wheel.read_bytes()).hexdigest(), **changes}
        tables.append("{ " + ", ".join(f'{key} = "{value}"' for key, value in known.items()) + " }")
    (folder / "uv.lock").write_text(
        f'requires-python = "{pythons}"\n\n[[package]]\nname = "uv"\nversion = "{VERSION}"\n'
        f"wheels = [\n  {', '.join(tables)}\n]\n"
    )
    return folder / ".cache" / "uv" / f"uv-{VERSION}"


@pytest.mark.parametrize("pythons", [">=3.3, <3.5", ">=3.98, <3.99"])
def test_a_python_that_the_lock_is_not_for_is_named(pythons: str, uv: Any, tmp_path: Path) -> None:
    target = lock(tmp_path, pythons)
    version = re.escape(platform.python_version())
    with pytest.raises(SystemExit, match=rf"this is Python {version}\. .* {pythons}: name one, as in .* PYTHON3="):
        uv.main()
    assert not target.exists()


def test_a_lock_that_cannot_be_read_is_named(uv: Any, tmp_path: Path) -> None:
    lock(tmp_path)
    (tmp_path / "uv.lock").write_text("<<<<<<< ours\n")
    with pytest.raises(SystemExit, match=r"uv\.lock cannot be read .*: take it from git again"):
        uv.main()


def test_a_python_without_a_reader_of_toml_is_named(uv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock(tmp_path)
    monkeypatch.setattr(uv, "tomllib", None)
    with pytest.raises(SystemExit, match=r"3\.11 or later is needed: name one"):
        uv.main()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_wheel_of_this_machine_is_fetched_once(
    machine: str, uv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uv, "platform", linux(machine))
    target = lock(tmp_path)
    for _ in range(2):
        uv.main()
    said = capsys.readouterr()
    assert (said.out, said.err) == (f"{target}\n" * 2, f"uv.py: downloading uv {VERSION}\n")
    assert target.read_text() == f"{binary(VERSION)}# manylinux_2_17_{machine}\n"
    assert os.access(target, os.X_OK)
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("version", ["9.8.6", VERSION, "9.8.10", "9.9.0", "10.0.0"])
def test_a_uv_of_the_machine_is_taken_where_it_is_new_enough(
    version: str, uv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = version in {VERSION, "9.8.10"}
    own = tmp_path / "uv"
    own.write_text(binary(version))
    own.chmod(0o755)
    monkeypatch.setattr(uv, "shutil", SimpleNamespace(which=lambda _: str(own)))
    target = lock(tmp_path)
    uv.main()
    assert capsys.readouterr().out == f"{own if taken else target}\n"
    assert target.exists() is not taken


def test_a_wheel_of_another_hash_is_refused(uv: Any, tmp_path: Path) -> None:
    target = lock(tmp_path, hash=f"sha256:{'0' * 64}")
    with pytest.raises(SystemExit, match=r"does not have the hash that uv\.lock names\. Install uv by hand"):
        uv.main()
    assert not target.parent.exists()


def test_a_place_that_cannot_be_written_is_named(uv: Any, tmp_path: Path) -> None:
    target = lock(tmp_path)
    (tmp_path / ".cache").write_text("a file stands where the folder should be")
    with pytest.raises(SystemExit, match=rf"{target} cannot be written \(.*\)\. Install uv by hand"):
        uv.main()


def test_ctrl_c_leaves_no_part(uv: Any, tmp_path: Path) -> None:
    class Interrupted(PosixPath):
        def replace(self, _: Any) -> Any:
            assert self.exists()
            raise KeyboardInterrupt

    target = Interrupted(lock(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        uv.download(uv.locked(), target)
    assert list(target.parent.iterdir()) == []


def test_a_wheel_that_cannot_be_had_is_named(uv: Any, tmp_path: Path) -> None:
    address = (tmp_path / "manylinux_2_17_x86_64.whl").as_uri()
    lock(tmp_path, url=address)
    with pytest.raises(SystemExit, match=rf"could not download {address}: .*No such file.* Install uv by hand"):
        uv.main()


@pytest.fixture
def server() -> Iterator[tuple[str, list[bytes]]]:
    """Serve an answer that promises ten bytes: yield its address, and what is sent of it, a part each fifth second."""
    sent: list[bytes] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "10")
            self.end_headers()
            for part in sent:
                with contextlib.suppress(OSError):  # the reader has gone
                    self.wfile.write(part)
                time.sleep(0.2)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/manylinux_2_17_x86_64.whl", sent
        made.shutdown()


def test_a_download_may_come_in_parts(server: tuple[str, list[bytes]], uv: Any) -> None:
    address, sent = server
    sent += [b"0123", b"45678", b"9"]
    assert uv.fetch(address) == b"0123456789"


@pytest.mark.parametrize(
    ("whole", "says"),
    [(60, r"IncompleteRead\(8 bytes read, 2 more expected\)"), (0.5, "it was not there after")],
)
def test_a_download_that_breaks_off_or_drips_is_named(
    whole: float, says: str, server: tuple[str, list[bytes]], uv: Any, tmp_path: Path
) -> None:
    address, sent = server
    sent += [b"x"] * 8
    uv.WHOLE = whole
    lock(tmp_path, url=address)
    with pytest.raises(SystemExit, match=rf"could not download {address}: .*{says}.* Install uv by hand"):
        uv.main()


def test_a_machine_without_a_wheel_is_named(uv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock(tmp_path)
    monkeypatch.setattr(uv, "platform", linux("riscv64"))
    with pytest.raises(SystemExit, match=r"no locked uv wheel for Linux riscv64\. Install uv by hand"):
        uv.main()


def test_the_lock_has_one_wheel_for_each_machine(uv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "ROOT", ROOT)
    wheels = [wheel["url"] for wheel in uv.locked()["wheels"]]
    assert {tag: sum(tag in url for url in wheels) for tag in uv.WHEELS.values()} == dict.fromkeys(
        uv.WHEELS.values(), 1
    )
