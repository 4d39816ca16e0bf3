"""Drive the Firefox of the system over WebDriver BiDi, which it speaks itself: no driver, no download.

Playwright brings a Firefox of its own, which no distribution packages, and asks Debian's for a command that it lacks
(`emulation.setMediaFeaturesOverride`). Source of the protocol: https://www.w3.org/TR/webdriver-bidi/
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
from websockets.sync.client import ClientConnection, connect

from hooks import busy, interpreter
from tests.site.survey import WATCH_POLICY
from tests.until import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("firefox-esr", "firefox")
HOW = (
    "no Firefox found. Fix: `sudo apt-get install firefox-esr` on Debian, `sudo apt-get install firefox` elsewhere, "
    "or set FIREFOX to the path of one"
)
TAB, ENTER = "\ue004", "\ue007"
# Nothing of its own goes to the network, Tab stops at links on every system, and nothing moves.
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.search.update": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
    "accessibility.tabfocus": 7,
    "ui.prefersReducedMotion": 1,
}
# What a fetch says that the reader's going on to another page has ended.
_LEFT = "NS_BINDING_ABORTED"
_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


def path() -> str:
    """Return the browser's path: what FIREFOX names, else the first known name on PATH.

    A test without it is skipped with the way to get one; in CI (`CI=true`) it fails.
    """
    named = os.environ.get("FIREFOX", "")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail(HOW, pytrace=False)
    pytest.skip(HOW)


class Firefox:
    """One tab of a running Firefox; `problems` lists what went wrong on the pages it showed."""

    def __init__(self, socket: ClientConnection, address: str) -> None:
        """Begin a session.

        Args:
            socket: where Firefox listens.
            address: of the home page; what is fetched elsewhere is a problem.
        """
        self._socket, self._address, self._sent = socket, address, 0
        self.problems: list[str] = []
        self.version: str = self._do("session.new", capabilities={})["capabilities"]["browserVersion"]
        self._do("session.subscribe", events=["log.entryAdded", "network.responseCompleted", "network.fetchError"])
        self._do("script.addPreloadScript", functionDeclaration=f"() => {{ {WATCH_POLICY} }}")
        self._tab: str = self._do("browsingContext.getTree")["contexts"][0]["context"]

    def fresh(self, width: int = 1440, height: int = 900) -> None:
        """Go on in a new tab: it has the focus of the window, which the one that Firefox starts with never gets.

        Args:
            width: of what is seen, in CSS pixels.
            height: of the same.
        """
        old, self._tab = self._tab, self._do("browsingContext.create", type="tab")["context"]
        self._do("browsingContext.close", context=old)
        self.size(width, height)
        self.problems.clear()

    def go(self, page: str) -> None:
        """Open a page, relative to the home page, and wait until its scripts have nothing left to do."""
        url = self._address + page
        self.run("() => { window.isLeft = true; }")  # the page that goes may have the same address
        self._do("browsingContext.navigate", context=self._tab, url=url, wait="complete")
        self.wait(f"() => !window.isLeft && location.href === {json.dumps(url)} && document.readyState === 'complete'")
        self.run("() => new Promise((done) => requestIdleCallback(() => setTimeout(done, 100)))")

    def size(self, width: int, height: int = 900) -> None:
        """Set the size of what is seen, in CSS pixels."""
        self._do("browsingContext.setViewport", context=self._tab, viewport={"width": width, "height": height})

    def run(self, function: str) -> Any:
        """Return what a JavaScript function returns, or what its promise becomes, as far as JSON can say it."""
        call = f"Promise.resolve(({function})()).then((value) => JSON.stringify(value ?? null))"
        said = self._do("script.evaluate", expression=call, target={"context": self._tab}, awaitPromise=True)
        if said["type"] == "exception":
            raise AssertionError(said["exceptionDetails"]["text"])
        return json.loads(said["result"]["value"])

    def wait(self, function: str, seconds: float = PATIENCE) -> Any:
        """Return what a function returns as soon as that is neither null nor false.

        Raises:
            AssertionError: it is null or false for too long.
        """
        return until(lambda: self.run(function), function, seconds=seconds)

    def press(self, keys: str) -> None:
        """Press and release each key; special ones are named at https://www.w3.org/TR/webdriver2/#keyboard-actions."""
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._do("input.performActions", context=self._tab, actions=[{"type": "key", "id": "keys", "actions": steps}])

    def click(self, selector: str) -> None:
        """Click the first element that a CSS selector matches."""
        self.run(f"() => document.querySelector({json.dumps(selector)}).scrollIntoView({{ block: 'center' }})")
        locator = {"type": "css", "value": selector}
        node = self._do("browsingContext.locateNodes", context=self._tab, locator=locator)["nodes"][0]
        origin = {"type": "element", "element": {"sharedId": node["sharedId"]}}
        steps = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "actions": steps}
        self._do("input.performActions", context=self._tab, actions=[mouse])

    def quit(self) -> None:
        """End Firefox."""
        self._do("browser.close")

    def _do(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; note the events that come before it."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            said = json.loads(self._socket.recv(timeout=busy.stretched(PATIENCE)))
            if said["type"] == "event":
                self._note(said["method"], said["params"])
            elif said.get("id") == self._sent:
                assert said["type"] == "success", f"{method}: {said.get('error')}: {said.get('message')}"
                return dict(said["result"])

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "log.entryAdded":
            if params["level"] in {"error", "warn"}:
                self.problems.append(f"console {params['level']}: {params['text']}")
            return
        url = params["request"]["url"]
        if url.startswith(("http:", "https:", "ws:", "wss:")) and not url.startswith(self._address):
            self.problems.append(f"fetched elsewhere: {url}")
        if method == "network.fetchError":
            if params["errorText"] != _LEFT:
                self.problems.append(f"failed: {url} {params['errorText']}")
        elif params["response"]["status"] >= HTTPStatus.BAD_REQUEST:
            self.problems.append(f"status {params['response']['status']}: {url}")


@contextmanager
def running(executable: str, folder: Path, address: str) -> Iterator[Firefox]:
    """Run Firefox inside the `with` block; it and its children are gone afterwards.

    Args:
        executable: its path.
        folder: for its profile and its log.
        address: of the home page.
    """
    profile, log = folder / "profile", folder / "firefox.log"
    profile.mkdir()
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("".join(lines), "utf-8")
    command = [*interpreter.command("family", "contained"), "inf"]  # no limit: it runs until it is ended
    command += [executable, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, "HOME": str(folder)}, start_new_session=True
        )
        try:
            where, limit = f"{_listening(process, log)}/session", busy.stretched(PATIENCE)
            with connect(where, max_size=None, proxy=None, open_timeout=limit, ping_interval=None) as socket:
                firefox = Firefox(socket, address)
                yield firefox
                firefox.quit()
        finally:
            for end in (lambda: None, process.terminate, process.kill):  # `contained` ends what it started
                end()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(busy.stretched(15))
                    break


def _listening(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the address at which Firefox listens: it chooses a free port and says so."""

    def said() -> str:
        return log.read_text("utf-8", errors="replace")

    until(lambda: _LISTENS.search(said()) or process.poll() is not None, "the address at which Firefox listens")
    found = _LISTENS.search(said())
    assert found, f"Firefox did not start: {said()[-2000:]}"
    return found[1]
