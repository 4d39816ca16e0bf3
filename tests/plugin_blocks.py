"""The pytest plugin that makes every block of every page a test.

pytest-markdown-docs collects (pinned, because its registry of runners is private). It reads Markdown as text and misses
what is nested or included. Here its parser is replaced by one that returns the blocks of the page as MkDocs renders it,
and each is run by a runner that knows languages and programs. Labs are collected too.

A block that shows a section of a program passes when that program passes, the section was executed, and the page shows
its text. One in another language that runs, such as a module for Node, passes when the first program that names it
in `files` passes. A Python block that is written in the page runs in the process of its page, after those above it.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mkdocs.exceptions import PluginError
from pytest_markdown_docs._runners import DefaultRunner, register_runner
from pytest_markdown_docs.definitions import FenceTestDefinition
from pytest_markdown_docs.plugin import MarkdownDocstringCodeModule, MarkdownInlinePythonItem, MarkdownTextFile

from hooks import errors, kept, lab_runs, labs, languages, origins, programs, results
from hooks.blocks import Block, uses_tensorflow
from hooks.cache import remember
from hooks.errors import GuideError
from hooks.pages import Pages, is_page
from hooks.runner import Block as Job
from tests.plugin_runner import device_of, request_page, request_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from hooks.programs import Program
    from hooks.runner import Result

PLUGIN = "guide-blocks"
RUNNER = "GuideRunner"
# Languages whose check takes seconds, for it imports what it checks by, and depends on the block and the lock alone.
SLOW = {"textproto"}


class BlockError(Exception):
    """A block failed; the message is all there is to say."""


@dataclass
class Collected:
    """The plugin of one session: the pages, their blocks, and which of them were selected."""

    config: pytest.Config

    def __post_init__(self) -> None:
        self.found: dict[Path, list[Block]] = {}
        self.selected: set[tuple[Path, int]] = set()
        self.trouble = ""
        self.collecting = Path()  # pytest-markdown-docs gives its parser a text and no path

    @cached_property
    def pages(self) -> Pages:
        """The site, loaded when the first page is collected."""
        if self.trouble:
            raise PluginError(self.trouble)
        try:
            return Pages(self.config.rootpath)
        except PluginError as error:
            self.trouble = str(error)
            raise

    def parse(self, text: str) -> list[Any]:
        """Return the blocks of the page being collected as the tokens that pytest-markdown-docs expects."""
        path = self.collecting
        if path.read_text("utf8") != text:
            raise GuideError(path, 0, "the page changed while it was collected", "run the tests again")
        return [
            # The collector keeps only tokens that say Python; each block's own language is looked up when it runs.
            SimpleNamespace(type="fence", info=f"python runner:{RUNNER}", content=b.code, map=[b.line - 1, b.end])
            for b in self.blocks(path)
        ]

    def blocks(self, path: Path) -> list[Block]:
        """Return the blocks of a page, which is rendered once a session."""
        if path not in self.found:
            self.found[path] = kept.blocks(path, self.config.rootpath, lambda: self.pages.blocks(path))
        return self.found[path]

    def block(self, test: FenceTestDefinition) -> Block:
        """Return the block of a test that pytest-markdown-docs made."""
        return next(b for b in self.found[Path(test.source_path)] if b.line == test.start_line)

    def inline(self, path: Path) -> list[Block]:
        """Return the Python blocks written in a page, in order."""
        return [b for b in self.found[path] if b.language == "python" and not b.program and b.run != "no"]

    def run_page(self, path: Path) -> tuple[list[Block], Any]:
        """Ask for the blocks of a page up to the last selected one."""
        inline = self.inline(path)
        last = max((n for n, b in enumerate(inline) if (path, b.line) in self.selected), default=-1)
        wanted = inline[: last + 1]
        jobs = [Job(name=f"{b.page}:{b.line}", source=b.code, line=b.line + 1) for b in wanted]
        devices = 4 if any(uses_tensorflow(b.code) for b in wanted) else 0
        return wanted, request_page(self.config, wanted[-1].page if wanted else path.name, jobs, devices_wanted=devices)

    def pytest_markdown_docs_markdown_it(self) -> Collected:
        """Give pytest-markdown-docs this object as its parser."""
        return self

    def pytest_markdown_docs_globals(self) -> dict[str, Any]:
        """Hand this object to the runner, which pytest-markdown-docs calls without the configuration."""
        return {PLUGIN: self}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what was selected before the runner's plugin asks each item what it needs."""
        self.selected = {(item.path, item.start_line) for item in session.items if isinstance(item, BlockItem)}


def program_of(block: Block) -> Program | None:
    """Return the program that runs what a block shows: the program itself, or the first that needs that file."""
    if not block.program or block.run == "no" or not languages.LANGUAGES[block.language].runs:
        return None
    if block.language == "python":
        return programs.load(block.program)
    return next(iter(programs.needing(block.program)), None)


