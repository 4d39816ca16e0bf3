"""`/// figure`: a figure drawn from a record; `alt` says what a reader would see, the content is the caption."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, ClassVar

from hooks import place, plots, reference, value
from hooks.markup import GuideBlock, anchor, stamp, sub, tag
from hooks.plain import is_number
from hooks.table import text_of
from hooks.used import Use, used

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MOST_ROWS = 40
FEWEST_WORDS = 2


def alt_text(text: Any) -> str:
    """Return the alternative text of a figure: a sentence."""
    if not isinstance(text, str) or len(text.split()) < FEWEST_WORDS:
        raise ValueError("it must be a sentence that says what a reader would see")
    return " ".join(text.split())


class FigureBlock(GuideBlock):
    """`/// figure | section/program.py:name`, with `alt` and a caption as its content."""

    NAME = "figure"
    OPTIONS: ClassVar = {"alt": ("", alt_text)}
    SHAPE = "/// figure | section/program.py:name, with `alt: ...`, an empty line and a caption"
    TAG = "figure"
    CLASS = "guide-figure"
    CONTENT = True

    def build(self, block: Element, content: list[Element]) -> None:
        """Draw the figure, with its caption, its data and its stamp."""
        ref = reference.parse(self.argument)
        if not self.options["alt"]:
            raise self.error(f"the figure `{ref}` has no alternative text", "add `alt: ...`, what a reader would see")
        alt = value.expand(self.options["alt"])
        data, record = reference.entry(ref, "figures")
        known = used(self.md).figures
        ident = anchor("figure", ref.program, ref.name).replace("_", "-")
        if any(figure.id == ident for figure in known):
            raise self.error(f"a second figure `{ref}` on this page", "remove it")
        drawing = plots.svg(data, ident=ident, alt=alt, name=str(ref))
        known.append(Use.of(ref, place.current().file, ident, alt))
        block.set("id", ident)
        # Numbers along an axis mean nothing in a list of what search found; the caption does.
        scroll = sub(block, "div", class_="guide-scroll", data_search_exclude="")
        if "fig-wide" in drawing:
            scroll.attrib |= {"tabindex": "0", "role": "region", "aria-labelledby": f"{ident}-caption"}
        scroll.text = self.stash(drawing)
        caption = sub(block, "figcaption", id=f"{ident}-caption")
        caption.extend(content)
        foot = tag("p", f"Drawn from a run · {stamp(record)}", class_="guide-stamp", data_search_exclude="")
        sub(block, "div").text = self.stash(foot + numbers(data, str(ref)))


def numbers(data: dict[str, Any], name: str) -> str:
    """Return the data of a figure as tables in a `details` element, or nothing where a table would not help."""
    figures = data["panels"] if data["kind"] == "panels" else [data]
    tables = [table for n, figure in enumerate(figures, start=1) if (table := _table(figure, f"{name}, part {n}"))]
    if not tables:
        return ""
    return tag("details", tag("summary", "Data") + "".join(tables), class_="guide-data", data_search_exclude="")


def _table(data: dict[str, Any], name: str) -> str:
    """Return the data of one plot as a table that scrolls; nothing where it is long or no table."""
    columns, rows = _cells(data)
    if not rows or len(rows) > MOST_ROWS:
        return ""
    said = ": ".join(str(text) for text in (data.get("title"), _measured(data)) if text)
    title = tag("caption", tag("p", html.escape(said))) if said else ""
    head = "".join(tag("th", html.escape(str(column)), scope="col") for column in columns)
    body = "".join(
        tag("tr", tag("th", _place(row[0]), scope="row") + "".join(tag("td", text_of(cell)) for cell in row[1:]))
        for row in rows
    )
    table = tag("table", title + tag("thead", tag("tr", head)) + tag("tbody", body), class_="guide-cells")
    return tag("div", table, class_="guide-scroll", tabindex="0", role="region", aria_label=f"Data of {name}")


def _cells(data: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return the headings and rows of a plot's data; none for kinds that are no table."""
    match data["kind"]:
        case "lines":
            rows = zip(data["x"], *data["series"].values(), strict=True)
            return [data.get("xlabel") or "x", *data["series"]], [list(row) for row in rows]
        case "bars":
            rows = zip(data["categories"], *data["series"].values(), strict=True)
            return [_bar_labels(data)[0], *data["series"]], [list(row) for row in rows]
        case "matrix" | "grid":
            cells = data["values"] if data["kind"] == "matrix" else _words(data)
            named = zip(data["rows"], cells, strict=True)
            return [data.get("ylabel") or "row", *data["columns"]], [[name, *row] for name, row in named]
        case "timeline":
            spans = [
                [data["lanes"][s["lane"]], s.get("label", ""), s.get("group", ""), s["start"], s["end"]]
                for s in data["spans"]
            ]
            return ["lane", "label", "group", "start", "end"], spans
        case _:
            return [], []


def _measured(data: dict[str, Any]) -> str:
    """Return what the numbers of a table are, mostly a unit: the label of the axis that they stand along."""
    match data["kind"]:
        case "lines":
            return data.get("ylabel") or ""
        case "bars":
            return _bar_labels(data)[1]
        case "timeline":
            return data.get("xlabel") or ""
        case _:
            return ""


def _bar_labels(data: dict[str, Any]) -> tuple[str, str]:
    """Return what the names of bars are, and what their lengths are; whether they lie, their writer says."""
    below, beside = data.get("xlabel") or "", data.get("ylabel") or ""
    return (beside or "category", below) if data.get("horizontal") else (below or "category", beside)


def _place(value: Any) -> str:
    """Return the place of a row along the axis, as the axis shows it: a year has no comma."""
    return f"{value:.6g}" if is_number(value) and abs(value) < 1e4 else text_of(value)


def _words(data: dict[str, Any]) -> list[list[str]]:
    """Return what the cells of a grid say: the text, and the group unless the text says as much."""
    pairs = (zip(texts, groups, strict=True) for texts, groups in zip(data["text"], data["group"], strict=True))
    return [[t if t == g or not g else f"{t} ({g})" if t else g for t, g in row] for row in pairs]
