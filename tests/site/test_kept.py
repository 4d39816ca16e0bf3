"""What is kept of a page is kept by everything that the page is made from."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from hooks import depends, kept, programs
from hooks.errors import ROOT


def test_a_page_reads_nothing_that_is_not_in_its_key() -> None:
    command = [sys.executable, "-m", "tests.site.reads"]
    env = {**os.environ, "FRESH": "1", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert len(read) > 50
    # The program of a page, its record, the glossary and the outcomes of other locks: something was seen at all.
    assert {"snippets/strategies/mirrored.py", "snippets/strategies/mirrored.cpu.json", "docs/glossary.md"} <= set(
        read["docs/strategies/mirrored.md"]
    )
    known = frozenset(programs.files())
    everywhere = {path.relative_to(ROOT).as_posix() for path in kept.shared(ROOT)}
    everywhere |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "hooks").rglob("*.py")} | {"uv.lock"}
    unknown = {}
    for page, files in read.items():
        own = depends.files((ROOT / page).read_text("utf8"), known)
        named = {path.relative_to(ROOT).as_posix() for path in own} | {page}
        if left := set(files) - named - everywhere:
            unknown[page] = sorted(left)
    assert unknown == {}
