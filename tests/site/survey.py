"""One look at every page: each is opened once, and everything that can be seen there, at each width, is noted.

Opening a page costs more than looking at it, so the tests share what one look found. `python -m tests.site.survey`
looks in a process of its own: the one that runs the tests has a browser of its own, and other things to do.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import async_playwright

from tests.site.chromium import FLAGS
from tests.site.visit import DRAWN

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage, Page, Request, Response

WIDTHS = (390, 1440)
SCHEMES = ("light", "dark")
HEIGHT = 900
# 1280 pixels at 400 %: https://www.w3.org/WAI/WCAG22/Understanding/reflow
ZOOMED = 320
# Tabs side by side: the work is the browser's, and a small machine has two cores.
AT_ONCE = 2
# Milliseconds. Longer than a reader would wait: the machine may be doing something else.
PATIENCE = 120_000
# Off by default: https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md
TARGET_SIZE = {"target-size": {"enabled": True}}
COLOURS = ["color-contrast", "link-in-text-block"]

WATCH_POLICY = """
window.policyViolations = [];
addEventListener("securitypolicyviolation", (event) => {
  const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample } = event;
  policyViolations.push(`${effectiveDirective}: ${blockedURI} at ${sourceFile}:${lineNumber} ${sample}`);
});
"""
# What sticks out to the right, unless a box around it scrolls or clips it.
STICKING_OUT = """
() => {
  const clipped = (element) => {
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return true;
    return false;
  };
  const out = [...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.right > innerWidth + 1 && element.checkVisibility() && !clipped(element);
  });
  const wide = document.documentElement.scrollWidth - innerWidth;
  const found = out.slice(0, 3).map((element) => element.outerHTML.slice(0, 120));
  return wide > 0 ? [...found, `page is ${wide} px too wide`] : found;
}
"""
# Opens what is closed. Of the coloured words of code one of each kind stays: axe would measure every one again.
PREPARE = """
() => {
  for (const details of document.querySelectorAll("article details")) details.open = true;
  const kinds = new Set();
  for (const word of [...document.querySelectorAll("article pre > code span")].reverse()) {
    const { color, backgroundColor, fontWeight, fontSize, opacity } = getComputedStyle(word);
    const ground = getComputedStyle(word.closest("code")).backgroundColor;
    const kind = [word.className, color, backgroundColor, fontWeight, fontSize, opacity, ground].join();
    if (kinds.has(kind)) word.replaceWith(word.textContent);
    else kinds.add(kind);
  }
}
"""
# Marks one of each kind of text: its colour and its ground, in the light theme and in the dark one, size and weight.
# It leaves the page in the dark theme. Axe takes most of its time for the contrast of texts.
MARK_KINDS = """
() => {
  const texts = [...document.querySelectorAll("article *")].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));
  const ground = (element) => {
    for (let box = element; box; box = box.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(box);
      if (backgroundColor !== "rgba(0, 0, 0, 0)" || backgroundImage !== "none" || opacity !== "1")
        return [backgroundColor, backgroundImage, opacity].join();
    }
  };
  const look = (element) => {
    const { color, fill, fontSize, fontWeight, textDecorationLine } = getComputedStyle(element);
    return [element.localName, color, fill, fontSize, fontWeight, textDecorationLine, ground(element)].join();
  };
  const light = texts.map(look);
  document.body.setAttribute("data-md-color-scheme", "slate");
  const kinds = new Map(texts.map((element, at) => [light[at] + look(element), element]));
  for (const element of kinds.values()) element.dataset.kind = "";
}
"""
SET_SCHEME = """(scheme) => document.body.setAttribute("data-md-color-scheme", scheme)"""


@dataclass
class Look:
    """What one page showed at one width."""

    problems: list[str]
    elsewhere: list[str]
    requests: list[str]
    policy: list[str] = field(default_factory=list)
    sticking_out: dict[int, list[str]] = field(default_factory=dict)
    axe: dict[str, list[str]] = field(default_factory=dict)


async def axe_findings(page: Page, *, context: dict[str, Any] | None = None, **options: Any) -> list[str]:
    """Return what axe, which is in the page already, finds there: a line for each rule with its first elements."""
    found = await page.evaluate(
        "([context, options]) => axe.run(context ?? document, options).then((results) => results.violations)",
        [context, {"resultTypes": ["violations"], **options}],
    )
    return [
        f"{rule['id']} ({rule['impact']}), {len(rule['nodes'])} elements: "
        + "; ".join(f"{node['html'][:160]} [{node['failureSummary']}]" for node in rule["nodes"][:3])
        for rule in found
    ]


class Looker:
    """One tab that goes from page to page."""

    def __init__(self, page: Page, address: str) -> None:
        """Listen to a tab.

        Args:
            page: the tab.
            address: of the home page.
        """
        self.page, self.address = page, address
        self.requests: list[str] = []
        self.elsewhere: list[str] = []
        self.problems: list[str] = []
        self.awaited: set[Request] = set()
        page.on("request", self._request)
        page.on("response", self._response)
        page.on("requestfinished", self._finished)
        page.on("requestfailed", self._failed)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))

    def _request(self, sent: Request) -> None:
        self.awaited.add(sent)
        self.requests.append(sent.url.removeprefix(self.address))
        if not sent.url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(sent.url)

    def _finished(self, sent: Request) -> None:
        self.awaited.discard(sent)

    def _failed(self, sent: Request) -> None:
        self.awaited.discard(sent)
        self.problems.append(f"failed: {sent.url}: {sent.failure}")

    def _response(self, got: Response) -> None:
        if got.status >= HTTPStatus.BAD_REQUEST:
            self.problems.append(f"status {got.status}: {got.url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"console {message.type}: {message.text}")

    async def look(self, path: str) -> dict[int, Look]:
        """Open one page and note everything, at each width.

        What does not change with the theme is looked at in the light one. Of the colours of the text, which do not
        change with the width, one of each kind is looked at, at the small width; at the wide one the colours of what
        stands around the text.

        Args:
            path: of the page, relative to the home page.
        """
        page, narrow, wide = self.page, *WIDTHS
        self.requests, self.elsewhere, self.problems = [], [], []
        found = {width: Look(self.problems, self.elsewhere, self.requests) for width in WIDTHS}
        await self._wide(narrow)
        await page.goto(self.address + path, wait_until="load")
        await page.wait_for_load_state("networkidle")
        for width in (narrow, ZOOMED, wide):
            await self._wide(width)
            found[max(width, narrow)].sticking_out[width] = await page.evaluate(STICKING_OUT)
        await page.evaluate(PREPARE)
        await self._wide(narrow)
        await self._whole()
        await page.evaluate(AXE_SCRIPT)
        kinds, around = {"include": [["[data-kind]"]]}, {"exclude": [["article"]]}
        await page.evaluate(MARK_KINDS)
        found[narrow].axe["dark"] = await self._colours(kinds)
        await page.evaluate(SET_SCHEME, "default")
        found[narrow].axe["light"] = [*await self._colours(kinds), *await self._rest()]
        await self._wide(wide)
        found[wide].axe["light"] = [*await self._colours(around), *await self._rest()]
        await page.evaluate(SET_SCHEME, "slate")
        found[wide].axe["dark"] = await self._colours(around)
        policy = await page.evaluate("() => window.policyViolations")
        for seen in found.values():
            seen.policy = policy
        return found

    async def _colours(self, context: dict[str, Any]) -> list[str]:
        return await axe_findings(self.page, context=context, runOnly=COLOURS)

    async def _rest(self) -> list[str]:
        others = {rule: {"enabled": False} for rule in COLOURS}
        return await axe_findings(self.page, rules={**TARGET_SIZE, **others})

    async def _whole(self) -> None:
        """Wait for the answers to what was asked, such as the code of the cards, and until they are drawn.

        A page that is left while it waits for one gives it up, and the next page would be blamed.

        Raises:
            TimeoutError: an answer does not come.
        """
        async with asyncio.timeout(PATIENCE / 1000):
            while self.awaited:
                await asyncio.sleep(0.05)
        await self._drawn()

    async def _drawn(self) -> None:
        # Two frames: the site's script answers a change of the width in the next one.
        await self.page.evaluate(DRAWN)

    async def _wide(self, width: int) -> None:
        await self.page.set_viewport_size({"width": width, "height": HEIGHT})
        await self._drawn()


async def survey(executable: str, address: str, paths: list[str]) -> dict[str, dict[int, Look]]:
    """Return what every page showed at every width.

    Args:
        executable: the browser's path.
        address: of the home page.
        paths: of the pages, relative to it.
    """
    found: dict[str, dict[int, Look]] = {}
    waiting, parent = list(paths), os.getppid()

    async def watch() -> None:
        while os.getppid() == parent:
            await asyncio.sleep(0.5)
        sys.exit("nobody waits for it: the process that started it was killed")

    looking = asyncio.current_task()
    assert looking is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, looking.cancel)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=FLAGS)

        async def work() -> None:
            context = await browser.new_context(color_scheme="light", reduced_motion="reduce")
            context.set_default_timeout(PATIENCE)
            await context.add_init_script(WATCH_POLICY)
            looker = Looker(await context.new_page(), address)
            while waiting:
                path = waiting.pop()
                found[path] = await looker.look(path)

        watching = asyncio.create_task(watch())
        try:
            await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        finally:
            watching.cancel()
            await browser.close()  # it removes the folders of its profile
    return found


def main() -> None:
    """Read the browser's path, the address and the pages as JSON, and write what they show."""
    try:
        found = asyncio.run(survey(*json.load(sys.stdin)))
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)
    json.dump(
        {path: {width: asdict(seen) for width, seen in looks.items()} for path, looks in found.items()}, sys.stdout
    )


if __name__ == "__main__":
    main()
