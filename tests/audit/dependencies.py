"""Compare what the project imports with what `pyproject.toml` declares: nothing missing, nothing unused."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING

from mkdocs.utils.yaml import yaml_load

from tests.audit.licences import normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FOLDERS = (".ci", "hooks", "tests", "snippets", "docs/labs")
# Groups of commands: their packages are called, not imported.
COMMANDS = ("bench", "check", "successors", "uv")


def imports(file: Path, *, at_once: bool = False, running: bool = False) -> dict[str, int]:
    """Return the names of the modules that a file imports, with the line of the first import of each.

    Args:
        file: a Python file.
        at_once: leave out what is imported when a function is called, or for type checkers alone.
        running: leave out what is imported for type checkers alone.
    """
    found: dict[str, int] = {}
    tree = ast.parse(file.read_text("utf8"))
    nodes: Iterable[ast.AST] = tree.body if at_once or running else ast.walk(tree)
    if running:
        called = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        nodes = [*tree.body, *(node for function in called for node in ast.walk(function))]
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            # `from google import protobuf` names a package only by both words.
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            found.setdefault(name, node.lineno)  # type: ignore[attr-defined]
    return found


def declared(pyproject: Path) -> dict[str, list[str]]:
    """Return the declared packages by group; `site` is what the site needs."""
    data = tomllib.loads(pyproject.read_text("utf8"))
    groups = {"site": data["project"]["dependencies"], **data["dependency-groups"]}
    return {group: [_name(one) for one in entries if isinstance(one, str)] for group, entries in groups.items()}


def named(root: Path) -> list[Path]:
    """Return the modules of the project that mkdocs.yml names, as hooks and as Markdown extensions."""
    with (root / "mkdocs.yml").open("rb") as file:
        config = yaml_load(file)
    extensions = [name for name in config.get("markdown_extensions", []) if str(name).startswith("hooks.")]
    return [root / name for name in [*config["hooks"], *(f"{name.replace('.', '/')}.py" for name in extensions)]]


def site_files(root: Path) -> set[Path]:
    """Return the modules of `hooks/` that a build of the site may load, found by following imports, late ones too.

    Everything they import must be there where only the site's packages are.
    """
    waiting, found = named(root), set()
    while waiting:
        file = waiting.pop()
        if file not in found and file.is_file():
            found.add(file)
            known = imports(file, running=True)
            waiting += [root / f"{name.replace('.', '/')}.py" for name in known if name.startswith("hooks.")]
    return found


def problems(root: Path, not_imported: Mapping[str, str]) -> list[str]:
    """Return a line for each import that nothing declares and each declared package that nothing imports.

    Args:
        root: the project.
        not_imported: declared packages that nothing imports, with the reason why they are needed.
    """
    groups = declared(root / "pyproject.toml")
    everywhere = {name for names in groups.values() for name in names}
    providers = {module: {normal(name) for name in names} for module, names in packages_distributions().items()}
    own = {"hooks", "tests", "docs"}
    used: set[str] = set()
    found = []
    files = [file for folder in FOLDERS for file in sorted((root / folder).rglob("*.py"))]
    for file in files:
        if "node_modules" in file.parts:
            continue
        beside = {one.stem for one in file.parent.glob("*.py")}
        for module, line in _first_of_each(imports(file)):
            by = providers.get(module, set())
            used |= by
            if module in sys.stdlib_module_names or module in own or module in beside or by & everywhere:
                continue
            name = " or ".join(sorted(by)) or "no installed package"
            found.append(f"{file.relative_to(root)}:{line}: imports {module} ({name}), which no group declares")
    for file in sorted(site_files(root)):
        for module, line in _first_of_each(imports(file, at_once=True)):
            by = providers.get(module, set())
            if by and not by & set(groups["site"]):
                name = " or ".join(sorted(by))
                found.append(f"{file.relative_to(root)}:{line}: imports {module} ({name}), which `dependencies` lacks")
    called = {name for group in COMMANDS for name in groups.get(group, [])}
    for name in sorted(everywhere - used - called - set(not_imported)):
        found.append(f"pyproject.toml: {name} is declared, but nothing imports it")
    for name in sorted(set(not_imported) - everywhere):
        found.append(f"tests/audit/policy.toml: {name} stands under `not-imported`, but it is not declared")
    return found


def _first_of_each(found: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    first: dict[str, int] = {}
    for name, line in found.items():
        first.setdefault(name.split(".")[0], line)
    return first.items()


def _name(requirement: str) -> str:
    from packaging.requirements import Requirement

    return normal(Requirement(requirement).name)
