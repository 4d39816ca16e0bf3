"""Every link, anchor, image, id and resource of the built site, checked in the HTML that a browser will get.

MkDocs checks links while it renders and only warns; it sees neither the theme's links, nor raw HTML, nor ids of fences.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from hooks import tree
from hooks.cache import remember
from hooks.errors import GuideError, line_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Where a browser fetches from without being asked.
RESOURCES = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "image": ("href", "xlink:href"), "img": ("src", "srcset"),
    "input": ("src",), "object": ("data",), "script": ("src",), "source": ("src", "srcset"), "track": ("src",),
    "use": ("href", "xlink:href"), "video": ("src", "poster"), "body": ("background",),
}  # fmt: skip
FETCHED_LINKS = {
    "stylesheet", "icon", "shortcut", "apple-touch-icon", "manifest", "preload", "prefetch", "modulepreload",
    "preconnect", "dns-prefetch", "prerender", "mask-icon",
}  # fmt: skip
CSS_URL = re.compile(r"url\(\s*['\"]?(?P<url>[^'\")]+)['\"]?\s*\)|@import\s+['\"](?P<imported>[^'\"]+)['\"]")
LOCAL = ("", "http", "https")


@dataclass
class Held:
    """What one page holds: its ids, where it leads, what it fetches, and images without a text."""

    ids: dict[str, int] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    mute: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, html: str) -> Held:
        """Return what a page holds."""
        page = cls()
        for element in tree.read(html).walk():
            page.note(element.name, element.attributes)
            if element.name == "style":
                page.resources += _css_urls("".join(child for child in element.children if isinstance(child, str)))
        return page

    def note(self, tag: str, values: dict[str, str]) -> None:
        """Note what matters of an element."""
        names = {values[key] for key in ("id", "name") if values.get(key) and (key == "id" or tag == "a")}
        for name in names:
            self.ids[name] = self.ids.get(name, 0) + 1
        for attribute in RESOURCES.get(tag, ()):
            if values.get(attribute):
                self.resources += _sources(values[attribute], attribute)
        if tag == "link" and values.get("href"):
            fetched = FETCHED_LINKS & set(values.get("rel", "").lower().split())
            (self.resources if fetched else self.links).append(values["href"])
        if tag in ("a", "area") and values.get("href"):
            self.links.append(values["href"])
        if tag == "img" and (
            "alt" not in values or not (values["alt"].strip() or values.get("role") == "presentation")
        ):
            self.mute.append(values.get("src", ""))
        if (
            tag == "svg"
            and values.get("role") == "img"
            and not (values.get("aria-label") or values.get("aria-labelledby"))
        ):
            self.mute.append("an svg with role=img")
        self.resources += _css_urls(values.get("style", ""))


def check(site: Path, *, site_url: str, sources: Mapping[str, Path], root: Path) -> list[GuideError]:
    """Return an error for every link, anchor, image, id or resource of the built site that does not hold.

    Args:
        site: the folder of the built site.
        site_url: the address at which it is served.
        sources: for a page's path in the site (`a/index.html`) the file it was written in; errors name its line.
        root: the project, to shorten the paths of messages.
    """
    pages: dict[str, Held] = {}
    for file in sorted(site.rglob("*.html")):
        pages[file.relative_to(site).as_posix()] = held(file.read_text("utf8"))
    errors: list[GuideError] = []
    missed: dict[str, dict[str, GuideError]] = {}
    base = site_url.rstrip("/") + "/"
    files = {file.relative_to(site).as_posix() for file in site.rglob("*") if file.is_file()}
    for name, page in pages.items():
        place = _Place(sources.get(name), name, root)
        for ident, count in page.ids.items():
            if count > 1:
                errors.append(
                    place.error(ident, f"the id {ident!r} stands {count} times on the page", "rename all but one")
                )
        found: list[tuple[str, GuideError | None]] = [(src, _mute(src, place)) for src in page.mute]
        found += [(url, _resource(url, base + name, base, files, place)) for url in page.resources]
        found += [(url, _link(url, base + name, base, files=files, pages=pages, place=place)) for url in page.links]
        for url, wrong in found:
            if wrong:
                missed.setdefault(urljoin(base + name, url) if readable(url) else url, {})[str(wrong)] = wrong
    for file in sorted(site.rglob("*.css")):
        name = file.relative_to(site).as_posix()
        for url in _css_urls(file.read_text("utf8")):
            if error := _resource(url, base + name, base, files, _Place(None, name, root)):
                errors.append(error)
    for of_one in missed.values():
        # What stands on one page may be shown on others: those that have it in their source are to be corrected.
        every = [*of_one.values()]
        errors += [error for error in every if error.line] or every[:1]
    return errors


def readable(address: str) -> bool:
    """Tell whether an address can be taken apart, as all that look at addresses do."""
    try:
        urlsplit(address)
    except ValueError:
        return False
    return True


def held(html: str) -> Held:
    """Return what a page holds; kept until it changes."""
    return Held(**remember("links", [html], lambda: asdict(Held.of(html))))


@dataclass(frozen=True)
class _Place:
    """Where a page was written, to name the line of what is wrong on it."""

    source: Path | None
    name: str
    root: Path

    def error(self, needle: str, cause: str, cure: str) -> GuideError:
        if self.source is None:
            return GuideError(f"site/{self.name}", 0, cause, cure)
        file = self.source.relative_to(self.root) if self.source.is_relative_to(self.root) else self.source
        return GuideError(file, _line(self.source.read_text("utf8"), needle), cause, cure)


def _line(source: str, needle: str) -> int:
    """Return the line that holds a link as written, or its anchor, or the name of the page it leads to."""
    if not readable(needle):
        return line_in(source, needle)
    url = urlsplit(needle)
    name = url.path.rstrip("/").rpartition("/")[2]
    return line_in(source, needle, f"#{url.fragment}" if url.fragment else "", name)


def _mute(src: str, place: _Place) -> GuideError:
    return place.error(src, f"an image without a text: {src or '(no src)'}", "say what it shows in its alt text")


def _resource(url: str, here: str, base: str, files: set[str], place: _Place) -> GuideError | None:
    if url.startswith(("data:", "#")):
        return None
    if not readable(url):
        return place.error(url, f"the page fetches from an address that cannot be read: {url}", "correct the address")
    target = urljoin(here, url)
    if not target.startswith(base):
        return place.error(url, f"the page fetches from a third party: {url}", "serve the file from the site")
    if not _exists(target, base, files):
        return place.error(url, f"the page fetches what is not there: {url}", "add the file, or correct the path")
    return None


def _link(
    url: str, here: str, base: str, *, files: set[str], pages: Mapping[str, Held], place: _Place
) -> GuideError | None:
    if not readable(url):
        return place.error(url, f"a link that leads nowhere: {url}", "write an address")
    parts = urlsplit(url)
    if parts.scheme == "javascript":
        return place.error(url, "a link that is a script", "use a button, or link to a page")
    if parts.scheme not in LOCAL:
        return None
    target = urljoin(here, url)
    if not target.startswith(base):
        outside = bool(parts.netloc)
        return (
            None if outside else place.error(url, f"a link that leaves the site: {url}", "make it relative to the page")
        )
    name = _exists(target, base, files)
    if not name:
        return place.error(url, f"a dead link: {url}", "correct it, or write the page")
    anchor = unquote(parts.fragment)
    if anchor.startswith("fnref:") and name in pages and anchor not in pages[name].ids:
        footnote = f"[^{anchor.removeprefix('fnref:')}]"
        return place.error(f"{footnote}:", f"nothing refers to the footnote {footnote}", "refer to it, or remove it")
    if anchor and name in pages and anchor not in pages[name].ids and not anchor.startswith(":~:"):
        return place.error(url, f"a dead anchor: {url}", "link to an id that is there")
    return None


def _exists(target: str, base: str, files: set[str]) -> str:
    """Return the path in the site of what an address leads to; empty where there is nothing."""
    path = unquote(urlsplit(target[len(base) :] if target.startswith(base) else target).path)
    for name in (path, f"{path}index.html" if not path or path.endswith("/") else f"{path}/index.html"):
        if name in files:
            return name
    return ""


def _sources(value: str, attribute: str) -> list[str]:
    if attribute != "srcset" or value.startswith("data:"):
        return [value]
    return [part.split()[0] for part in value.split(",") if part.strip()]


def _css_urls(css: str) -> list[str]:
    return [found["url"] or found["imported"] for found in CSS_URL.finditer(css)]
