"""What the build does to the HTML of a page and puts beside it: reasons under blocks, real links, programs."""

from __future__ import annotations

import html as htmllib
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from mkdocs.utils import get_relative_url

from hooks import errors, markup, programs, records
from hooks.errors import GuideError, line_of
from hooks.lean import lean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PLACEHOLDER = re.compile(
    r'(?P<attribute>href|src)="/__(?P<kind>root|source|repository|program)__/(?P<path>[^"#]*)(?P<anchor>#[^"]*)?"'
)
REASON = re.compile(r'<div\b[^>]*\bdata-why="(?P<why>[^"]*)"[^>]*>')
DIV = re.compile(r"<(/?)div\b")
TITLE_END = "</h1>"


def reasons(html: str) -> str:
    """Put the reason under every block that does not run, for the reader to see."""
    out, at = [], 0
    for opening in REASON.finditer(html):
        if opening.start() < at:
            continue
        depth, end = 0, len(html)
        for div in DIV.finditer(html, opening.start()):
            depth += -1 if div[1] else 1
            if depth == 0:
                end = html.index(">", div.end()) + 1
                break
        why = opening["why"].strip().rstrip(".")
        out += [html[at:end], f'\n<p class="guide-why">Not run here: {why}.</p>']
        at = end
    return "".join([*out, html[at:]])


def links(html: str, *, url: str, file: str, repository: Mapping[str, str], cards: Mapping[str, str]) -> str:
    """Replace the placeholders of `hooks.extension` by links that a browser can follow.

    Args:
        html: the page.
        url: its address under the site's root.
        file: its source, for messages.
        repository: `extra.repository` of mkdocs.yml.
        cards: for a program the address of the page that holds its card.

    Raises:
        GuideError: no page holds the card of a program that this page links to, or a file it links to is not there.
    """

    def real(match: re.Match[str]) -> str:
        path, anchor = htmllib.unescape(match["path"]), match["anchor"] or ""
        if match["kind"] == "source":
            if not (errors.ROOT / path).exists():
                cause = f"a link to {path}, which the repository does not have"
                raise GuideError(file, line_of(file, path), cause, "name a file or folder of it, from its root")
            target = source_url(repository, path) + anchor
        elif match["kind"] == "repository":
            target = repository_url(repository, path) + anchor
        elif match["kind"] == "root":
            target = get_relative_url(path, url) + anchor
        else:
            if path not in cards:
                cause = f"this page refers to {path}, but no page shows that program as a card"
                raise GuideError(
                    file, line_of(file, path), cause, f"add `/// program | {path}` to the page that explains it"
                )
            target = f"{get_relative_url(cards[path], url)}#{markup.anchor('program', path)}"
        return f'{match["attribute"]}="{htmllib.escape(target)}"'

    return PLACEHOLDER.sub(real, html)


def source_url(repository: Mapping[str, str], path: str) -> str:
    """Return the address of a file in the repository."""
    return repository_url(repository, f"blob/{repository['branch']}/{quote(path)}")


def repository_url(repository: Mapping[str, str], path: str) -> str:
    """Return the address of a page that the repository's site has for it, such as `issues`; of its home for none."""
    return f"https://github.com/{repository['name']}/{path}".rstrip("/")


def under_title(html: str, more: str) -> str:
    """Put more HTML under the title of a page."""
    before, title, after = html.partition(TITLE_END)
    return f"{before}{title}\n{more}{after}" if title else html


def copy_programs(site: Path, paths: Iterable[str], codes: Mapping[str, str]) -> None:
    """Copy programs into the site, where the cards offer them for download, and what lies beside them.

    That is the files it needs, its records for other programs, and its highlighted code, which `cards.js` puts into the
    card that a reader opens.

    Args:
        site: the built site.
        paths: of the programs.
        codes: the highlighted code of each program that has a card, by its path.
    """
    for program in map(programs.load, paths):
        target = site / "programs" / program.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(program.source, "utf8")
        if program.path in codes:
            target.with_name(f"{target.name}.txt").write_text(lean(codes[program.path]), "utf8")
        for file in program.companions:
            (target.parent / file.name).write_bytes(file.read_bytes())
        for device in markup.DEVICES:
            record = records.file_of(program, device)
            if record.is_file():
                (target.parent / record.name).write_bytes(record.read_bytes())
