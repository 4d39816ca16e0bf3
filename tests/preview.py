"""Measure what a writer waits for: an edit, until the preview's browser would show it.

    python -m tests.preview            a page, a program and a question, each edited three times

A copy of the project is served by `mkdocs serve` on a free port, as `make serve` does. After each edit the page is
fetched until the edit is in it. The median is printed, and the load of the machine, without which it means little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hooks import busy, interpreter, leave
from tests.direct import ask_directly
from tests.number import positive
from tests.site.copied import copy_project
from tests.site.serve import reserved

if TYPE_CHECKING:
    from collections.abc import Iterator

START = 600.0
EDIT = 300.0
PAGE = "strategies/mirrored"
# What is edited: a file, a text in it, and what the text becomes; each edit leaves its number on the page.
EDITS = {
    "a page": (f"docs/{PAGE}.md", "\n## ", "\n\nSeen {mark}.\n\n## "),
    "a program": (f"snippets/{PAGE}.py", "[start:setup]\n", '[start:setup]\nseen = "{mark}"\n'),
    "a question": (f"docs/{PAGE}.md", "\n/// quiz | ", "\n/// quiz | Seen {mark}. "),
}


def fetched(address: str) -> str:
    """Return a page; "" while the server does not answer."""
    try:
        with urllib.request.urlopen(address, timeout=busy.stretched(60)) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return ""


def wait(
    address: str, mark: str, seconds: float, *, gone: bool = False, process: subprocess.Popen[bytes] | None = None
) -> float:
    """Wait until a page holds a text, or until it is served without it, and return the seconds that took.

    A busy machine has more seconds.

    Raises:
        TimeoutError: it never did.
        RuntimeError: the server ended meanwhile.
    """
    start, limit = time.perf_counter(), busy.Limit(seconds)
    while not (page := fetched(address)) or (mark in page) == gone:
        if process and process.poll() is not None:
            raise RuntimeError(f"the preview ended with {process.returncode}")
        if not limit.left():
            still = "lacks" if not gone else "shows" if page else "is not served, with or without"
            raise TimeoutError(f"{address} still {still} {mark!r} after {limit.allowed:.0f} s")
        time.sleep(0.05)
    return time.perf_counter() - start


@contextmanager
def server(project: Path) -> Iterator[str]:
    """Serve a project inside the `with` block and yield the address of its home page.

    The pages lie under `tmp` beside the project: the server is killed, also where this process is, and leaves them.
    """
    temporary = project.with_name("tmp")
    temporary.mkdir()
    with reserved() as port, (project / "log").open("wb") as log:
        address = f"http://127.0.0.1:{port}/"
        env = {**os.environ, "GUIDE_PREVIEW": "1", "NO_MKDOCS_2_WARNING": "1", "SITE_URL": address}
        # A writer's, also in CI and in a run of everything anew: it keeps the pages that it has rendered.
        env |= {"CI": "", "FRESH": "", "TMPDIR": str(temporary)}
        command = [*interpreter.command("family", "contained"), "inf"]  # no limit: it serves until it is ended
        command += [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{port}"]
        process = subprocess.Popen(command, cwd=project, env=env, stdout=log, stderr=log)
        try:
            wait(address, "</html>", START, process=process)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def measure(project: Path, address: str, times: int) -> dict[str, list[float]]:
    """Edit each kind of source some times and return the seconds until each edit is served."""
    found: dict[str, list[float]] = {}
    for name, (path, text, becomes) in EDITS.items():
        file = project / path
        source = file.read_text("utf8")
        if text not in source:
            raise ValueError(f"{path} has no {text!r} to edit")
        for turn in range(times):
            mark = f"edit{name.split()[1]}{turn}"
            file.write_text(source.replace(text, becomes.format(mark=mark), 1), "utf8")
            found.setdefault(name, []).append(wait(f"{address}{PAGE}/", mark, EDIT))
        file.write_text(source, "utf8")
    return found


def main() -> None:
    """Print the median for each kind of edit, and the load of the machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=positive, default=3, help="edits of each kind (default: 3)")
    times = parser.parse_args().times
    ask_directly()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        copy_project(project)
        with server(project) as address:
            for name, seconds in measure(project, address, times).items():
                load = os.getloadavg()[0]
                print(f"{name}: {statistics.median(seconds):.1f} s from the edit to the page (load {load:.1f})")


if __name__ == "__main__":
    leave.run(main)
