"""Read programs: complete files under `snippets/` with inline metadata, sections and claims.

A program is checked when it is read, without running it. Every mistake is a `GuideError` with file and line.
The metadata block is that of PEP 723 (https://peps.python.org/pep-0723/), the sections are those of pymdownx.snippets
(https://facelessuser.github.io/pymdown-extensions/extensions/snippets/#snippet-sections).
"""

from __future__ import annotations

import ast
import functools
import os
import re
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from hooks import active, digest, sections
from hooks.cache import remember
from hooks.errors import ROOT, GuideError, line_in, near
from hooks.metadata import Options, metadata, pythons
from hooks.sections import Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SNIPPETS = ROOT / "snippets"
PATH = re.compile(r"[a-z0-9_]+(?:/[a-z0-9_]+)+\.py")
FOREIGN = {"hooks", "tests", "snippets"}
# Nanoseconds after which a file's time of change tells whether it changed since.
SETTLED = 2 * 10**9


@dataclass(frozen=True)
class Program:
    """A program as read from disk. `path` is relative to `snippets/`, with forward slashes.

    `sha256` is that of its source; where it needs files beside it, of these too. `imports` are the first words of the
    modules that it imports, with the line of each.
    """

    path: str
    file: Path
    source: str
    sha256: str
    title: str
    sections: Mapping[str, Section] = field(hash=False)
    imports: Mapping[str, int] = field(hash=False)
    options: Options
    dependencies: tuple[str, ...]

    @property
    def companions(self) -> list[Path]:
        """Return the files beside it that it needs to run."""
        return [self.file.with_name(name) for name in self.options.files]


