"""Check licences and declared dependencies: `make audit`, which also asks for known vulnerabilities."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from hooks.errors import ROOT
from tests.audit import dependencies, licences, programs

POLICY = Path(__file__).with_name("policy.toml")
NPM = ("snippets/deployment", "tests/lighthouse", "tests/workflows")


def main() -> int:
    """Print what is wrong, a line each, and return 1; else say how much was looked at."""
    policy = licences.Policy.load(POLICY)
    names = licences.locked(ROOT / "uv.lock")
    found = licences.problems(licences.installed(), names, policy, source="uv.lock")
    count = len(names)
    for folder in NPM:
        stated = licences.npm(ROOT / folder / "package-lock.json")
        found += licences.problems(stated, stated, policy, source=f"{folder}/package-lock.json")
        count += len(stated)
    reasons = tomllib.loads(POLICY.read_text("utf8"))
    found += dependencies.problems(ROOT, reasons["not-imported"])
    found += programs.problems(reasons[programs.TABLE])
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{count} locked packages: every licence is known and allowed; every import is declared, every one used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
