"""Compare what each program says it needs (`dependencies`, PEP 723) with what it imports, and with the lock.

A reader runs `uv run FILE` in an empty environment: what is not named is not there, or is there in another version.
"""

from __future__ import annotations

import importlib.metadata
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from hooks import programs, records
from hooks.errors import GuideError, line_of
from tests.audit.licences import normal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from hooks.programs import Program

POLICY = "tests/audit/policy.toml"
TABLE = "programs-not-imported"


def problems(reasons: Mapping[str, str], *, root: Path | None = None) -> list[str]:
    """Return a message for each dependency of a program that is missing, needless, or other than the lock's.

    Args:
        reasons: packages that programs name and do not import, with the reason.
        root: the folder to use instead of `snippets/`.
    """
    providers = {name: {normal(one) for one in by} for name, by in importlib.metadata.packages_distributions().items()}
    every: list[Program] = []
    found, needless = [], set()
    for path in programs.paths(root=root):
        try:
            every.append(programs.load(path, root=root))
        except GuideError as error:
            found.append(error)
    for program in every:
        beside = [one for one in every if one.file in program.companions]
        wanted = {text: Requirement(text) for text in program.dependencies}
        named = {normal(one.name) for one in wanted.values()}
        # What is imported may come with what is named; not TensorFlow and Keras, whose versions each record states.
        there = named | {name for one in wanted.values() for name in _brought_by(one) if name not in records.ALWAYS}
        used = set(records.ALWAYS)
        for one in [program, *beside]:
            for module, line in one.imports.items():
                by = providers.get(module, set())
                used |= by
                own = module in sys.stdlib_module_names or one.file.with_name(f"{module}.py").is_file()
                if not own and not by & there:
                    package = " or ".join(sorted(by)) or "that package"
                    where = "" if one is program else f" of {program.path}, which imports this file"
                    cause = f"it imports {module}, which `dependencies`{where} does not name"
                    found.append(GuideError(one.file, line, cause, f"name {package} there, as in uv.lock"))
        found += _not_as_locked(program, wanted)
        for text, requirement in wanted.items():
            name = normal(requirement.name)
            if name not in used:
                needless.add(name)
                if name not in reasons:
                    cure = f"remove it, or give the reason in {POLICY}, [{TABLE}]"
                    cause = f"`dependencies` names {name}, which the program does not import"
                    found.append(GuideError(program.file, line_of(program.file, text), cause, cure))
    for name in sorted(set(reasons) - needless):
        line = line_of(POLICY, f"[{TABLE}]")
        found.append(GuideError(POLICY, line, f"{name} needs no reason in [{TABLE}]", "remove its line"))
    return [str(one) for one in found]


def _not_as_locked(program: Program, wanted: Mapping[str, Requirement]) -> Iterator[GuideError]:
    locked = records.locked_versions()
    for text, requirement in wanted.items():
        version = locked.get(normal(requirement.name))
        if version is None:
            cause, cure = "uv.lock does not hold it", "name it in pyproject.toml and run uv lock, or remove it"
        elif not requirement.specifier.contains(version, prereleases=True):
            cause, cure = f"uv.lock holds {version}", "let it allow that version: records are made with it"
        else:
            continue
        yield GuideError(program.file, line_of(program.file, text), f"it asks for {text}, {cause}", cure)


def _brought_by(requirement: Requirement) -> set[str]:
    """Return the packages that a package requires itself, with the extras that are asked for."""
    with suppress(importlib.metadata.PackageNotFoundError):
        needs = [Requirement(text) for text in importlib.metadata.requires(requirement.name) or ()]
        extras = ("", *requirement.extras)
        return {
            normal(one.name)
            for one in needs
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
        }
    return set()
