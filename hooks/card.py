"""`/// program`: a whole program with the command that runs it, its download, its source and where it was verified.

The code itself lies beside the program in the site, and `cards.js` puts it into the card when a reader opens it: on a
page with several long programs it would be half of what a first visit loads. Without the script a link leads to it.
"""

from __future__ import annotations

import functools
import html
from importlib.metadata import version
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from pymdownx.highlight import HighlightExtension

from hooks import locks, programs, records, reference
from hooks.cache import cached
from hooks.markup import DEVICES, NAMES, GuideBlock, anchor, day, source, tag, words
from hooks.used import used

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown

# What would give the code of a card line numbers, links or a title: it is not an exhibit of the page.
PLAIN = {"linenums": False, "line_spans": "", "line_anchors": "", "anchor_linenums": False, "auto_title": False}

# A sentence that names more packages is not read.
MOST_NAMES = 5


class Card(GuideBlock):
    """`/// program | section/program.py`, without content."""

    NAME = "program"
    SHAPE = "/// program | section/program.py"
    TAG = "details"
    CLASS = "guide-program program"

    def build(self, block: Element, content: list[Element]) -> None:
        """Fill the card and note it."""
        program = reference.program_of(self.argument)
        known = used(self.md).programs
        if program.path in known:
            raise self.error(f"a second card of `{program.path}` on this page", "remove it")
        known.append(program.path)
        block.set("id", anchor("program", program.path))
        name, folder = program.file.name, program.path.rpartition("/")[0]
        parts = [
            tag(
                "summary",
                f"Whole program: {tag('code', html.escape(program.path))} "
                + tag("span", words(program.title), class_="program-title"),
            ),
            tag(
                "p",
                f"Run it: {tag('code', f'uv run {name}')} fetches what it imports; "
                f"{tag('code', f'python {name}')} runs it{where(program)}." + needs(program),
                class_="program-run",
            ),
            tag(
                "p",
                tag("a", f"Read {name}", href=f"/__root__/programs/{program.path}", class_="program-read")
                + " "
                + " ".join(
                    tag(
                        "a",
                        f"Download {file.name}",
                        href=f"/__root__/programs/{folder}/{file.name}",
                        download=file.name,
                    )
                    for file in (program.file, *program.companions)
                )
                + " "
                + tag("a", "Source in the repository", href=source(program.path)),
                class_="program-links",
            ),
            verified(program),
        ]
        used(self.md).codes[program.path] = highlight(self.md, program.source)
        block.text = self.stash("".join(parts))


def where(program: programs.Program) -> str:
    """Return where a program runs without uv: with the packages that it names; empty where it names none."""
    names = [tag("code", html.escape(Requirement(text).name)) for text in program.dependencies]
    if len(names) > MOST_NAMES:
        return " where the packages that its first lines name are installed"
    return f" where {_listed(names)} {'is' if len(names) == 1 else 'are'} installed" if names else ""


def needs(program: programs.Program) -> str:
    """Return the sentences on the files a program needs beside it, and on npm's packages; empty where it needs none."""
    names = [tag("code", html.escape(name)) for name in program.options.files]
    npm = f" Before it, {tag('code', 'npm ci --ignore-scripts')} fetches the packages that it takes from npm."
    packages = npm if "package-lock.json" in program.options.files else ""
    return (f" It needs {_listed(names)} beside it." if names else "") + packages


def _listed(names: list[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def verified(program: programs.Program) -> str:
    """Return the table that says on which devices the present source ran, when, where and with what."""
    rows = []
    for device, name in DEVICES.items():
        head = tag("th", name, scope="row")
        try:
            record = reference.record_of(program.path, device)
        except reference.Stale:
            command = tag("code", records.command(program.path, device))
            rows.append(tag("tr", head + tag("td", f"not yet verified: {command} makes the record", colspan="3")))
            continue
        versions = ", ".join(f"{NAMES.get(key, key)} {value}" for key, value in record.versions.items())
        when = tag("time", day(record), datetime=day(record))
        cells = (when, html.escape(versions), html.escape(str(record.hardware)))
        rows.append(tag("tr", head + "".join(tag("td", cell) for cell in cells)))
    rows += [under(program, lock) for lock in locks.names()]
    heads = "".join(tag("th", text, scope="col") for text in ("Verified on", "Date", "Versions", "Hardware"))
    table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", "".join(rows)), class_="guide-cells")
    return tag(
        "div",
        table,
        class_="guide-scroll",
        tabindex="0",
        role="region",
        aria_label=f"Where {program.path} was verified",
        data_search_exclude="",
    )


def under(program: programs.Program, lock: str) -> str:
    """Return the row of the table that says what the present source does under another lock."""
    state, found = locks.find(program, lock)
    if found is None or state != "current":
        command = tag("code", records.command(program.path, lock=lock))
        cells = tag("td", f"not yet verified: {command} does it", colspan="3")
    else:
        said = {"same": "does the same", "differs": "differs: ", "fails": "fails: "}[found.outcome]
        more = f" (and {len(found.said) - 1} more)" if len(found.said) > 1 else ""
        when = tag("td", tag("time", found.recorded, datetime=found.recorded))
        cells = when + tag("td", html.escape(said + "".join(found.said[:1]) + more), colspan="2")
    return tag("tr", tag("th", f"CPU, {locks.title(lock)}", scope="row") + cells)


def highlight(md: Markdown, text: str) -> str:
    """Return Python code as the site's own highlighter shows it."""
    site = next((e for e in md.registeredExtensions if isinstance(e, HighlightExtension)), None) or HighlightExtension()
    settings = {name: value for name, value in site.getConfigs().items() if name != "_enabled"} | PLAIN
    css_class = settings.pop("css_class")

    def make() -> str:
        return str(site.get_pymdownx_highlighter()(md, **settings).highlight(text, "python", css_class))

    return cached("cards", [_highlighter(), repr(sorted(settings.items())), css_class, text], make)


@functools.cache
def _highlighter() -> str:
    """Return what highlighting depends on besides the settings."""
    return f"pygments {version('pygments')} pymdown-extensions {version('pymdown-extensions')}"
