"""Compare this runner with other ways to run the same programs, in one go.

    make bench                                    a sample of programs with one process each
    make bench ARGS="strategies/ --growth"        those whose path holds a text; also four and sixteen times as many
    make bench ARGS="--only nbmake"               some of the other ways
    make bench ARGS="--short 2"                   every program whose record says at most two seconds

The ways: this runner; the same runner with a fresh interpreter for each program; nbmake on a notebook for each program;
pytest-markdown-docs as it comes, on a page for each program, all in its one process. The floor is what no runner can
beat: the programs' own seconds shared by the cores, plus one import of TensorFlow. Only ratios are worth quoting; the
seconds belong to this machine and to what else it does. A ratio depends on the programs: what a runner saves is the
start of each, so the longer they compute, the closer all ways come to the number of cores; the first line says how long
that is. With `--growth` each of the four or sixteen runs of a program is a run: the runner keeps no results.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import psutil

from hooks import devices, leave, notebooks, programs, records
from hooks.runner import PRELOAD, Runner

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = 16
SECONDS = 3600
GROWTH = (1, 4, 16)
PASSED = re.compile(r"(\d+) passed")


@dataclass
class Took:
    """What one way took: wall seconds, programs that passed, their own seconds.

    `peak` is the MiB of all its processes together at their highest, `child` those of the largest process.
    """

    wall: float = 0.0
    passed: int = 0
    peak: float = 0.0
    own: float = 0.0
    child: float = 0.0


def chosen(patterns: list[str], short: float | None = None) -> list[programs.Program]:
    """Return the programs to run: those that hold one of the patterns, or a sample spread over all sections.

    Args:
        patterns: parts of paths.
        short: take every program whose record says at most so many seconds instead of a sample.
    """
    # As in the site's notebooks: the other ways have no file beside the code, and arguments of their own.
    plain = [p for p in programs.all_programs() if notebooks.shares(p) and not p.options.alone]
    if short is not None:
        plain = [p for p in plain if (known := records.load(p)) and known.seconds <= short]
    if patterns or short is not None:
        return [p for p in plain if any(pattern in p.path for pattern in patterns or [""])]
    step = max(1, len(plain) // SAMPLE)
    return plain[::step][:SAMPLE]


@contextmanager
def measured() -> Iterator[Took]:
    """Measure the wall time of the `with` block and the memory of the processes that it starts.

    A page that several processes share counts once, in parts: Linux calls that the proportional set size.
    """
    took, done = Took(), threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            total = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    info = process.memory_full_info()
                except psutil.Error:
                    continue
                size = getattr(info, "pss", info.uss)
                total += size
                took.child = max(took.child, size / 2**20)
            took.peak = max(took.peak, total / 2**20)

    watcher = threading.Thread(target=watch, daemon=True)
    start = time.perf_counter()
    watcher.start()
    try:
        yield took
    finally:
        took.wall = time.perf_counter() - start
        done.set()
        watcher.join()


def run(preload: tuple[str, ...], chosen_programs: list[programs.Program]) -> Took:
    """Run the programs with this runner.

    Raises:
        SystemExit: a program failed, so the comparison means nothing.
    """
    with measured() as took, Runner(preload=preload) as runner:
        results = [future.result() for future in [runner.submit_program(p) for p in chosen_programs]]
    for program, result in zip(chosen_programs, results, strict=True):
        if not result.ok:
            sys.exit(f"bench: {program.path} failed, nothing to compare:\n{result.error}")
    took.passed, took.own = len(results), sum(result.seconds for result in results)
    return took


def cells(program: programs.Program) -> list[str]:
    """Return what a notebook runs: the lines that set up devices as the site's notebooks do, then the program."""
    setup = [notebooks.SETUP.format(count=program.options.devices)] if program.options.devices else []
    return [*setup, program.source]


