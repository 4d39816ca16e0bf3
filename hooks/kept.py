"""The blocks of a page, kept under `.cache/blocks` from one test run to the next while nothing they come from changes.

They depend on the page, the programs, records and files that it names, the glossary, the data beside the pages, which
pages and programs there are, mkdocs.yml, the lock file and the modules that render. `FRESH=1`, `CI=true`: none.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from hooks import depends, glossary, programs, results
from hooks.blocks import Block
from hooks.cache import digests, remember

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def blocks(path: Path, root: Path, make: Callable[[], list[Block]]) -> list[Block]:
    """Return the blocks of a page.

    Args:
        path: the page.
        root: the project.
        make: renders the page; what it raises is not kept.
    """
    if not results.reads():
        return make()
    source = path.read_text("utf8")
    inputs = [_whole(root), path.relative_to(root).as_posix(), source, *digests(depends.files([source])[0])]
    return [Block(**block) for block in remember("blocks", inputs, lambda: [asdict(block) for block in make()])]


@lru_cache(maxsize=1)  # of one test run
def _whole(root: Path) -> str:
    """Return the digest of what every page depends on besides the modules and the lock file, which `remember` knows."""
    docs = root / "docs"
    shared = [root / "mkdocs.yml", root / glossary.PAGE, *docs.rglob("*.json")]
    names = [path.relative_to(root).as_posix() for path in docs.rglob("*")]
    return sha256("\0".join([*digests(shared, root), *sorted(names), *programs.files()]).encode()).hexdigest()
