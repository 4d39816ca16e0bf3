"""What was seen on a page that has not changed since: looking at fifty pages takes minutes.

Only a look that found nothing wrong is kept. `FRESH=1`, or CI, looks at every page again.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT

from hooks import atomic
from hooks.cache import FOLDER
from hooks.results import problems, reads
from tests.site.survey import WIDTHS, Look, survey

KEPT = FOLDER / "looks"


def clean(seen: Look) -> bool:
    """Tell whether a look found nothing wrong."""
    found = [seen.problems, seen.policy, seen.elsewhere, *seen.sticking_out.values(), *seen.axe.values()]
    return not any(found)


def keys(executable: str, address: str, site: Path, paths: list[str]) -> dict[str, str]:
    """Return for each page a name of everything that decides what is seen on it."""
    version = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    assets = sorted(file for suffix in ("*.css", "*.js", "*.svg") for file in site.rglob(suffix))
    sources = [Path(__file__).with_name("survey.py"), *assets]
    shared = sha256("\0".join([version, AXE_SCRIPT, *(file.read_text("utf-8") for file in sources)]).encode())
    names = {}
    for path in paths:
        page = shared.copy()
        page.update((site / path / "index.html").read_text("utf-8").replace(address, "/").encode())
        names[path] = page.hexdigest()[:32]
    return names


def look_at(executable: str, address: str, site: Path, paths: list[str]) -> dict[tuple[str, int], Look]:
    """Return what each page shows at each width, from the cache where nothing has changed.

    Args:
        executable: the browser's path.
        address: of the home page.
        site: the built site.
        paths: of the pages, relative to the home page.
    """
    names = keys(executable, address, site, paths)
    found: dict[tuple[str, int], Look] = {}
    for path, name in names.items():
        file = KEPT / f"{name}.json"
        if reads() and file.is_file():
            for width, seen in json.loads(file.read_text("utf-8")).items():
                widths = {int(key): value for key, value in seen.pop("sticking_out").items()}
                found[path, int(width)] = Look(**seen, sticking_out=widths)
    missing = [path for path in paths if (path, WIDTHS[0]) not in found]
    found |= survey(executable, address, missing) if missing else {}
    for path in missing:
        looks = {width: found[path, width] for width in WIDTHS}
        if all(clean(seen) for seen in looks.values()):
            text = json.dumps({width: asdict(seen) for width, seen in looks.items()})
            try:
                atomic.write(KEPT / f"{names[path]}.json", text)
            except OSError as error:
                problems.add(f"looks are not kept in {KEPT} ({error.strerror or error}): the next run looks again")
    return found