def load(path: str, *, root: Path | None = None) -> Program:
    """Read and check one program.

    Args:
        path: the program relative to `snippets/`, for example `strategies/mirrored.py`.
        root: the folder to use instead of `snippets/`.

    Raises:
        GuideError: there is no such program, or it breaks a rule of CONTRIBUTING.md.
    """
    root = root or SNIPPETS
    pure = PurePosixPath(path)
    file = root / pure
    if not PATH.fullmatch(path):
        cure = "write it as 'section/name.py', in small letters, digits and '_'"
        raise GuideError(file, 0, f"'{path}' is not a path of a program", cure)
    try:
        stamp = file.stat()
        # A file that changed just now may change again within the clock's grain, so it is read.
        if time.time_ns() - stamp.st_mtime_ns > SETTLED:
            program = _kept(pure.as_posix(), file, stamp.st_mtime_ns, stamp.st_size)
        else:
            program = _parse(pure.as_posix(), file, file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        cure = f"write it, or correct the path ({near(path, paths(root=root))})"
        raise GuideError(file, 0, f"there is no program '{path}'", cure) from None
    except (OSError, UnicodeDecodeError) as error:
        raise GuideError(file, 0, f"the program cannot be read ({error})", "make it a readable file in UTF-8") from None
    _check_beside(program)
    return _with_companions(program) if program.options.files else program


def all_programs(*, root: Path | None = None) -> list[Program]:
    """Read every program under `snippets/`, sorted by path.

    Raises:
        GuideError: the first program that breaks a rule.
    """
    return [load(path, root=root) for path in paths(root=root)]


def needing(path: str, *, root: Path | None = None) -> list[Program]:
    """Return the programs that name the file `path` among the files they need beside them, sorted by path."""
    file = (root or SNIPPETS) / path
    return [program for program in all_programs(root=root) if file in program.companions]


def paths(*, root: Path | None = None) -> list[str]:
    """Return the paths of all programs, sorted; their files are not read."""
    return [path for path in files(root=root) if path.endswith(".py")]


def files(*, root: Path | None = None) -> list[str]:
    """Return the paths of all files under `snippets/`, sorted, without what tools leave there."""
    root = root or SNIPPETS
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__", "node_modules"))]
        here = Path(folder).relative_to(root).as_posix()
        found += [f"{here}/{name}".removeprefix("./") for name in names if not passing(name)]
    return sorted(found)


def passing(name: str) -> bool:
    """Tell whether a file of this name is no source: what an editor keeps beside one while it is open, or after."""
    return name.startswith(".") or name.endswith("~")


def _check_beside(program: Program) -> None:
    """Raise unless the files that `program` imports are among those that its card offers and its hash covers."""
    for name, line in program.imports.items():
        beside = program.file.with_name(f"{name}.py")
        if beside.name not in program.options.files and beside.is_file():
            cause = f"the program imports '{beside.name}', which lies beside it, but does not name it"
            raise GuideError(program.file, line, cause, f'write files = ["{beside.name}"] in [tool.guide]')


def _with_companions(program: Program) -> Program:
    """Return `program` with a hash that also covers the files it needs beside it, which the notebook writes as text."""
    for file in program.companions:
        if unfit := _unfit(file):
            cause = f"[tool.guide] names '{file.name}' in files, but {unfit[0]}"
            raise GuideError(program.file, line_in(program.source, file.name, "# files"), cause, unfit[1])
        if wrong := active.wrong(file, program.file.parent):
            raise wrong
    return replace(program, sha256=digest.of(program.source, program.companions))


def _unfit(file: Path) -> tuple[str, str] | None:
    """Return why no program can have a file of this kind beside it, and what to do; None where one can."""
    if active.is_page(file.name):
        return active.PAGE, "let the program make it"
    try:
        file.read_text("utf-8")
    except OSError:
        return "there is no such file beside the program", "add the file, or remove its name"
    except UnicodeDecodeError:
        return "this is no text in UTF-8", "save it in UTF-8, or let the program make it"
    return None


@functools.lru_cache(maxsize=4096)
def _kept(path: str, file: Path, _changed: int, _size: int) -> Program:
    """Read a program again only when its file changed: a build asks for the same ones hundreds of times."""
    source = file.read_text(encoding="utf-8")
    return _made(path, file, source, remember("programs", [path, source, pythons()], lambda: _said(file, source)))


@functools.lru_cache(maxsize=1024)
def _parse(path: str, file: Path, source: str) -> Program:
    """Check `source`; cached by the source itself, so that no edit is missed."""
    return _made(path, file, source, _said(file, source))


def _made(path: str, file: Path, source: str, said: Mapping[str, Any]) -> Program:
    return Program(
        path=path,
        file=file,
        source=source,
        sha256=digest.of(source, ()),
        title=said["title"],
        sections={name: Section(**section) for name, section in said["sections"].items()},
        imports=said["imports"],
        options=Options(**said["options"]),
        dependencies=tuple(said["dependencies"]),
    )


def _said(file: Path, source: str) -> dict[str, Any]:
    """Return what a program's text says, checked, in values that JSON holds."""
    options, dependencies = metadata(file, source)
    try:
        tree = ast.parse(source, filename=str(file))
        compile(tree, str(file), "exec", dont_inherit=True)  # names may clash, and `needs` looks them up
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 0) or 0
        raise GuideError(file, line, f"the program is not Python: {error}", "correct the syntax") from None
    docstring = ast.get_docstring(tree)
    if not docstring or not docstring.strip():
        raise GuideError(file, 1, "the program has no docstring", "say what it shows in one line at its top")
    imports = _imports(file, tree)
    statements = list(_statements(tree.body))
    if not any(_assigns(statement, "claims") for statement in statements):
        cure = 'end it with claims = {"what_it_shows": ...}'
        raise GuideError(file, len(source.splitlines()), "the program never assigns `claims` at its top level", cure)
    parts = sections.find(file, source, {statement.lineno for statement in statements})
    return {
        "title": docstring.strip().splitlines()[0].strip(),
        "sections": {name: asdict(section) for name, section in parts.items()},
        "imports": imports,
        "options": asdict(options),
        "dependencies": dependencies,
    }


def _imports(file: Path, tree: ast.Module) -> dict[str, int]:
    """Return the first word of each module that is imported, with the line."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        else:
            continue
        for name in names:
            word = name.partition(".")[0]
            if not word or word in FOREIGN:
                cure = "copy what it needs into it, or into a file beside it that it names in files"
                raise GuideError(file, node.lineno, f"the program imports '{name}' of this project", cure)
            found.setdefault(word, node.lineno)
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield every statement that runs in the module's own frame, also those inside `if`, `with`, `for` and `try`."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, []))
        for part in ("handlers", "cases"):
            for branch in getattr(statement, part, []):
                yield from _statements(branch.body)


def _assigns(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        return False
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)
