"""Check that the licence of every locked package is one that the policy allows."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from importlib.metadata import distributions
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from email.message import Message
    from pathlib import Path

_PART = re.compile(r"\s*(\(|\)|AND\b|OR\b|WITH\b|[\w.+-]+)")


@dataclass(frozen=True)
class Policy:
    """What `policy.toml` says; see its comments."""

    allowed: frozenset[str]
    synonyms: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    exceptions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path) -> Policy:
        """Read a policy."""
        data = tomllib.loads(file.read_text("utf8"))
        return cls(frozenset(data["allowed"]), data["synonyms"], data["read"], data["exceptions"])


def normal(name: str) -> str:
    """Return a package's name as https://peps.python.org/pep-0503/ compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: Path) -> list[str]:
    """Return the names of the packages of a `uv.lock` that come from a registry."""
    packages = tomllib.loads(lock.read_text("utf8"))["package"]
    return sorted({normal(entry["name"]) for entry in packages if "registry" in entry.get("source", {})})


def installed() -> dict[str, str]:
    """Return for each installed package what its metadata says of its licence, "" where it says nothing."""
    return {normal(one.metadata["Name"]): _stated(one.metadata) for one in distributions()}  # type: ignore[arg-type]


def npm(lock: Path) -> dict[str, str]:
    """Return for each package of a `package-lock.json` the licence that it states, "" where it states none."""
    found = {}
    for path, entry in json.loads(lock.read_text("utf8"))["packages"].items():
        if path:
            said: Any = entry.get("license", "")
            found[path.rpartition("node_modules/")[2]] = said if isinstance(said, str) else said.get("type", "")
    return found


def accepts(expression: str, allowed: Iterable[str]) -> bool:
    """Tell whether an SPDX expression can be met with allowed licences alone.

    Args:
        expression: such as `MIT AND (Apache-2.0 OR GPL-2.0-only)`; OR binds less than AND.
        allowed: identifiers.

    Raises:
        ValueError: it is no expression.
    """
    parts = _PART.findall(expression)
    if "".join(parts) != re.sub(r"\s+", "", expression):
        raise ValueError(expression)
    known = set(allowed)

    def either() -> bool:
        value = both()
        while parts and parts[0] == "OR":
            parts.pop(0)
            value = both() or value
        return value

    def both() -> bool:
        value = one()
        while parts and parts[0] == "AND":
            parts.pop(0)
            value = one() and value
        return value

    def one() -> bool:
        if not parts:
            raise ValueError(expression)
        name = parts.pop(0)
        if name == "(":
            value = either()
            if not parts or parts.pop(0) != ")":
                raise ValueError(expression)
            return value
        if parts[:1] == ["WITH"]:  # an exception to a licence only adds rights
            del parts[:2]
        return name in known

    value = either()
    if parts:
        raise ValueError(expression)
    return value


def problems(stated: Mapping[str, str], names: Iterable[str], policy: Policy, *, source: str) -> list[str]:
    """Return a line for each package whose licence is unknown or not allowed.

    Args:
        stated: what each package says of its licence.
        names: the packages to look at.
        policy: what is allowed.
        source: the file that locks them, for messages.
    """
    found = []
    for name in names:
        excepted = policy.exceptions.get(name)
        licence, read = stated.get(name), policy.read.get(name, {})
        if read and (licence or "") == read.get("states", ""):
            licence = read["licence"]
        if licence is None:
            found.append(f"{source}: {name} is not installed, so its licence is unknown: read it and add it to `read`")
        elif not licence:
            found.append(f"{source}: {name} states no licence: read it in its sources and add it to `read`")
        elif excepted and licence == excepted["licence"]:
            continue
        else:
            found += _refused(name, _translated(licence, policy), policy, source)
    return found


def _refused(name: str, licence: str, policy: Policy, source: str) -> list[str]:
    try:
        return [] if accepts(licence, policy.allowed) else [f"{source}: {name} is under {licence}: not allowed"]
    except ValueError:
        return [f"{source}: {name} states the licence '{licence}', which is unknown: add it to `synonyms` or `read`"]


def _translated(licence: str, policy: Policy) -> str:
    return " AND ".join(policy.synonyms.get(part, part) for part in licence.split(" & "))


def _stated(metadata: Message) -> str:
    """Return the SPDX expression, else the classifiers, else the first line of the free text."""
    if expression := metadata.get("License-Expression"):
        return str(expression)
    named = [str(one).split(" :: ") for one in metadata.get_all("Classifier") or []]
    names = [parts[-1] for parts in named if parts[0] == "License" and parts[-1] != "OSI Approved"]
    return " & ".join(names) or str(metadata.get("License") or "").strip().split("\n")[0]
