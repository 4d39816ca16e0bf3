"""Make the pictures that are made from the site and its drawings: README's screenshot and the icon for phones.

Run it as `python -m tests.site.screenshot`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from hooks import busy, leave
from tests.site import builds, chromium
from tests.site.pages import DOCS, QUIZ_PAGE, ROOT
from tests.site.serve import address, reserved, serving
from tests.site.visit import visit

SCREENSHOT = DOCS / "assets" / "screenshot.png"
ICON = DOCS / "assets" / "favicon.png"
LIMIT = 200_000


def screenshot(browser: Browser, home: str, file: Path) -> None:
    """Take the page about MirroredStrategy as a reader with a wide window and a light theme sees it."""
    page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce")
    visit(page, home + QUIZ_PAGE)
    page.screenshot(path=file)
    page.close()


def icon(browser: Browser, file: Path) -> None:
    """Draw the site's icon at the size that phones ask for."""
    page = browser.new_page(viewport={"width": 180, "height": 180})
    svg = (DOCS / "assets" / "favicon.svg").read_text("utf-8")
    page.set_content(f"<style>body{{margin:0}}svg{{display:block;width:180px}}</style>{svg}")
    page.screenshot(path=file, omit_background=True)
    page.close()


def shrink(file: Path, colours: int) -> None:
    """Keep as many colours as the picture needs: a page of text has few."""
    with Image.open(file) as picture:
        mode = "RGBA" if picture.has_transparency_data else "RGB"
        method = Image.Quantize.FASTOCTREE if mode == "RGBA" else Image.Quantize.MEDIANCUT
        few = picture.convert(mode).quantize(colours, method=method, dither=Image.Dither.NONE)
    few.save(file, optimize=True)


def main() -> int:
    """Build the site, take the pictures and check their size."""
    executable = chromium.wanted()
    with reserved() as port, TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
        environment = {**os.environ, "SITE_URL": address(port), "NO_MKDOCS_2_WARNING": "1"}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=busy.stretched(builds.SECONDS))
        browser = playwright.chromium.launch(executable_path=executable, args=chromium.FLAGS)
        with serving(Path(folder), port) as home:
            screenshot(browser, home, SCREENSHOT)
        icon(browser, ICON)
        browser.close()
    shrink(SCREENSHOT, 128)
    shrink(ICON, 64)
    for file in (SCREENSHOT, ICON):
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")
    if SCREENSHOT.stat().st_size <= LIMIT:
        return 0
    print(f"the screenshot has more than {LIMIT:,} bytes: show less, or take fewer colours", file=sys.stderr)
    return 1


if __name__ == "__main__":
    leave.run(main)
