"""`{{ section/program.py:name | .1f }}`: a value from a record, in a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from markdown.inlinepatterns import InlineProcessor

from hooks import place, reference
from hooks.errors import GuideError
from hooks.markup import DEVICES, day
from hooks.reference import Missing, Reference, Stale
from hooks.used import Use, used

if TYPE_CHECKING:
    from markdown import Markdown

    from hooks.records import Record

# A pipe may be escaped: in a cell of a table it must be.
PATTERN = r"\{\{(?P<what>[^{}]*?)(?:\\?\|(?P<format>[^{}]*?))?\}\}"


class Value(InlineProcessor):
    """Replaces the braces by a `data` element; code is left alone because its pattern comes first."""

    def __init__(self, md: Markdown) -> None:
        """Compile the pattern."""
        super().__init__(PATTERN, md)

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: N802
        """Return the element for one pair of braces."""
        return element(self.md, m), m.start(0), m.end(0)


def element(md: Markdown, match: re.Match[str]) -> Element:
    """Return the `data` element for a match of `PATTERN`.

    Raises:
        GuideError: the reference leads nowhere, or the format does not fit the value.
    """
    try:
        ref, value, record, shown = resolve(match)
    except Stale as stale:
        if not reference.preview():
            raise _error(match, stale) from None
        missing = Element("mark", {"class": "guide-stale", "title": stale.cause})
        missing.text = "not recorded"
        return missing
    except Missing as missing_name:
        raise _error(match, missing_name) from None
    used(md).values.append(Use.of(ref, place.current().file))
    where = f"from {ref.program}, {DEVICES.get(record.device, record.device)}, {day(record)}"
    found = Element("data", {"class": "value", "value": str(value), "title": where})
    found.text = shown
    return found


def resolve(match: re.Match[str]) -> tuple[Reference, Any, Record, str]:
    """Return what a match of `PATTERN` refers to, its value, its record and the text to show.

    Raises:
        Missing: there is no such value, or the format does not fit it.
    """
    ref = reference.parse(match["what"])
    value, record = reference.entry(ref, "measures", "claims")
    return ref, value, record, show(value, (match["format"] or "").strip())


def show(value: Any, spec: str) -> str:
    """Return a value as text by a format specification of Python; without one, floats get four digits.

    Raises:
        Missing: the specification does not fit the value.
    """
    if isinstance(value, bool):
        if spec:
            raise Missing(f"a claim takes no format, so not `{spec}`", "remove the format")
        return "true" if value else "false"
    if not spec:
        if not isinstance(value, float) or not 1e-4 <= abs(value) < 1e4:
            return str(value)
        return four_digits(value)
    try:
        if re.search(r"\d{3}", spec):
            raise ValueError("a hundred characters or more")  # Python would try to make as many as it says
        return format(value, spec)
    except (TypeError, ValueError):
        cure = "write a format of Python that fits it, such as `.1f`"
        raise Missing(f"the format `{spec}` does not fit the value {value!r}", cure) from None


def four_digits(number: float, group: str = "") -> str:
    """Return a number in four digits, or whole where these need an exponent: also what rounds up to five digits.

    Args:
        number: the number.
        group: what stands between thousands.
    """
    short = f"{number:.4g}"
    return f"{number:{group}.0f}" if "e+" in short else short


def expand(text: str) -> str:
    """Return `text` with every pair of braces replaced by plain text: for attributes such as `alt`.

    Raises:
        Missing: a reference leads nowhere.
    """
    return re.sub(PATTERN, lambda match: resolve(match)[3], text)


def _error(match: re.Match[str], missing: Missing) -> GuideError:
    return place.error(match[0], missing.cause, missing.cure)