def nbmake(chosen_programs: list[programs.Program], folder: Path) -> Took:
    """Run a notebook for each program with nbmake, one after the other, as it comes."""
    for at, program in enumerate(chosen_programs):
        made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells(program)])
        made["metadata"] = notebooks.METADATA
        nbformat.write(made, folder / f"{at:02}_{program.file.stem}.ipynb")
    return pytest("--nbmake", "--nbmake-timeout=300", str(folder))


def markdown_docs(chosen_programs: list[programs.Program], folder: Path) -> Took:
    """Run a page with one block for each program with pytest-markdown-docs as it comes."""
    for at, program in enumerate(chosen_programs):
        text = "\n".join(cells(program))
        (folder / f"{at:02}_{program.file.stem}.md").write_text(f"# Page\n\n````python\n{text}\n````\n", "utf8")
    return pytest("--markdown-docs", str(folder))


def pytest(*arguments: str) -> Took:
    """Run pytest without the project's own plugins and configuration."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, *arguments]
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    with measured() as took:
        done = subprocess.run(command, cwd="/", env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    found = PASSED.search(done.stdout)
    took.passed = int(found[1]) if found else 0
    return took


def import_seconds() -> float:
    """Return how long one import of what the runner preloads takes in an interpreter of its own."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {', '.join(PRELOAD)}"], check=True, capture_output=True, timeout=300)
    return time.perf_counter() - start


def compare(found: list[programs.Program], only: set[str]) -> None:
    """Run the ways and print a line for each."""
    import_seconds()  # warms the page cache for all
    once = import_seconds()
    ours = run(PRELOAD, found)
    # The quicker of the imports before and after: what else the machine does must not raise the floor.
    floor = ours.own / devices.cores() + min(once, import_seconds())
    print(f"the programs compute {ours.own:.1f} s, {ours.own / len(found):.1f} s each")
    print(
        f"{'':28}{'passed':>8}{'wall [s]':>10}{'to floor':>10}{'to this runner':>16}"
        f"{'peak [MiB]':>12}{'largest [MiB]':>15}"
    )

    def say(name: str, took: Took) -> None:
        print(
            f"{name:28}{took.passed:>8}{took.wall:>10.1f}{took.wall / floor:>10.2f}"
            f"{took.wall / ours.wall:>16.2f}{took.peak:>12.0f}{took.child:>15.0f}",
            flush=True,
        )

    say("floor", Took(floor, len(found)))
    say("this runner (forks)", ours)
    if "fresh" in only:
        say("fresh interpreters", run((), found))
    for name, title, way in (
        ("nbmake", "nbmake", nbmake),
        ("markdown", "pytest-markdown-docs", markdown_docs),
    ):
        if name in only:
            with tempfile.TemporaryDirectory() as folder:
                say(title, way(found, Path(folder)))


def grow(found: list[programs.Program]) -> None:
    """Run the programs once, four and sixteen times over and print what each program costs."""
    for times in GROWTH:
        took = run(PRELOAD, found * times)
        each = took.wall / took.passed
        print(f"{times:>3} times: {took.wall:.1f} s, {each:.2f} s each, peak {took.peak:.0f} MiB", flush=True)


def main() -> None:
    """Run the comparison and say on what."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="parts of the paths of programs")
    parser.add_argument("--only", default="fresh,nbmake,markdown", help="which other ways (default: all)")
    parser.add_argument("--growth", action="store_true", help="also run four and sixteen times as many")
    parser.add_argument("--short", type=float, help="every program whose record says at most so many seconds")
    options = parser.parse_args()
    only = set(options.only.split(","))
    if unknown := only - {"fresh", "nbmake", "markdown"}:
        parser.error(f"--only {','.join(sorted(unknown))}: the ways are fresh, nbmake and markdown")
    found = chosen(options.patterns, options.short)
    if not found:
        sys.exit("bench: no program with one process matches")
    load = os.getloadavg()[0]
    print(f"{len(found)} programs, {devices.hardware('cpu')}, load {load:.1f} before the start")
    compare(found, only)
    if options.growth:
        grow(found)


if __name__ == "__main__":
    leave.run(main)
