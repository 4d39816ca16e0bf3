"""What was seen on a page that has not changed since: looking at fifty pages takes minutes.

Only a look that found nothing wrong is kept. `FRESH=1`, or CI, looks at every page again.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axe_playwright_python.base import AXE_SCRIPT

from hooks import cache, results
from tests.anew import anew
from tests.site.pages import ROOT
from tests.site.survey import WIDTHS, Look

if TYPE_CHECKING:
    from tests.plugin_ahead import Run


# A look goes on beside the tests, and these change the folder of the cache, and what they ask of it.
_cached, READS = anew(cache).cached, results.reads()
CARD = re.compile(r'<a href="([^"]+)" class="program-read"')


class _MissingError(Exception):
    """Nothing is kept of a page."""


def read(path: str, looks: dict[str, Any]) -> dict[tuple[str, int], Look]:
    """Return what a page showed, from JSON, where every key is a text."""
    found = {}
    for width, seen in looks.items():
        widths = {int(key): value for key, value in seen["sticking_out"].items()}
        found[path, int(width)] = Look(**{**seen, "sticking_out": widths})
    return found


def clean(seen: Look) -> bool:
    """Tell whether a look found nothing wrong."""
    found = [seen.problems, seen.policy, seen.elsewhere, *seen.sticking_out.values(), *seen.axe.values()]
    return not any(found)


def keys(run: Run, executable: str, address: str, site: Path, paths: list[str]) -> dict[str, str]:
    """Return for each page a name of everything that decides what is seen on it."""
    version = run([executable, "--version"], seconds=60)
    assets = sorted(file for suffix in ("*.css", "*.js", "*.svg") for file in site.rglob(suffix))
    sources = [*(Path(__file__).with_name(name) for name in ("survey.py", "visit.py", "chromium.py")), *assets]
    shared = sha256("\0".join([version, AXE_SCRIPT, *(file.read_text("utf-8") for file in sources)]).encode())
    names = {}
    for path in paths:
        page = shared.copy()
        html = (site / path / "index.html").read_text("utf-8")
        page.update(html.replace(address, "/").encode())
        for card in CARD.findall(html):  # a look opens it, and it fetches its code
            page.update((site / path / f"{card}.txt").read_bytes())
        names[path] = page.hexdigest()[:32]
    return names


def kept(name: str) -> dict[str, Any]:
    """Return what was seen on a page under the name of everything that decides it.

    Raises:
        _MissingError: nothing is kept, or it is not to be used.
    """

    def make() -> str:
        raise _MissingError

    looks: dict[str, Any] = json.loads(_cached("looks", [name], make) if READS else make())
    return looks


def survey(run: Run, executable: str, address: str, paths: list[str]) -> dict[str, Any]:
    """Return what pages show, as JSON: of each path, of each width."""
    command = [sys.executable, "-m", "tests.site.survey"]
    looks: dict[str, Any] = json.loads(
        run(command, seconds=1800, text=json.dumps([executable, address, paths]), cwd=ROOT)
    )
    return looks


def look_at(run: Run, executable: str, address: str, site: Path, paths: list[str]) -> dict[tuple[str, int], Look]:
    """Return what each page shows at each width, from the cache where nothing has changed.

    Args:
        run: runs the process that looks.
        executable: the browser's path.
        address: of the home page.
        site: the built site.
        paths: of the pages, relative to the home page.
    """
    names = keys(run, executable, address, site, paths)
    found: dict[tuple[str, int], Look] = {}
    for path, name in names.items():
        with suppress(_MissingError):
            found |= read(path, kept(name))
    missing = [path for path in paths if (path, WIDTHS[0]) not in found]
    for path, looks in survey(run, executable, address, missing).items() if missing else ():
        new = read(path, looks)
        found |= new
        if all(clean(seen) for seen in new.values()):
            _cached("looks", [names[path]], partial(json.dumps, looks))
    return found
