"""What a reader changes in a notebook so that it runs on the locked versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import nbformat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.official.notebook import Outcome


class Edit(NamedTuple):
    """A change in the code of a notebook.

    Attributes:
        old: what stands there, in one cell or several; empty for a cell that is added before all others.
        new: what takes its place.
    """

    old: str
    new: str


def apply(notebook: Any, edits: Sequence[Edit]) -> None:
    """Make the changes in the notebook itself.

    Args:
        notebook: as nbformat reads it.
        edits: in their order; a later one finds what an earlier one left.

    Raises:
        ValueError: no code cell holds what is to be replaced.
    """
    for old, new in edits:
        if not old:
            notebook.cells.insert(0, nbformat.v4.new_code_cell(new))
            continue
        found = [cell for cell in notebook.cells if cell.cell_type == "code" and old in cell.source]
        if not found:
            cure = "the notebook has changed, so correct the edit in notebooks.toml"
            raise ValueError(f"no code cell holds {old!r}: {cure}")
        for cell in found:
            cell.source = cell.source.replace(old, new)


def shown(edits: Sequence[Edit]) -> str:
    """Return edits as the text of a table's cell."""
    return "; ".join(f"`{old}` → `{new}`" if old else f"a first cell: `{new}`" for old, new in edits)


def reached(then: Outcome) -> str:
    """Return how far a notebook ran with its edits, as the text of a table's cell."""
    where = f"cell {then.cell} of {then.cells}"
    return {
        "runs": "every cell runs",
        "fails": f"{where} fails: {then.code()}",
        "download": f"up to a download in {where}",
        "package": f"up to {where}, which needs the package {then.code()}",
        "slow": f"up to {where}, which takes longer than the limit",
    }[then.judged]