@register_runner()
class GuideRunner(DefaultRunner):
    """Runs one block: by its program, in the process of its page, or by the check of its language."""

    def runtest(self, test: FenceTestDefinition, args: dict[str, Any], *, asyncio_runner: Any = None) -> None:
        """Raise `BlockError` or skip with the reason that the page gives; never `TypeError`, which is run again."""
        collected: Collected = args[PLUGIN]
        block = collected.block(test)
        program = program_of(block)
        try:
            if program:
                self._program(collected, block, program)
            elif block.language != "python" or block.run == "no":
                self._check(collected, block)
                if block.run == "no":
                    pytest.skip(f"checked, not run: {block.why}")
            else:
                self._inline(collected, Path(test.source_path), block)
        except (BlockError, GuideError, languages.CheckError):
            raise
        except Exception as error:
            raise BlockError(f"{block.page}:{block.line}: {type(error).__name__}: {error}") from error

    def repr_failure(self, test: FenceTestDefinition, excinfo: Any, style: Any = None) -> str:
        """Return the message: it names page, line and the program's own line. A traceback of this file helps nobody."""
        error = excinfo.value
        known = isinstance(error, (BlockError, GuideError, languages.CheckError))
        return str(error) if known else f"{test.source_path}:{test.start_line}: {excinfo.exconly()}"

    @staticmethod
    def _check(collected: Collected, block: Block) -> None:
        check = partial(languages.check, block, root=collected.config.rootpath)
        if block.language in SLOW and results.reads():
            remember("parsed", [block.language, block.code, repr(sorted(block.attributes.items()))], check)
        else:
            check()

    @staticmethod
    def _program(collected: Collected, block: Block, program: Program) -> None:
        where = f"{block.page}:{block.line}: {block.origin}"
        if origins.text_of(block.origin).strip("\n") != block.code.strip("\n"):
            raise BlockError(f"{where}: the page does not show the text of that section")
        result: Result = request_program(collected.config, program).result()
        if not result.ok:
            raise BlockError(f"{where}: its program failed\n{result.error}")
        if block.language == "python" and block.section and block.section not in result.executed:
            raise BlockError(f"{where}: the program passed, but this section was not executed")

    @staticmethod
    def _inline(collected: Collected, path: Path, block: Block) -> None:
        wanted, future = collected.run_page(path)
        result: Result = future.result()[wanted.index(block)]
        if not result.ok:
            printed = f"\nIt printed:\n{result.output}" if result.output else ""
            raise BlockError(f"{block.page}:{block.line}: this block failed\n{result.error}{printed}")


class BlockItem(MarkdownInlinePythonItem):
    """A block, under a name that people can read and select."""

    def prefetch(self) -> Future[Any] | None:
        """Ask for what this block needs, so that it runs while other tests do; `None` where nothing runs for it."""
        collected: Collected = self.config.pluginmanager.get_plugin(PLUGIN)
        block = collected.block(self.test_definition)
        program = program_of(block)
        if program:
            return request_program(self.config, program)
        inline = block.language == "python" and block.run != "no"
        return collected.run_page(self.path)[1] if inline else None


class PageFile(MarkdownTextFile):
    """A page: what pytest-markdown-docs collects, with readable names."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each block.

        Raises:
            CollectError: the page has a mistake; the message says where, what, and how to correct it.
        """
        collected: Collected = self.config.pluginmanager.get_plugin(PLUGIN)
        collected.collecting = self.path
        try:
            errors.read(self.path)
            tests = [item.test_definition for item in super().collect()]
        except PluginError as error:
            raise self.CollectError(str(error)) from error
        for test in tests:
            yield BlockItem.from_parent(self, name=collected.block(test).name, test_definition=test)


class LabItem(pytest.Item):
    """A lab, executed from its first cell to its last and compared with its record.

    Not again while the lab, its record, what runs it and the lock stay the same.
    """

    def runtest(self) -> None:
        """Execute it; a record of another version of it fails first."""
        labs.check(self.path)
        if results.reads():
            device = device_of(self.config)
            where = [device, platform.python_version(), sys.platform, platform.machine()]
            where += [str(results.chosen(device))]
            texts = [self.path.name, self.path.read_text("utf8"), self.path.with_suffix(".ipynb").read_text("utf8")]
            remember("lab-runs", [*texts, *where], self._run)
        else:
            self._run()

    def _run(self) -> None:
        lab_runs.check(self.path, device_of(self.config))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Return the message: it names the lab, the line and the cell."""
        known = isinstance(excinfo.value, PluginError)
        return str(excinfo.value) if known else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where it is."""
        return self.path, 0, self.name


class LabFile(pytest.File):
    """The script of a lab."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the lab as one test: its cells share one kernel."""
        yield LabItem.from_parent(self, name="lab")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin of this session."""
    config.pluginmanager.register(Collected(config), PLUGIN)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    """Take pages as pages and labs as labs; leave docstrings alone: pytest-markdown-docs would import every file."""
    found = yield
    config = parent.config
    kept = [one for one in found if not isinstance(one, (MarkdownDocstringCodeModule, MarkdownTextFile))]
    if file_path.parent == config.rootpath / labs.FOLDER and file_path.suffix == ".py":
        return [LabFile.from_parent(parent, path=file_path)]
    if config.option.markdowndocs and is_page(file_path, config.rootpath):
        kept.append(PageFile.from_parent(parent, path=file_path))
    return kept
