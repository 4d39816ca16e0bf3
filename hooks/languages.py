"""How a block of each language is checked. A language that is not in the table stops the build."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hooks import errors, interpreter, launch, node, yaml_lines

if TYPE_CHECKING:
    from hooks.blocks import Block

SECONDS = 60
DOCKERFILE = frozenset(
    [
        "ADD",
        "ARG",
        "CMD",
        "COPY",
        "ENTRYPOINT",
        "ENV",
        "EXPOSE",
        "FROM",
        "HEALTHCHECK",
        "LABEL",
        "ONBUILD",
        "RUN",
        "SHELL",
        "STOPSIGNAL",
        "USER",
        "VOLUME",
        "WORKDIR",
    ]
)
# Packages whose generated modules (`*_pb2.py`) define the messages that a `textproto` block may name.
MESSAGES = ("tensorflow_serving",)
# A file that is just being written (`*.part`) has its own name a moment later.
_NOT_COPIED = shutil.ignore_patterns(".venv*", ".git", ".cache", "node_modules", "__pycache__", ".*_cache", "*.part")


class CheckError(Exception):
    """A block does not hold what its language promises; the message says why."""


@dataclass(frozen=True)
class Language:
    """How a language is checked: what the verification file calls it, by which function, and whether it runs."""

    how: str
    check: Callable[[Block, Path], None]
    runs: bool = False


def not_copied(folder: str | Path, names: list[str]) -> set[str]:
    """Return what a copy of the project leaves out of a folder, for `shutil.copytree`: the history and what is made.

    The built site lies beside mkdocs.yml; `tests/site` is written.
    """
    made = {"site"} if "mkdocs.yml" in names else set()
    return {*_NOT_COPIED(str(folder), names), *made.intersection(names)}


def check(block: Block, *, root: Path = errors.ROOT) -> None:
    """Check one block by its language; Python is the runner's.

    Args:
        block: the block.
        root: the project, in a copy of which commands run.

    Raises:
        CheckError: when the block does not hold; the message names page, line and cause.
    """
    try:
        LANGUAGES[block.language].check(block, root)
    except errors.GuideError as error:
        where = f"{block.page}:{block.line + error.line}"
        raise CheckError(f"{where}: this {block.language} block does not hold: {error.cause}") from error
    except (CheckError, ValueError, SyntaxError, yaml.YAMLError, configparser.Error) as error:
        raise CheckError(f"{block.page}:{block.line}: this {block.language} block does not hold: {error}") from error


def _python(block: Block, _root: Path) -> None:
    compile(block.code, block.page, "exec", dont_inherit=True)


def _shell(block: Block, root: Path) -> None:
    _call(["bash", "-n"], stdin=block.code)
    if block.run == "no":
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        shutil.copytree(root, copy, ignore=not_copied, symlinks=True)
        _call(["bash", "-euo", "pipefail", "-c", block.code], cwd=copy)


def _console(block: Block, _root: Path) -> None:
    commands: list[str] = []
    for line in block.code.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif line.startswith("> ") and commands:
            commands[-1] += "\n" + line[2:]
    if not commands:
        raise CheckError("a console block shows commands after `$ `; use text for what is not a command")
    for command in commands:
        _call(["bash", "-n"], stdin=command)


def _javascript(block: Block, _root: Path) -> None:
    try:
        command = node.path()
    except FileNotFoundError as missing:
        raise CheckError(str(missing)) from None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "block.mjs"
        file.write_text(block.code, "utf8")
        _call([command, "--check", str(file)])
        if block.run != "no":
            _call([command, str(file)], cwd=Path(folder))


def _json(block: Block, _root: Path) -> None:
    def keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise CheckError(f"the key {twice[0]!r} stands twice in an object")
        return dict(pairs)

    def constant(name: str) -> None:
        raise CheckError(f"JSON has no {name}")

    json.loads(block.code, object_pairs_hook=keys, parse_constant=constant)


def _yaml(block: Block, _root: Path) -> None:
    list(yaml.safe_load_all(block.code))
    if found := yaml_lines.twice(block.code):  # PyYAML takes the last; every schema forbids it
        raise CheckError(f"the key {found[0]!r} stands twice (line {found[1]})")


def _toml(block: Block, _root: Path) -> None:
    tomllib.loads(block.code)


def _ini(block: Block, _root: Path) -> None:
    configparser.ConfigParser(interpolation=None).read_string(block.code)


def _dockerfile(block: Block, _root: Path) -> None:
    from dockerfile_parse import DockerfileParser  # type: ignore[import-untyped]  # noqa: PLC0415 - only tests have it

    with tempfile.TemporaryDirectory() as folder:
        parser = DockerfileParser(path=folder)
        parser.content = block.code
        steps = [step["instruction"] for step in parser.structure if step["instruction"] != "COMMENT"]
    wrong = [step for step in steps if step not in DOCKERFILE]
    if wrong:
        raise CheckError(f"{wrong[0]} is no instruction of a Dockerfile")
    if not [step for step in steps if step != "ARG"][:1] == ["FROM"]:
        raise CheckError("a Dockerfile begins with FROM (only ARG may stand before it)")


def _textproto(block: Block, _root: Path) -> None:
    name = block.attributes.get("data-message")
    if not name:
        raise CheckError('name its message: ```textproto {data-message="tensorflow.serving.ModelServerConfig"}')
    _call([sys.executable, "-m", "hooks.messages", name, *MESSAGES], stdin=block.code, cwd=errors.ROOT)


def _markdown(block: Block, _root: Path) -> None:
    from hooks.fences import check_slashes, fences  # noqa: PLC0415 - it imports this table

    fences(block.code, block.page)
    check_slashes(block.code, block.page)


def _html(block: Block, _root: Path) -> None:
    import html5lib  # type: ignore[import-untyped]  # noqa: PLC0415 - only tests have it

    parser = html5lib.HTMLParser(strict=True)
    try:
        (parser.parse if block.code.lstrip().lower().startswith("<!doctype") else parser.parseFragment)(block.code)
    except html5lib.html5parser.ParseError as error:
        raise CheckError(f"not valid HTML: {error}") from error


def _diff(block: Block, _root: Path) -> None:
    left = right = 0
    for line in block.code.rstrip("\n").split("\n"):
        if hunk := re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line):
            if left or right:
                raise CheckError(f"the hunk before {line!r} does not have the lines that its header counts")
            left, right = (int(count) if count else 1 for count in hunk.groups())
        elif left or right:
            left -= line[:1] in ("-", " ", "")
            right -= line[:1] in ("+", " ", "")
        elif line and not re.match(r"[-+ \\]|diff |index |rename |similarity |new file |deleted file ", line):
            raise CheckError(f"{line!r} is no line of a diff")
    if left or right:
        raise CheckError("the last hunk does not have the lines that its header counts")


def _text(_block: Block, _root: Path) -> None:
    """Plain text holds by itself; that it is no Python in disguise is checked when the block is collected."""


def _call(command: list[str], *, stdin: str = "", cwd: Path | None = None) -> None:
    """Run a command with a time limit and raise what it said when it fails; what it starts ends with it.

    As programs do, it finds an empty home folder, and nothing in the environment that could change a result.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*interpreter.command("family", "contained"), str(SECONDS), *command],
            cwd=cwd,
            env=_environment(Path(folder)),
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        try:
            said, why = process.communicate(stdin)
        except BaseException:
            process.terminate()  # it ends what it started
            raise
    if process.returncode:
        raise CheckError(f"{why.strip()}\n{said.strip()[-4000:]}".strip())


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a command whose home and temporary files lie in a folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    own = {"HOME": folder / "home", "TMPDIR": folder / "tmp"}
    for made in own.values():
        made.mkdir()
    homes = {key: str(made) for key, made in own.items()}
    return {**launch.clean(), **homes, "PATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}


LANGUAGES: dict[str, Language] = {
    "bash": Language("run", _shell, runs=True),
    "console": Language("parsed", _console),
    "diff": Language("parsed", _diff),
    "dockerfile": Language("parsed", _dockerfile),
    "html": Language("parsed", _html),
    "ini": Language("parsed", _ini),
    "js": Language("run", _javascript, runs=True),
    "json": Language("parsed", _json),
    "markdown": Language("parsed", _markdown),
    "python": Language("run", _python, runs=True),
    "sh": Language("run", _shell, runs=True),
    "text": Language("shown", _text),
    "textproto": Language("parsed", _textproto),
    "toml": Language("parsed", _toml),
    "yaml": Language("parsed", _yaml),
}
