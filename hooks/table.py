"""`/// table`: a table from a record; the content is its caption.

Truth is shown by a word and a mark, notes are numbered links to a list below the table: keyboard, touch and print
reach them. A cell of which the record says that it needs another device comes from that device's record, where there is
one. With `versions: true` a column for each other lock says of each row whether it is the same there
(`hooks.locks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pymdownx.blocks.block import type_boolean

from hooks import locks, place, records, reference
from hooks.errors import near
from hooks.markup import GuideBlock, anchor, stamp, sub, tag, words
from hooks.plain import is_number
from hooks.reference import Missing
from hooks.used import Use, used
from hooks.value import four_digits

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from hooks.records import Record
    from hooks.reference import Reference

# With more columns than these, cells stand closer.
MANY = 8


def _headings(value: Any) -> list[str]:
    """Return a list of headings; for the option `columns`.

    Raises:
        ValueError: it is no list of texts.
    """
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise ValueError("it is no list of headings")
    return value


class Table(GuideBlock):
    """`/// table | section/program.py:name`, and a caption as its content.

    Options: `versions: true`; `columns`, a list of the headings to show where that is not all.
    """

    NAME = "table"
    OPTIONS: ClassVar = {"versions": (False, type_boolean), "columns": ([], _headings)}
    SHAPE = "/// table | section/program.py:name, then a caption"
    CLASS = "guide-table"
    CONTENT = True

    def build(self, block: Element, content: list[Element]) -> None:
        """Draw the table with its caption, its notes and its stamp."""
        ref = reference.parse(self.argument)
        data, record = reference.entry(ref, "tables")
        if not data["rows"]:
            raise Missing(f"the table `{ref}` has no rows", "give it rows in the program and record it")
        known = used(self.md).tables
        ident = anchor("table", ref.program, ref.name)
        if any(table.id == ident for table in known):
            raise self.error(f"a second table `{ref}` on this page", "remove it")
        known.append(Use.of(ref, place.current().file, ident))
        block.set("id", ident)
        scroll = sub(
            block, "div", class_="guide-scroll", tabindex="0", role="region", aria_labelledby=f"{ident}-caption"
        )
        table = sub(scroll, "table", class_="guide-cells")
        caption = sub(table, "caption", id=f"{ident}-caption")
        caption.extend(content)
        notes: list[str] = []
        columns, (rows, others) = data["columns"], _with_other_devices(ref, data)
        if wanted := self.options["columns"]:
            for heading in wanted:
                if heading not in columns:
                    cause = f"the table `{ref}` has no column '{heading}'"
                    raise self.error(cause, f"name some of its columns ({near(heading, columns)})", "    columns:")
            shown = [columns.index(heading) for heading in wanted]
            columns, rows = wanted, [[row[at] for at in shown] for row in rows]
        said = [f"Measured · {stamp(one)}" for one in (record, *others)]
        for lock in locks.names() if self.options["versions"] else ():
            program = reference.program_of(ref.program)
            columns = [*columns, locks.heading(lock)]
            said.append(f"{locks.heading(lock)} · {locks.title(lock)} · {locks.day(program, lock)}")
            cells = locks.column(program, lock, ref.name, len(rows))
            rows = [[*row, cell] for row, cell in zip(rows, cells, strict=True)]
        if len(columns) > MANY:
            table.set("class", "guide-cells guide-many")
        caption.tail = self.stash(draw(columns, rows, ident, notes))
        if notes:
            items = [
                tag(
                    "li",
                    f"{words(note)} {tag('a', '↩', href=f'#{ident}-ref-{n}', aria_label='Back to the table')}",
                    id=f"{ident}-note-{n}",
                )
                for n, note in enumerate(notes, start=1)
            ]
            sub(block, "div").text = self.stash(tag("ol", "".join(items), class_="guide-notes"))
        sub(block, "div").text = self.stash("".join(tag("p", text, class_="guide-stamp") for text in said))


def _with_other_devices(ref: Reference, data: dict[str, Any]) -> tuple[list[list[Any]], list[Record]]:
    """Put cells of other devices' records where the table says which device they need.

    Such a cell is `{"text": ..., "device": "tpu"}`. In the record of that device the cell of this row (by its first
    cell) and column stands in the table of the same name.

    Returns:
        The rows, and the records that cells came from.

    Raises:
        Missing: two rows begin alike.
    """
    wanted = {cell["device"] for row in data["rows"] for cell in row if isinstance(cell, dict) and "device" in cell}
    first = [_plain(row[0]) for row in data["rows"]]
    if wanted and (twice := next((name for name in first if first.count(name) > 1), None)):
        cause = f"two rows of the table `{ref}` begin with '{twice}', so cells of other devices have no place"
        raise Missing(cause, "make the first column of the table different in each row")
    known: dict[tuple[Any, Any, str], Any] = {}
    others: list[Record] = []
    for device in sorted(wanted):
        record, _ = records.current_or_why(reference.program_of(ref.program), device)
        if record and ref.name in record.tables:
            table = record.tables[ref.name]
            others.append(record)
            known |= {
                (device, _plain(row[0]), column): cell
                for row in table["rows"]
                for column, cell in zip(table["columns"], row, strict=True)
            }
    rows = [
        [
            known.get((cell.get("device"), _plain(row[0]), column), cell) if isinstance(cell, dict) else cell
            for column, cell in zip(data["columns"], row, strict=True)
        ]
        for row in data["rows"]
    ]
    return rows, others


def draw(columns: list[str], rows: list[list[Any]], ident: str, notes: list[str]) -> str:
    """Return the head and the body of the table as HTML and append the texts of its notes to `notes`.

    Args:
        columns: the headings.
        rows: the cells; the first of each row is the row's heading when it is text.
        ident: the id of the block, which the ids of notes start with.
        notes: the list to append to.
    """
    numeric = [all(is_number(_plain(row[i])) or _plain(row[i]) is None for row in rows) for i in range(len(columns))]
    right = {True: {"class_": "guide-number"}, False: {}}
    heads = [tag("th", words(str(c)), scope="col", **right[number]) for c, number in zip(columns, numeric, strict=True)]
    body: list[str] = []
    for row in rows:
        cells: list[str] = []
        for index, cell in enumerate(row):
            shown = text_of(_plain(cell))
            note = cell.get("note") if isinstance(cell, dict) else None
            if note:
                if note not in notes:
                    notes.append(note)
                n = notes.index(note) + 1
                first = {} if f'id="{ident}-ref-{n}"' in "".join([*body, *cells]) else {"id": f"{ident}-ref-{n}"}
                shown += tag("sup", tag("a", str(n), href=f"#{ident}-note-{n}", aria_label=f"Note {n}", **first))
            is_head = index == 0 and isinstance(_plain(cell), str)
            cells.append(tag("th", shown, scope="row") if is_head else tag("td", shown, **right[numeric[index]]))
        body.append(tag("tr", "".join(cells)))
    return tag("thead", tag("tr", "".join(heads))) + tag("tbody", "".join(body))


def text_of(value: Any) -> str:
    """Return a cell's value as HTML: truth as a word with a mark, numbers short, nothing as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        mark = tag("span", "✓" if value else "✗", aria_hidden="true")
        return tag("span", f"{mark} {'yes' if value else 'no'}", class_="guide-yes" if value else "guide-no")
    if isinstance(value, float):
        return four_digits(value, ",")
    if isinstance(value, int):
        return f"{value:,}"
    return words(str(value))


def _plain(cell: Any) -> Any:
    """Return the cell without its note."""
    return cell.get("text") if isinstance(cell, dict) else cell
