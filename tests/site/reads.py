"""Tell which files of the project each page reads while it is rendered: `python -m tests.site.reads` prints JSON.

Nothing is kept in memory from one page to the next, so that each page shows what it reads on its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from mkdocs.structure.pages import Page

from hooks.errors import ROOT
from hooks.pages import Pages, paths

OUTSIDE = {".venv", ".cache", "__pycache__"}
_page = ""
_read: dict[str, set[str]] = defaultdict(set)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note a file that is opened; Python calls it.

    Source: https://docs.python.org/3/library/audit_events.html
    """
    if _page and event == "open" and isinstance(arguments[0], str):
        path = Path(os.path.normpath(Path.cwd() / arguments[0]))
        if path.is_relative_to(ROOT) and not OUTSIDE & set(path.parts):
            _read[_page].add(path.relative_to(ROOT).as_posix())


def _forget() -> None:
    """Empty what the modules of the hooks keep in memory."""
    for name, module in list(sys.modules.items()):
        if name.startswith("hooks."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def main() -> None:
    """Render every page and print what each has read."""
    render = Page.render

    def noted(page: Page, *values: Any) -> None:
        global _page  # noqa: PLW0603 - the hook cannot be handed anything
        _forget()
        _page = f"docs/{page.file.src_uri}"
        try:
            render(page, *values)
        finally:
            _page = ""

    Page.render = noted  # type: ignore[assignment,method-assign]
    sys.addaudithook(_hook)
    pages = Pages(ROOT)
    for path in paths(ROOT):
        if path.is_relative_to(ROOT / "docs"):
            pages.blocks(path)
    print(json.dumps({page: sorted(files) for page, files in _read.items()}))


if __name__ == "__main__":
    main()
