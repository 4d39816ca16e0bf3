"""`/// survey`: a table from a file that a script of the project wrote beside the page; the content is its caption.

It is for what a record cannot hold: a run that needs a checkout of another project. The file names the versions it was
made with, and a build stops when they are no longer those of the lock file.
"""

from __future__ import annotations

import html
import json
import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks import place, records
from hooks.errors import ROOT
from hooks.markup import NAMES, GuideBlock, sub, tag, words
from hooks.reference import Missing, Stale

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def _is_row(value: Any) -> bool:
    """Tell whether a value is a list of cells: text, numbers, or text with its address."""
    return isinstance(value, list) and bool(value) and all(map(_is_cell, value))


def _is_cell(value: Any) -> bool:
    if isinstance(value, dict):
        return value.keys() == {"text", "href"} and all(isinstance(one, str) for one in value.values())
    return isinstance(value, (str, int, float))


_TEXT = ("text", lambda value: isinstance(value, str))
SCHEMA: records.Schema = {
    **dict.fromkeys(("made_by", "source", "commit", "made"), _TEXT),
    "versions": records.SCHEMA["versions"],
    "columns": ("a list of text", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value)),
    "rows": ("a list of rows of cells", lambda value: isinstance(value, list) and all(map(_is_row, value))),
}


def read(path: str, root: Path = ROOT) -> dict[str, Any]:
    """Return what a survey found.

    Args:
        path: the file, from the project.
        root: the project.

    Raises:
        Missing: there is no such file, or it is no survey.
        Stale: it was made with other versions than the locked ones.
    """
    file = root / path
    if not file.is_file():
        raise Missing(f"there is no file {path}", "run the script that writes it, or correct the name")
    try:
        data = json.loads(file.read_text("utf8"))
        wrong = records.wrong(data, SCHEMA, SCHEMA) if isinstance(data, dict) else "it is no table"
    except ValueError:
        data, wrong = {}, "it is no JSON in UTF-8"
    if wrong:
        raise Missing(f"{path} is no survey: {wrong}", "write it with its script, not by hand")
    if not records.is_day(data["made"]):
        raise Missing(f"{path} was made on {data['made']!r}, which is no day", "write it with its script, not by hand")
    locked = records.locked_versions()
    for name, version in data["versions"].items():
        if locked.get(name) != version:
            cause = f"{path} was made with {name} {version}, locked is {locked.get(name)}"
            raise Stale(cause, f"run `{data['made_by']}` again")
    return data


class Survey(GuideBlock):
    """`/// survey | file.json` with a caption as its content; the file lies beside the page."""

    NAME = "survey"
    SHAPE = "/// survey | file.json, then a caption"
    CLASS = "guide-table guide-survey"
    CONTENT = True

    def build(self, block: Element, content: list[Element]) -> None:
        """Draw the table with its caption and where it comes from."""
        if "/" in self.argument:
            cure = "move it there and name it alone"
            raise self.error(f"the survey `{self.argument}` does not lie beside the page", cure)
        path = posixpath.join(posixpath.dirname(place.current().file), self.argument)
        data = read(path)
        ident = f"survey-{Path(self.argument).stem}"
        block.set("id", ident)
        scroll = sub(
            block, "div", class_="guide-scroll", tabindex="0", role="region", aria_labelledby=f"{ident}-caption"
        )
        table = sub(scroll, "table", class_="guide-cells")
        caption = sub(table, "caption", id=f"{ident}-caption")
        caption.extend(content)
        caption.tail = self.stash(draw(data["columns"], data["rows"]))
        sub(block, "div").text = self.stash(tag("p", stamp(data), class_="guide-stamp"))


def draw(columns: list[str], rows: list[list[Any]]) -> str:
    """Return head and body of the table as HTML.

    Args:
        columns: the headings.
        rows: the cells: text with code in backticks, or `{"text": ..., "href": ...}`, where an address without a host
            is one of the site, from its root. The first of each row is the row's heading.
    """
    # A line for each cell: the search index takes the text as it stands.
    heads = "\n".join(tag("th", words(column), scope="col") for column in columns)
    body = ""
    for first, *rest in rows:
        cells = [tag("th", _cell(first), scope="row"), *(tag("td", _cell(cell)) for cell in rest)]
        body += tag("tr", "\n".join(cells)) + "\n"
    return tag("thead", tag("tr", heads)) + tag("tbody", body)


def stamp(data: dict[str, Any]) -> str:
    """Return what was run, with which versions and when, as HTML."""
    source = f"https://github.com/{data['source']}/tree/{data['commit']}"
    link = tag("a", html.escape(f"{data['source']} {data['commit'][:7]}"), href=source)
    versions = [f"{NAMES.get(name, name)} {version}" for name, version in data["versions"].items()]
    day = tag("time", html.escape(data["made"]), datetime=data["made"])
    return " · ".join([link, *(html.escape(version) for version in versions), day])


def _cell(cell: Any) -> str:
    if isinstance(cell, dict):
        address = cell["href"] if "://" in cell["href"] else f"/__root__/{cell['href']}"
        return tag("a", words(cell["text"]), href=address)
    return words(str(cell))
