"""The whole site as one archive that works from a file, without a server: search, questions and drawings included.

It is made from the built site, whose pages stay as they are. A browser that has a page from a file opens no folder, and
fetches nothing; so links name `index.html`, the search index becomes a script, and modules become classic scripts.
"""

from __future__ import annotations

import html as htmllib
import json
import posixpath
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from mkdocs.plugins import event_priority

from hooks import classic, loud, moment, settings, widget
from hooks.aliases import INDEX
from hooks.archive import zipped
from hooks.cache import digests, remember
from hooks.csp import CHARSET
from hooks.links import readable
from hooks.selfcheck import slug

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig

# Also in the scripts with the questions, where HTML stands in a JSON text.
LINK = re.compile(
    r'(?P<before>\b(?:href|src|data-again|refresh" content)=(?P<quote>\\?")(?:0; url=)?)(?P<url>[^"\\]*)(?P=quote)'
)
POLICY = re.compile(
    rf'(?P<head><head>{re.escape(CHARSET)}<meta http-equiv="Content-Security-Policy" content=")'
    r'(?P<policy>[^"]*)(?P<end>">)'
)
MODULE = re.compile(
    rf'<script type="module" src="(?P<folder>[^"]*{re.escape(widget.FOLDER)}/){re.escape(widget.SHOWS)}">'
)
# For servers and crawlers alone.
LEFT_OUT = ("404.html", "sitemap.xml", "sitemap.xml.gz", INDEX)


def page(html: str, name: str, *, folders: set[str], away: Callable[[str], str]) -> str:
    """Return a page as it lies in the archive.

    Args:
        html: the page of the site.
        name: its path in the site.
        folders: the paths of the site that hold an `index.html`.
        away: the address on the web of a path that the archive does not have, else the empty string.
    """
    root = posixpath.relpath(".", posixpath.dirname(name)) + "/"
    html = links(html, name, folders=folders, away=away)
    html = MODULE.sub(r'<script defer src="\g<folder>classic.js">', html)
    # With instant navigation the theme waits for pages that it fetches.
    html = re.sub(r'"navigation\.instant", |(?:, )?"navigation\.instant"', "", html, count=1)

    def policy(found: re.Match[str]) -> str:
        # A file has no origin that would be `'self'` in every browser.
        allowed = found["policy"].replace("'self'", "'self' file:")
        return f'{found["head"]}{allowed}{found["end"]}<script src="{root}assets/offline.js"></script>'

    return POLICY.sub(policy, html, count=1)


def links(text: str, name: str, *, folders: set[str], away: Callable[[str], str]) -> str:
    """Return a page, or a script with pieces of one, whose links to folders name the page in them."""
    here = posixpath.dirname(name)

    def named(found: re.Match[str]) -> str:
        url = htmllib.unescape(found["url"])
        if not readable(url):
            return found[0]  # the check of all links, which comes later, names it with its place
        parts = urlsplit(url)
        if parts.scheme or parts.netloc or not parts.path:
            return found[0]
        path = posixpath.normpath(posixpath.join(here, parts.path))
        if address := away(path):
            url = address
        elif path in folders:
            url = urlunsplit(parts._replace(path=posixpath.join(parts.path, "index.html")))
        else:
            return found[0]
        return f"{found['before']}{htmllib.escape(url)}{found['quote']}"

    return LINK.sub(named, text)


def index(text: str) -> str:
    """Return the search index as a script that names pages as the archive does."""
    found = json.loads(text)
    for entry in found["docs"]:
        path, mark, anchor = entry["location"].partition("#")
        if not path or path.endswith("/"):
            entry["location"] = f"{path}index.html{mark}{anchor}"
    return f"var __index = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))}\n"


def files(site: Path, *, address: str, name: str, widgets: Path) -> dict[str, bytes]:
    """Return what the archive holds, by path and in order.

    Args:
        site: the folder of the built site.
        address: the site's address.
        name: the archive's own path in the site; links to it lead to the web.
        widgets: the folder of the modules as they were written, whose lines an error names.
    """
    found = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*")) if path.is_file()}
    found.pop(name, None)
    folders = {posixpath.dirname(path) or "." for path in found if posixpath.basename(path) == "index.html"}
    wanted = {path: file for path, file in found.items() if path not in LEFT_OUT}

    def away(path: str) -> str:
        return address + path if path == name or path in LEFT_OUT else ""

    out: dict[str, bytes] = {}
    for path, file in wanted.items():
        content = file.read_bytes()
        if path.endswith(".html"):
            content = page(content.decode(), path, folders=folders, away=away).encode()
        elif path.endswith(".js") and path.partition("/")[0] != "assets":
            content = links(content.decode(), path, folders=folders, away=away).encode()
        out[path] = content
    scripts = {path.name: path.read_text("utf-8") for path in modules(widgets)}
    if scripts:
        out[f"{widget.FOLDER}/classic.js"] = classic.script(scripts, f"docs/{widget.FOLDER}").encode()
    if INDEX in found:
        out[INDEX.replace(".json", ".js")] = index(found[INDEX].read_text("utf-8")).encode()
    return dict(sorted(out.items()))


def modules(folder: Path) -> list[Path]:
    """Return the modules of a folder, each after those that it imports: helpers, widgets, what shows them."""
    rank = {widget.HELPS: 0, widget.SHOWS: 2}
    return sorted(folder.glob("*.js"), key=lambda path: (rank.get(path.name, 1), path.name))


@event_priority(-50)
def on_post_build(config: MkDocsConfig) -> None:
    """Write the archive into the site, when everything else is as a reader will get it; a preview has none."""
    if loud.serving():
        return
    site, stem = Path(config.site_dir), slug(config.site_name)
    address = settings.address_of(config)
    widgets = Path(config.docs_dir) / widget.FOLDER
    when = moment.of_sources(settings.root_of(config))

    def make() -> str:
        found = files(site, address=address, name=f"{stem}.zip", widgets=widgets)
        return b64encode(zipped({f"{stem}/{path}": text for path, text in found.items()}, when)).decode()

    inputs = [address, stem, str(when), *digests(site.rglob("*"), site), "", *digests(widgets.glob("*.js"), widgets)]
    (site / f"{stem}.zip").write_bytes(b64decode(remember("archives", inputs, make)))
