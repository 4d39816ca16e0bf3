"""What each page uses of the programs: the site's totals, the error index and the question checks are made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown import Markdown

    from hooks.reference import Reference

# What the options of a question are called, and how many there may be.
LETTERS = "ABCDEF"


@dataclass(frozen=True)
class Question:
    """A question as it stands on a page; `key`, `proof` and `options` have one entry for each option."""

    id: str
    page: str
    covers: list[str]
    key: list[bool]
    proof: list[str]
    multi: bool
    text: str
    options: list[str]
    line: int


@dataclass(frozen=True)
class Use:
    """One use of an entry of a record: where it is, and the id of its element (empty where it has none).

    The record is that of `device`.
    """

    program: str
    name: str
    page: str
    id: str = ""
    text: str = ""
    device: str = "cpu"

    @classmethod
    def of(cls, reference: Reference, page: str, ident: str = "", text: str = "") -> Use:
        """Return the use of `reference` on `page`."""
        return cls(reference.program, reference.name, page, ident, text, reference.device)


@dataclass
class Used:
    """What one page uses. An error's `text` is its exact text; one that was `reported` has an address as its name.

    `programs` lists the programs that have a card on it, `codes` their highlighted code.
    """

    page: str = ""
    questions: list[Question] = field(default_factory=list)
    outputs: list[Use] = field(default_factory=list)
    figures: list[Use] = field(default_factory=list)
    tables: list[Use] = field(default_factory=list)
    errors: list[Use] = field(default_factory=list)
    reported: list[Use] = field(default_factory=list)
    values: list[Use] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    codes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Used:
        """Return what `dataclasses.asdict` made plain."""
        found = cls(**data)
        found.questions = [Question(**question) for question in data["questions"]]
        for uses in (found.outputs, found.figures, found.tables, found.errors, found.reported, found.values):
            uses[:] = [Use(**use) for use in uses]  # type: ignore[arg-type]
        return found


PAGES: dict[str, Used] = {}


def used(md: Markdown) -> Used:
    """Return what the page that `md` converts has used so far."""
    return md.guide  # type: ignore[attr-defined]


def of_page(page: str) -> Used:
    """Return what a page, named as `docs/a/b.md`, used when it was last converted; empty where it was not."""
    return PAGES.get(page) or Used(page)


def start(md: Markdown, page: str) -> None:
    """Forget what `md` converted before, and note what it converts next under `page`."""
    md.guide = PAGES[page] = Used(page)  # type: ignore[attr-defined]
