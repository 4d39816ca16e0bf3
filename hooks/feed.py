"""A feed of changes: for each day and kind of device, the programs that were run and the pages they stand on.

It is made from the records, so every clone makes the same feed, with or without history.
"""

from __future__ import annotations

import html
from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hooks.markup import DEVICES, NAMES, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hooks.records import Record

FILE = "feed.xml"
Runs = dict[tuple[str, str], list["Record"]]


def runs(records: Iterable[Record]) -> Runs:
    """Return the records by day and device, the last day first."""
    found: Runs = defaultdict(list)
    for record in records:
        found[record.recorded, record.device].append(record)
    return dict(sorted(found.items(), reverse=True))


def atom(found: Runs, *, name: str, site: str, pages: Mapping[str, list[tuple[str, str]]]) -> str:
    """Return the feed.

    Source: https://www.rfc-editor.org/rfc/rfc4287

    Args:
        found: the records by day and device; at least one.
        name: of the site.
        site: its address, with a slash at its end.
        pages: for each program address and title of the pages that show it.
    """
    parts = [
        f"<title>{html.escape(name)}: what was run</title>",
        f'<link href="{html.escape(site)}"/>',
        f'<link rel="self" href="{html.escape(site + FILE)}"/>',
        f"<id>{html.escape(site)}</id>",
        f"<updated>{next(iter(found))[0]}T00:00:00Z</updated>",
        f"<author><name>{html.escape(name)}</name></author>",
    ]
    parts += [_entry(day, device, records, site, pages) for (day, device), records in found.items()]
    body = "\n".join(parts)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n{body}\n</feed>\n'


def _entry(day: str, device: str, records: list[Record], site: str, pages: Mapping[str, list[tuple[str, str]]]) -> str:
    shown = sorted({page for record in records for page in pages.get(record.program, [])})
    versions = sorted(
        {(name, version) for record in records for name, version in record.versions.items() if name in NAMES}
    )
    count = f"{len(records)} program{'s' if len(records) > 1 else ''}"
    title = f"{count} run on {DEVICES.get(device, device)}"
    said = ", ".join(f"{NAMES[name]} {version}" for name, version in versions)
    listed = "".join(tag("li", tag("a", html.escape(name), href=site + url)) for url, name in shown)
    content = tag("p", f"Run with {html.escape(said)}. The pages:") + tag("ul", listed)
    parts = urlsplit(site)
    return (
        f"<entry><title>{html.escape(title)}</title>"
        f"<id>tag:{parts.hostname},{day}:{parts.path}{device}</id>"
        f'<link href="{html.escape(site)}how-this-is-verified/"/>'
        f"<updated>{day}T00:00:00Z</updated>"
        f'<content type="html">{html.escape(content)}</content></entry>'
    )
