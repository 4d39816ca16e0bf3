#!/usr/bin/env python3
"""Print the path of a uv of the locked minor version, no older than the locked one; download that if there is none.

It needs a Python that uv.lock is made for and nothing else: no pip, no venv module. The wheel's address and SHA-256
come from uv.lock, so the download is as pinned as every other dependency. The binary goes into .cache/uv/.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import io
import os
import platform
import shutil
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

try:
    import tomllib
except ImportError:
    tomllib = None

ROOT = Path(__file__).resolve().parents[1]
# For one answer of the server, and for the whole wheel.
WAIT, WHOLE = 60, 600
# (system, machine) as Python names them -> the start of the wheel's platform tag
WHEELS = {
    ("Linux", "x86_64"): "manylinux_2_17_x86_64",
    ("Linux", "aarch64"): "manylinux_2_17_aarch64",
    ("Darwin", "arm64"): "macosx_11_0_arm64",
    ("Darwin", "x86_64"): "macosx_10_12_x86_64",
}


def locked() -> dict:
    """Return uv's own entry in uv.lock.

    Raises:
        SystemExit: the lock holds no packages for the Python that runs this, or cannot be read.
    """
    try:
        lock = tomllib and tomllib.loads((ROOT / "uv.lock").read_text("utf8"))
    except (OSError, ValueError) as error:
        sys.exit(f"uv.py: uv.lock cannot be read ({error}): take it from git again, or lock anew")
    if not lock or not fits(lock["requires-python"]):
        wanted = f"The packages are locked for Python {lock['requires-python']}" if lock else "3.11 or later is needed"
        sys.exit(
            f"uv.py: this is Python {platform.python_version()}. {wanted}: name one, as in make test PYTHON3=python3.12"
        )
    return next(p for p in lock["package"] if p["name"] == "uv")


def fits(wanted: str) -> bool:
    """Return whether this Python's minor version lies in a range such as `>=3.11, <3.14`."""
    least, below = (int(part.rpartition(".")[2]) for part in wanted.split(","))
    return least <= sys.version_info[1] < below


def version_of(binary: str) -> tuple[int, ...]:
    """Return the version of a uv binary as numbers, `()` where it does not answer."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
        return tuple(int(n) for n in said.split()[1].split("."))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return ()


def fetch(url: str) -> bytes:
    """Return what lies at an address.

    Raises:
        OSError: it cannot be had, or takes too long.
        http.client.HTTPException: the server does not keep to HTTP, or ends too early.
    """
    until, parts = time.monotonic() + WHOLE, []
    with urllib.request.urlopen(url, timeout=WAIT) as answer:
        while part := answer.read1(1 << 20):
            parts.append(part)
            if time.monotonic() > until:
                raise TimeoutError(f"it was not there after {WHOLE} s")
        if missing := getattr(answer, "length", 0):
            raise http.client.IncompleteRead(b"".join(parts), missing)
    return b"".join(parts)


def download(entry: dict, target: Path) -> None:
    """Fetch the wheel for this machine, check its hash, and put its uv binary at `target`.

    Raises:
        SystemExit: no wheel for this machine, no network, a wrong hash, a full disk; the message says how to go on.
    """
    by_hand = "Install uv by hand (https://docs.astral.sh/uv/getting-started/installation/) and run make again."
    tag = WHEELS.get((platform.system(), platform.machine()))
    wheel = next((w for w in entry["wheels"] if tag and tag in w["url"]), None)
    if wheel is None:
        sys.exit(f"uv.py: no locked uv wheel for {platform.system()} {platform.machine()}. {by_hand}")
    print(f"uv.py: downloading uv {entry['version']}", file=sys.stderr)
    try:
        data = fetch(wheel["url"])
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"uv.py: could not download {wheel['url']}: {error}. {by_hand}")
    if "sha256:" + hashlib.sha256(data).hexdigest() != wheel["hash"]:
        sys.exit(f"uv.py: {wheel['url']} does not have the hash that uv.lock names. {by_hand}")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            part.write_bytes(z.read(f"uv-{entry['version']}.data/scripts/uv"))
        part.chmod(0o755)
        part.replace(target)
    except (KeyboardInterrupt, OSError) as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, KeyboardInterrupt):
            raise
        sys.exit(f"uv.py: {target} cannot be written ({error.strerror or error}). {by_hand}")


def main() -> None:
    """Print the path of a uv that is at least the locked version.

    One of the next minor version may not bring the build backend that pyproject.toml asks for, and would fetch it from
    outside the lock: https://docs.astral.sh/uv/concepts/build-backend/
    """
    entry = locked()
    wanted = tuple(int(n) for n in entry["version"].split("."))
    found = shutil.which("uv")
    if found and wanted <= version_of(found) < (wanted[0], wanted[1] + 1):
        print(found)
        return
    target = ROOT / ".cache" / "uv" / f"uv-{entry['version']}"
    if version_of(str(target)) != wanted:
        download(entry, target)
    print(target)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("uv.py: interrupted")
