"""The metadata block of a program (PEP 723): what it requires, what it depends on, and its table `[tool.guide]`."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import InvalidRequirement, Requirement

from hooks.errors import GuideError, line_in_toml, near
from hooks.plain import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_METADATA = re.compile(r"(?m)^# /// script\n(?P<body>(?:#(?: .*)?\n)*?)# ///$")
# The tools that read a table of a program: this guide, and uv, which runs it.
TOOLS = ("guide", "uv")
# A name that every shell and system takes for a variable.
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# One that needs no quoting in a shell, in an address and in the first line of a notebook's cell, and is not hidden.
_FILE = re.compile(r"\w[\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Options:
    """The table `[tool.guide]` of a program; CONTRIBUTING.md says what each key means."""

    devices: int = 4
    processes: int = 1
    seconds: float = 60
    alone: bool = False
    tolerance: float = 1e-3
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    files: Sequence[str] = field(default=(), hash=False)


def metadata(file: Path, source: str) -> tuple[Options, tuple[str, ...]]:
    """Return the options and the dependencies of a program.

    Args:
        file: the program, for messages.
        source: its text.

    Raises:
        GuideError: the block is missing, is not TOML, or says what it may not; or a byte order mark stands before all.
    """
    if source.startswith("\ufeff"):
        cure = "save it as UTF-8 without a byte order mark"
        raise GuideError(file, 1, "the program begins with a byte order mark, an invisible character", cure)
    blocks = list(_METADATA.finditer(source))
    if len(blocks) != 1:
        count = "no" if not blocks else "more than one"
        line = source.count("\n", 0, blocks[1].start()) + 1 if blocks else 1
        cure = "start the file with one block from '# /// script' to '# ///' (PEP 723), each line a comment"
        raise GuideError(file, line, f"the program has {count} metadata block", cure)
    first = source.count("\n", 0, blocks[0].start("body")) + 1
    lines = [line[2:] if line.startswith("# ") else line[1:] for line in blocks[0]["body"].splitlines()]
    text = "\n".join(lines)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = first + line_in_toml(text, error) - 1
        raise GuideError(file, line, f"the metadata block is not TOML: {error}", "correct the block") from None

    def line_of(key: str) -> int:
        pattern = re.compile(rf"\s*(\[.*)?\b{re.escape(key)}\b")
        return next((first + at for at, line in enumerate(lines) if pattern.match(line)), first)

    for key in data:
        if key not in ("requires-python", "dependencies", "tool"):
            known = "use 'requires-python', 'dependencies' and '[tool.guide]'"
            raise GuideError(file, line_of(key), f"the metadata block has an unknown key '{key}'", known)
    said = data.get("requires-python")
    cure = f"""write requires-python = "{pythons()}" in the metadata block"""
    if not isinstance(said, str):
        raise GuideError(file, line_of("requires-python"), "'requires-python' is missing or not text", cure)
    if said != pythons():
        cause = f"'requires-python' is {said!r}, not the project's: uv may choose a Python that has no such packages"
        raise GuideError(file, line_of("requires-python"), cause, cure)
    dependencies = data.get("dependencies")
    if not isinstance(dependencies, list) or not all(isinstance(name, str) for name in dependencies):
        cure = """write dependencies = ["tensorflow==2.21.*"] in the metadata block"""
        raise GuideError(file, line_of("dependencies"), "'dependencies' is missing or not a list of text", cure)
    for text in dependencies:
        try:
            Requirement(text)
        except InvalidRequirement as error:
            line = next((first + at for at, line in enumerate(lines) if text in line), line_of("dependencies"))
            cause = f"'{text}' is not a requirement ({str(error).splitlines()[0]})"
            raise GuideError(file, line, cause, "write it as in 'tensorflow==2.21.*'") from None
    tool = data.get("tool", {})
    table = tool.get("guide", {}) if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        raise GuideError(file, line_of("guide"), "'tool.guide' is not a table", "write it as [tool.guide]")
    for key in tool:
        if key not in TOOLS:
            cure = f"remove it, or correct it ({near(key, TOOLS)})"
            raise GuideError(file, line_of(key), f"the metadata block has an unknown table [tool.{key}]", cure)
    known_keys = [f.name for f in fields(Options)]
    for key, value in table.items():
        if key not in known_keys:
            cure = f"remove it, or correct it ({near(key, known_keys)})"
            raise GuideError(file, line_of(key), f"[tool.guide] has an unknown key '{key}'", cure)
        wrong = _wrong(key, value)
        if wrong:
            raise GuideError(file, line_of(key), f"'{key}' in [tool.guide] is {value!r}", f"make it {wrong}")
    return Options(**table), tuple(dependencies)


@functools.cache
def pythons() -> str:
    """Return what the project's own metadata say of Python: the packages are locked for no other."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    return str(tomllib.loads(text)["project"]["requires-python"])


def _wrong(key: str, value: Any) -> str | None:
    """Return what `value` should be when it does not fit the key, else None."""
    number = is_number(value)
    match key:
        case "devices":
            return None if number and isinstance(value, int) and value >= 0 else "a whole number from 0 up"
        case "processes":
            return None if number and isinstance(value, int) and value >= 1 else "a whole number from 1 up"
        case "seconds":
            return None if number and 0 < value <= 600 else "a number of seconds above 0, at most 600"
        case "alone":
            return None if isinstance(value, bool) else "true or false"
        case "files":
            plain = isinstance(value, list) and all(isinstance(v, str) and _FILE.fullmatch(v) for v in value)
            cure = 'a list of names of files in the same folder, as ["server.py"]'
            return None if plain else f'{cure}, of letters, digits, "_", "-" and ".", but not "." first'
        case "tolerance":
            return None if number and 0 <= value < 1 else "a number from 0 to less than 1"
        case _:
            plain = isinstance(value, dict) and all(
                _VARIABLE.fullmatch(name) and isinstance(item, str) and "\0" not in item for name, item in value.items()
            )
            return None if plain else 'a table of text, as { NAME = "value" }'
