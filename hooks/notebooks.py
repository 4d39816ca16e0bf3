"""A notebook beside each page that shows Python: the same blocks, and everything of each program between them."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import nbformat

from hooks import programs
from hooks.blocks import uses_tensorflow
from hooks.cache import remember
from hooks.fences import after_front_matter
from hooks.prose import BLOCK, to_jupyter, with_values
from hooks.publish import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from hooks.blocks import Block
    from hooks.programs import Program

MARKER = re.compile(r"^[ \t]*(?:#|//) --8<-- \[(start|end):.*\][ \t]*$")
SPLIT = """\
if not tf.config.list_physical_devices("GPU"):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * {count})"""
SETUP = f"import tensorflow as tf\n\n{SPLIT}"
SETUP_WHY = (
    "Without a GPU this cell splits the CPU into {count} logical devices. It must run before TensorFlow is first used: "
    "restart the runtime to run it again."
)
HELPER = "logical_devices.py"
HELPER_WHY = (
    f"Programs that cannot share this kernel run beside it. `{HELPER}` gives them logical devices in the same way."
)
HELPER_CODE = f'''%%writefile {HELPER}
"""Run a program on logical devices where there is no GPU: python {HELPER} COUNT FILE."""

import runpy
import sys

import tensorflow as tf

count, sys.argv = int(sys.argv[1]), sys.argv[2:]
{SPLIT.format(count="count")}
runpy.run_path(sys.argv[0], run_name="__main__")'''
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def wanted(blocks: list[Block]) -> bool:
    """Tell whether a page with these blocks has a notebook."""
    return any(block.language == "python" for block in blocks)


def notebook(
    *,
    source: str,
    blocks: list[Block],
    title: str,
    site: str,
    folder: str,
    url: str,
    real: Callable[[str], str],
) -> str:
    """Return the notebook of a page as text; the same page gives the same bytes.

    Args:
        source: the page as its author wrote it.
        blocks: its blocks.
        title: its title.
        site: the address of the site.
        folder: the folder of its source under `docs/`, empty for `docs/` itself.
        url: its address under the site's root.
        real: returns HTML of the page with links in place of placeholders, `publish.links`.

    Raises:
        GuideError: a placeholder leads nowhere.
    """
    names = sorted({block.program for block in blocks if block.program and block.language == "python"})
    # The source with its values too: a record changes without the page.
    inputs = [source, with_values(source), title, site, folder, url, repr(blocks)]
    inputs += [programs.load(name).sha256 for name in names]
    text = _without_fences(source, blocks)
    # Which page has a program's card, other pages decide.
    inputs += [real(found[0]) for found in PLACEHOLDER.finditer(text)]

    def make() -> str:
        # As one text: a container goes on after a fence in it. A fence in a question goes with it.
        prose = to_jupyter(text, base=f"{site}{folder}", page=site + url, real=real)
        return _make(prose, blocks, title, site + url)

    return str(remember("notebooks", inputs, make))


def _without_fences(source: str, blocks: list[Block]) -> str:
    """Return the source of a page with a line that holds a number for each of its blocks."""
    lines, marked = source.split("\n"), []
    at = after_front_matter(lines)
    for number, block in enumerate(blocks):
        fence = lines[block.line - 1]
        indent = fence[: len(fence) - len(fence.lstrip())]
        marked += [*lines[at : block.line - 1], f"{indent}{str(number).join(BLOCK)}"]
        at = block.end
    return "\n".join([*marked, *lines[at:]])


def _make(text: str, blocks: list[Block], title: str, page: str) -> str:
    first, *rest = re.split(rf"(?m)^[ \t]*{BLOCK[0]}(\d+){BLOCK[1]}[ \t]*$", text)
    blocks = [blocks[int(number)] for number in rest[::2]]
    writer = _Writer(blocks)
    writer.say(_head(blocks, title, page))
    devices = _kernel_devices(blocks)
    if devices:
        writer.say(SETUP_WHY.format(count=devices))
        writer.run(SETUP.format(count=devices))
    if any(_on_devices(program) for program in _beside(blocks)):
        writer.say(HELPER_WHY)
        writer.run(HELPER_CODE)
    writer.say(first.strip())
    for block, prose in zip(blocks, rest[1::2], strict=True):
        writer.show(block)
        writer.say(prose.strip())
    made = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": METADATA, "cells": writer.cells})
    # Once, for the whole: nbformat's own makers check each cell when it is made, and all of them when they are written.
    nbformat.validate(made)
    return nbformat.v4.writes(made) + "\n"


def links(*, path: str, repository: Mapping[str, str]) -> str:
    """Return the links under a page's title: download the notebook, open it in Colab.

    Args:
        path: the notebook's path under the site's root.
        repository: `extra.repository` of mkdocs.yml; its branch of the built site is where Colab finds the notebook.
    """
    name = path.rpartition("/")[2]
    colab = (
        f"https://colab.research.google.com/github/{repository['name']}/blob/{repository['pages_branch']}/{quote(path)}"
    )
    return (
        '<p class="guide-notebook" data-search-exclude="">'
        f'<a href="{html.escape(name)}" download>Download the notebook</a> '
        f'<a href="{html.escape(colab)}">Open in Colab</a></p>'
    )


@dataclass
class _Writer:
    """Collects the cells; it knows how far each program has been written."""

    blocks: list[Block]
    cells: list[dict[str, Any]] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)  # lines of each program that are in cells
    written: set[Path] = field(default_factory=set)  # files that cells write

    def say(self, text: str) -> None:
        if text:
            self._add("markdown", text)

    def run(self, code: str) -> None:
        if code.strip():
            self._add("code", code.strip("\n"), execution_count=None, outputs=[])

    def _add(self, kind: str, source: str, **more: Any) -> None:
        self.cells.append(
            {"id": f"cell-{len(self.cells)}", "cell_type": kind, "source": source, "metadata": {}, **more}
        )

    def write(self, file: Path) -> None:
        """Let a cell write a file beside the notebook, once."""
        if file not in self.written:
            self.written.add(file)
            self.run(f"%%writefile {file.name}\n{_without_markers(file.read_text('utf8'))}")

    def show(self, block: Block) -> None:
        """Write one block, and after the last block of a program the rest of it."""
        if block.language != "python" or block.run == "no":
            self.say(_fence(block))
        elif not block.program:
            self.run(block.code)
        else:
            self._part(block)

    def _part(self, block: Block) -> None:
        program = programs.load(block.program)
        last = [other for other in self.blocks if other.program == block.program and other.language == "python"][-1]
        if block.program != in_kernel(self.blocks):
            self.say(_fence(block))
            if block is last:
                for file in (*program.companions, program.file):
                    self.write(file)
                self.run(_started(program))
            return
        lines = program.source.split("\n")
        start = self.done.get(program.path, 0)
        end = program.sections[block.section].last + 1 if block.section else len(lines)
        if end > start:
            self.run(_without_markers("\n".join(lines[start:end])))
            self.done[program.path] = end
        else:
            self.say(_fence(block))  # its lines ran in a cell above
        if block is last:
            self.run(_without_markers("\n".join(lines[self.done[program.path] :])))


def _started(program: Program) -> str:
    """Return the cell that runs a program beside the notebook."""
    words = [HELPER, str(program.options.devices)] if _on_devices(program) else []
    words.append(program.file.name)
    if not program.options.env:
        # The path of Python may have spaces in it.
        return f"import sys\n\n!\"{{sys.executable}}\" {' '.join(words)}\nassert _exit_code == 0, 'it failed'"
    # IPython and a shell would both read the values of variables in ways of their own.
    named = ", ".join(map(repr, words))
    env = f"os.environ | {dict(program.options.env)!r}"
    return (
        f"import os\nimport subprocess\nimport sys\n\nsubprocess.run([sys.executable, {named}], env={env}, check=True)"
    )


def in_kernel(blocks: list[Block]) -> str:
    """Return the program of a page that runs in the notebook's own process; empty where there is none.

    It is the first one that can: a second MirroredStrategy in one process breaks the first
    (https://github.com/tensorflow/tensorflow/issues/61314), several processes need a file to start from, and
    environment variables come too late. Pages with blocks of their own keep the kernel for them.
    """
    if any(block.language == "python" and not block.program and block.run != "no" for block in blocks):
        return ""
    for path in dict.fromkeys(block.program for block in blocks if block.language == "python" and block.program):
        program = programs.load(path)
        if shares(program) and _splits(program, blocks):
            return path
    return ""


def shares(program: Program) -> bool:
    """Tell whether a program can run in a kernel: one process, no file but itself, nothing set before the import.

    `__file__` is not there, and `sys.argv` is that of the kernel.
    """
    options = program.options
    file = any(name in program.source for name in ("__file__", "sys.argv"))
    return options.processes == 1 and not options.env and not options.files and not file


def _splits(program: Program, blocks: list[Block]) -> bool:
    """Tell whether every cell would be whole statements."""
    ends = {
        program.sections[block.section].last + 1 for block in blocks if block.program == program.path and block.section
    }
    return _compiles(program.source, tuple(sorted(ends)))


@lru_cache(maxsize=256)  # a page asks for the same ones at every block
def _compiles(source: str, ends: tuple[int, ...]) -> bool:
    """Tell whether every part of a source is whole statements; each but the last ends before one of the lines."""
    lines, start = source.split("\n"), 0
    for end in [*ends, len(lines)]:
        try:
            compile("\n".join(lines[start:end]), "part", "exec", dont_inherit=True)
        except SyntaxError:
            return False
        start = end
    return True


def _kernel_devices(blocks: list[Block]) -> int:
    if path := in_kernel(blocks):
        return programs.load(path).options.devices
    return (
        4
        if any(block.language == "python" and not block.program and uses_tensorflow(block.code) for block in blocks)
        else 0
    )


def _beside(blocks: list[Block]) -> list[Program]:
    """Return the programs that run beside the kernel."""
    names = dict.fromkeys(block.program for block in blocks if block.language == "python" and block.program)
    return [programs.load(name) for name in names if name != in_kernel(blocks)]


def _on_devices(program: Program) -> bool:
    """Tell whether a program that runs beside the kernel wants logical devices; several processes make their own."""
    return program.options.devices > 1 and program.options.processes == 1


def _head(blocks: list[Block], title: str, page: str) -> str:
    names = dict.fromkeys(block.program for block in blocks if block.language == "python" and block.program)
    needs = sorted({dependency for name in names for dependency in programs.load(name).dependencies})
    text = f"The notebook of [{title}]({page}): the same code, with a link for what only the page shows."
    return f"{text} {it_needs(needs)}" if needs else text


def it_needs(packages: list[str]) -> str:
    """Return the sentence on what to install for a notebook; each package as `pip` takes it."""
    return f"It needs `{' '.join(packages)}`; where another version is installed, run `%pip install` with that first."


def _fence(block: Block) -> str:
    ticks = "```"
    while ticks in block.code:
        ticks += "`"
    why = f"\n\nNot run here: {block.why.rstrip('.')}." if block.why else ""
    return f"{ticks}{block.language}\n{block.code.rstrip()}\n{ticks}{why}"


def _without_markers(code: str) -> str:
    return re.sub(r"\n{3,}", "\n\n\n", "\n".join(line for line in code.split("\n") if not MARKER.match(line)))
