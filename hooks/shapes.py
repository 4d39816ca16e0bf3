"""Check the plain data of figures and tables: the kind is known, its parts are there, lengths agree.

Drawing is the business of the figure module; this check is what a program and a record must pass.
"""

from __future__ import annotations

from typing import Any

from hooks.devices import TABLE
from hooks.plain import is_number

REQUIRED: dict[str, tuple[str, ...]] = {
    "lines": ("x", "series"),
    "bars": ("categories", "series"),
    "scatter": ("series",),
    "timeline": ("lanes", "spans"),
    "matrix": ("rows", "columns", "values"),
    "grid": ("rows", "columns", "text", "group"),
    "field": ("x", "y", "values"),
    "panels": ("panels",),
}

OPTIONAL: dict[str, tuple[str, ...]] = {
    "lines": ("markers", "xscale", "yscale"),
    "bars": ("horizontal", "stacked", "yscale"),
    "scatter": ("xscale", "yscale"),
    "matrix": ("text",),
    "field": ("levels", "paths", "points", "xscale", "yscale"),
    "panels": ("columns",),
}
EVERY = ("kind", "timing", "title")
AXES = ("xlabel", "ylabel")  # of every figure but one of panels, which have their own
FLAGS = ("horizontal", "markers", "stacked", "timing")


def wrong_figures(figures: Any) -> str:
    """Return what is wrong with the first wrong figure, as `figure 'name': ...`; `""` where all are right."""
    for name, figure in figures.items():
        why = _wrong_figure(figure)
        if why:
            return f"figure '{name}': {why}"
    return ""


def wrong_tables(tables: Any) -> str:
    """Return what is wrong with the first wrong table, as `table 'name': ...`; `""` where all are right."""
    for name, table in tables.items():
        why = _wrong_table(table)
        if why:
            return f"table '{name}': {why}"
    return ""


def _wrong_figure(figure: Any) -> str:
    if not isinstance(figure, dict):
        return "it is not a dict"
    kind = figure.get("kind")
    if not isinstance(kind, str) or kind not in REQUIRED:
        return f"its kind is {kind!r}, known are {', '.join(REQUIRED)}"
    for key in REQUIRED[kind]:
        if key not in figure:
            return f"a figure of kind '{kind}' needs '{key}'"
    known = [*REQUIRED[kind], *OPTIONAL.get(kind, ()), *EVERY, *(() if kind == "panels" else AXES)]
    for key in figure:
        if key in FLAGS and not isinstance(figure[key], bool):
            return f"'{key}' is {figure[key]!r}, it should be True or False"
        if key not in known:
            return f"nothing reads '{key}' in a figure of kind '{kind}', known are {', '.join(known)}"
    match kind:
        case "lines" | "bars":
            return _wrong_series(figure["series"], figure["x" if kind == "lines" else "categories"])
        case "scatter":
            return _wrong_points(figure["series"])
        case "timeline":
            return _wrong_spans(figure["spans"], figure["lanes"])
        case "matrix" | "grid":
            parts = [key for key in ("values", "text", "group") if key in figure]
            wrong = (_wrong_cells(key, figure[key], figure["rows"], figure["columns"]) for key in parts)
            return next((why for why in wrong if why), "")
        case "field":
            why = _wrong_cells("values", figure["values"], figure["y"], figure["x"])
            return why or _wrong_points(figure.get("points", {})) or _wrong_points(figure.get("paths", {}))
        case _:
            if not isinstance(figure["panels"], list) or not figure["panels"]:
                return "'panels' is not a list of figures"
            wrong = (f"panel {at}: {why}" for at, panel in enumerate(figure["panels"]) if (why := _wrong_figure(panel)))
            return next(wrong, "")


def _wrong_series(series: Any, axis: Any) -> str:
    if not isinstance(axis, list) or not isinstance(series, dict) or not series:
        return "it needs a list of places and a dict of series"
    for label, values in series.items():
        if not isinstance(values, list) or len(values) != len(axis):
            found = f"{len(values)} values" if isinstance(values, list) else "no list"
            return f"series '{label}' has {found} for {len(axis)} places"
    return ""


def _wrong_points(series: Any) -> str:
    if not isinstance(series, dict):
        return "its points are not a dict of label to {'x', 'y'}"
    for label, points in series.items():
        if not isinstance(points, dict) or "x" not in points or "y" not in points:
            return f"'{label}' lacks 'x' or 'y'"
        x, y = points["x"], points["y"]
        if isinstance(x, list) != isinstance(y, list) or (isinstance(x, list) and len(x) != len(y)):
            return f"'{label}' has not as many 'x' as 'y'"
    return ""


def _wrong_spans(spans: Any, lanes: Any) -> str:
    if not isinstance(spans, list) or not isinstance(lanes, list):
        return "'lanes' and 'spans' are not lists"
    for at, span in enumerate(spans):
        if not isinstance(span, dict) or not {"lane", "start", "end"} <= span.keys():
            return f"span {at} lacks 'lane', 'start' or 'end'"
        if not isinstance(span["lane"], int) or not 0 <= span["lane"] < len(lanes):
            return f"span {at} names lane {span['lane']!r} of {len(lanes)}"
        if not is_number(span["start"]) or not is_number(span["end"]):
            return f"span {at} starts or ends at what is no number"
        if not span["start"] <= span["end"]:
            return f"span {at} ends before it starts"
    return ""


def _wrong_cells(key: str, cells: Any, rows: Any, columns: Any) -> str:
    if not all(isinstance(part, list) for part in (cells, rows, columns)):
        return f"'{key}' or its rows or columns are not lists"
    if len(cells) != len(rows):
        return f"'{key}' has {len(cells)} rows for {len(rows)} names"
    for at, row in enumerate(cells):
        if not isinstance(row, list) or len(row) != len(columns):
            found = f"{len(row)} cells" if isinstance(row, list) else "no list"
            return f"row {at} of '{key}' has {found} for {len(columns)} columns"
    return ""


def _wrong_table(table: Any) -> str:
    if not isinstance(table, dict) or set(table) != {"columns", "rows"}:
        return "it is not a dict of 'columns' and 'rows'"
    columns, rows = table["columns"], table["rows"]
    if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
        return "'columns' is not a list of text"
    if not isinstance(rows, list):
        return "'rows' is not a list"
    for at, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns):
            found = f"{len(row)} cells" if isinstance(row, list) else "no list"
            return f"row {at} has {found} for {len(columns)} columns"
        for cell in row:
            if isinstance(cell, dict):
                if set(cell) - {"text", "note", "device"} or not all(isinstance(part, str) for part in cell.values()):
                    return f"row {at} has a cell that is not {{'text': ..., 'note': ..., 'device': ...}}"
                if cell.get("device", "cpu") not in TABLE:
                    return f"row {at} has a cell of the device '{cell['device']}', not one of {', '.join(TABLE)}"
            elif not isinstance(cell, (str, int, float, bool)):
                return f"row {at} has a cell of {type(cell).__name__}"
    return ""
