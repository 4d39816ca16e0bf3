"""Measure how the strict build grows with the number of pages, and what the hooks add to MkDocs and its theme.

    make growth                                          1, 4 and 16 times the pages of the sections
    make growth ARGS="--copies 3 --times 1 --most 1.4"   one size, once; fails where the hooks add more than 40 %

A copy of a section has pages, programs, records and questions of its own: names and ids are others, each program has a
line more and so another hash. What gathers the whole site (self-check, errors, sources, glossary) is there once. Each
size is built first with an empty cache, as in CI, then again with what that has kept, as on a writer's machine. Beside
it stands plain MkDocs with Material on the same pages: the same plugins and extensions, without the hooks, the guide's
extension and its templates. All of it happens in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from hooks import family, leave, programs, records
from hooks.markup import DEVICES
from tests.number import positive, positives
from tests.site.copied import copy_project, environment

SECTIONS = ("parallelism", "strategies", "pipelines", "heads", "deployment")
SECONDS = 3600
GUIDE, PLAIN = "mkdocs.yml", "mkdocs-plain.yml"
NAMED = re.compile(rf"\b(?:{'|'.join(SECTIONS)})(?=/| -->)|(?<=#program-)(?:{'|'.join(SECTIONS)})(?=-)")
QUESTION = re.compile(r"(?m)^( +id: [a-z][a-z0-9-]*)$")
ALIASES = re.compile(r"(?m)^search:.*\n(?: +.*\n)*")


@dataclass(frozen=True)
class Took:
    """What one build took: wall seconds, seconds of the processor, MiB at its peak."""

    wall: float
    own: float
    peak: float


def multiply(project: Path, copies: int) -> None:
    """Give a copy of the project more copies of each section, with `copies` of each in all."""
    nav = (project / GUIDE).read_text("utf8")
    listed = nav[nav.index("  - Parallelism:") : nav.index("  - Labs:")]
    more = ""
    for number in range(2, copies + 1):
        for section in SECTIONS:
            _copy_programs(project, section, number)
            _copy_pages(project, section, number)
        more += _renamed(re.sub(r"(?m)^(  - .*):$", rf"\1 {number}:", listed), number)
    (project / GUIDE).write_text(nav.replace("  - Labs:", f"{more}  - Labs:"), "utf8")
    plain = re.sub(r"(?m)^(?:hooks|strict): .*\n|^  custom_dir: .*\n|^    logo: .*\n|^  - hooks\.extension\n", "", nav)
    plain = re.sub(r"(?ms)^validation:.*", "", plain)
    (project / PLAIN).write_text(plain.replace("  - Labs:", f"{more}  - Labs:"), "utf8")


def _renamed(text: str, number: int) -> str:
    return NAMED.sub(rf"\g<0>{number}", text)


def _copy_pages(project: Path, section: str, number: int) -> None:
    for page in sorted((project / "docs" / section).glob("*.md")):
        text = ALIASES.sub("", page.read_text("utf8"))
        text = QUESTION.sub(rf"\1-{number}", _renamed(text, number))
        target = project / "docs" / f"{section}{number}" / page.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, "utf8")


def _copy_programs(project: Path, section: str, number: int) -> None:
    root = project / "snippets"
    for file in sorted((root / section).iterdir()):
        target = root / f"{section}{number}" / file.name
        target.parent.mkdir(exist_ok=True)
        if file.is_file() and file.suffix != ".json":
            more = f"# Copy {number}.\n" if file.suffix == ".py" else ""
            target.write_text(file.read_text("utf8") + more, "utf8")
        elif file.is_file() and not any(file.name.endswith(f".{device}.json") for device in DEVICES):
            target.write_bytes(file.read_bytes())
    for path in programs.paths(root=root):
        if path.startswith(f"{section}/"):
            program = programs.load(path, root=root)
            twin = programs.load(_renamed(path, number), root=root)
            for device in DEVICES:
                if found := records.load(program, device):
                    records.write(replace(found, program=twin.path, sha256=twin.sha256), root=root)


def build(project: Path, config: str) -> Took:
    """Build a project and return what that took.

    Raises:
        SystemExit: the build failed, or took longer than `SECONDS`.
    """
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "-q",
        "-f",
        str(project / config),
        "-d",
        str(project / f"site-{config}"),
    ]
    command += ["--strict"] if config == GUIDE else []
    env = environment("https://example.org/guide/", CI="", FRESH="")
    start = time.perf_counter()
    with (project / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=project, env=env, stdout=log, stderr=log)
        watchdog = threading.Timer(SECONDS, os.kill, (process.pid, signal.SIGKILL))
        watchdog.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            watchdog.cancel()
            if process.returncode is None:
                process.kill()
                process.wait()
    took = time.perf_counter() - start
    if process.returncode:
        said = (project / "log").read_text("utf8")[-2000:]
        sys.exit(f"growth: the build with {config} failed after {took:.0f} s, with {process.returncode}:\n{said}")
    return Took(took, used.ru_utime + used.ru_stime, family.peak_mib(used))


def main() -> int:
    """Print a line for each number of copies; return 1 where the guide took too long beside plain MkDocs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=positives, default="1,4,16", help="how many of each section (default: 1,4,16)")
    parser.add_argument("--times", type=positive, default=3, help="builds of each kind; the quickest counts (3)")
    parser.add_argument("--most", type=float, default=float("inf"), help="times plain MkDocs that the guide may take")
    options = parser.parse_args()
    ratios = []
    print(
        f"{'copies':>6}{'pages':>7}{'plain [s]':>11}{'first [s]':>11}{'guide [s]':>11}{'guide/plain':>13}"
        f"{'guide [s/page]':>16}{'guide [s wall]':>16}{'peak [MiB]':>12}{'load':>6}"
    )
    for copies in options.copies:
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            copy_project(project)
            multiply(project, copies)
            first = build(project, GUIDE)
            pairs = [(build(project, PLAIN), build(project, GUIDE)) for _ in range(options.times)]
            plain, guide = (min(took, key=lambda one: one.own) for took in zip(*pairs, strict=True))
            pages = len(list((project / "docs").rglob("*.md")))
        ratios.append(guide.own / plain.own)
        print(
            f"{copies:>6}{pages:>7}{plain.own:>11.1f}{first.own:>11.1f}{guide.own:>11.1f}"
            f"{ratios[-1]:>13.2f}{guide.own / pages:>16.3f}{guide.wall:>16.1f}{guide.peak:>12.0f}"
            f"{os.getloadavg()[0]:>6.1f}",
            flush=True,
        )
    if max(ratios) > options.most:
        print(f"growth: the guide took {max(ratios):.2f} times as long as plain MkDocs, more than {options.most}")
        return 1
    return 0


if __name__ == "__main__":
    leave.run(main)
