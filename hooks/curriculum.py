"""The rows of the curriculum: what the guide teaches, which a question says that it asks (`covers`)."""

from __future__ import annotations

import tomllib
from functools import lru_cache

from hooks import errors
from hooks.errors import GuideError

FILE = "docs/curriculum.toml"


def rows() -> dict[str, str]:
    """Return each row's name and what it says, in order.

    Raises:
        GuideError: the file is missing or malformed, or has a name twice.
    """
    file = errors.ROOT / FILE
    if not file.is_file():
        raise GuideError(FILE, 0, "there is no such file", 'write it: tables of `name = "what is to be known"`')
    return _rows(errors.read(file))


@lru_cache(maxsize=1)
def _rows(text: str) -> dict[str, str]:
    try:
        parts = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GuideError(FILE, errors.line_in_toml(text, error), f"this is no TOML: {error}", "fix the line") from None
    found: dict[str, str] = {}
    for title, part in parts.items():
        for name, said in part.items() if isinstance(part, dict) else [(title, part)]:
            line = max(at for at, one in enumerate(["", *text.split("\n")]) if not at or one.startswith(f"{name} ="))
            if not isinstance(part, dict) or not isinstance(said, str) or not said.strip():
                raise GuideError(FILE, line, f"`{name}` is no row", 'write `name = "what is to be known"` in a table')
            if name in found:
                raise GuideError(FILE, line, f"the row `{name}` stands twice", "give it another name")
            found[name] = said
    return found
