"""When what a page shows last ran: the oldest of the records behind it, for the foot of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooks import locks, programs, quiz_key, reference
from hooks.reference import Missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hooks.blocks import Block
    from hooks.used import Used


def records_of(use: Used, blocks: Iterable[Block]) -> set[tuple[str, str]]:
    """Return the records behind a page, as program and device: those that it shows, quotes, draws from or asks about.

    Args:
        use: what the page uses of the records.
        blocks: its blocks of code.
    """
    quoted = [*use.outputs, *use.figures, *use.tables, *use.errors, *use.values]
    keys = [quiz_key.parse(proof) for question in use.questions for proof in question.proof]
    asked = {(claim.reference.program, claim.reference.device) for key in keys for claim in key.claims}
    shown = {(block.program, "cpu") for block in blocks if programs.PATH.fullmatch(block.program)}
    carded = {(program, "cpu") for program in use.programs}
    return {(entry.program, entry.device) for entry in quoted} | carded | asked | shown


def of_page(use: Used, blocks: Iterable[Block]) -> dict[str, str]:
    """Return when a page was last verified, as `said` gives it; empty where no record stands behind it."""
    found = []
    for program, device in sorted(records_of(use, blocks)):
        try:
            record = reference.record_of(program, device)
        except Missing:  # a preview shows pages whose records are out of date
            continue
        found.append((str(record.recorded), record.versions))
    return said(found)


def said(records: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """Return the day of the oldest record, and what it ran with.

    Args:
        records: the day of each record, such as `2026-11-21`, and the versions it was made with.

    Returns:
        `day`, and `versions`, such as `TensorFlow 2.21.0, Keras 3.15.1`; empty without a record.
    """
    oldest: tuple[str, Mapping[str, Any]] | None = min(records, key=lambda record: record[0], default=None)
    if oldest is None:
        return {}
    day, versions = oldest
    return {"day": day, "versions": locks.named(versions)}
