"""Build the site, serve it and score pages with Lighthouse: `make lighthouse`, not part of a test run.

A score of performance is a time on this machine: run it where nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hooks import leave, node
from tests import child
from tests.number import positive
from tests.site import chromium
from tests.site.pages import PAGES, QUIZ_PAGE, ROOT
from tests.site.serve import address, reserved, serving

# The home page, a concept page, the self-check, a lab and the page with the demo.
ASKED = ["", QUIZ_PAGE, "self-check/", "labs/mirrored-scaling/", "deployment/tensorflow-js/"]
LEAST = {
    "desktop": {"performance": 100, "accessibility": 100, "best-practices": 100, "seo": 100},
    "mobile": {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100},
}


def main() -> int:
    """Print a line for each page and device; return 1 where a score is too low or the page moves while it loads."""
    parser = argparse.ArgumentParser(prog="make lighthouse", description=__doc__)
    parser.add_argument("--runs", type=positive, default=5, help="how often each page is scored; the median counts")
    parser.add_argument("pages", nargs="*", help="addresses relative to the home page, such as strategies/mirrored/")
    asked = parser.parse_args()
    pages = asked.pages or [page for page in ASKED if page in PAGES]
    failed = 0
    browser = chromium.wanted()
    # The browser may still write as it is killed.
    place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with reserved() as port, tempfile.TemporaryDirectory() as folder, place as temporary:
        env = {**os.environ, "SITE_URL": address(port), "CHROME_PATH": browser, "NO_MKDOCS_2_WARNING": "1"}
        build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder]
        subprocess.run(build, cwd=ROOT, env=env, check=True, timeout=600)
        with serving(Path(folder), port) as served:
            script = Path(__file__).with_name("score.mjs")
            command = [node.path(), str(script), served, str(asked.runs), *pages]
            limit = 120 * len(pages) * asked.runs
            # Node starts the browser apart from itself: killed alone, it would leave it, and its profile.
            with child.started(command, env={**env, "TMPDIR": temporary}, stdout=subprocess.PIPE) as scoring:
                scored, _ = scoring.process.communicate(timeout=limit)
            if scoring.process.returncode:
                raise subprocess.CalledProcessError(scoring.process.returncode, command)
    for line in scored.splitlines():
        found = json.loads(line)
        scores, shift = found["scores"], found["shift"]
        low = [name for name, least in LEAST[found["device"]].items() if scores[name] < least]
        # What rounds to 0 in Lighthouse's own report.
        moved = [f"layout shift {shift:.4f}"] if shift >= 0.0005 else []
        failed += bool(low or moved)
        said = ", ".join(f"{name} {scores[name]}" for name in LEAST["desktop"])
        why = f"  too low: {', '.join([*low, *moved])} ({', '.join(found['lost'])})" if low or moved else ""
        print(f"{found['page'] or 'home':26} {found['device']:8} {said}{why}")
    return int(failed > 0)


if __name__ == "__main__":
    leave.run(main)
