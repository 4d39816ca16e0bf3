"""The one exception for mistakes a contributor can make: where, what, and how to correct it."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError

if TYPE_CHECKING:
    import tomllib
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]


def line_of(file: str | Path, text: str) -> int:
    """Return the line at which a file of the project first holds a text; 0 where it does not."""
    try:
        source = (ROOT / file).read_text("utf-8")
    except OSError:
        return 0
    return line_in(source, text)


def line_in(text: str, *wanted: str) -> int:
    """Return the line of a text, from 1, that holds the first of the wanted ones that any does; 0 where none does.

    An empty one is passed over.
    """
    at = next((text.index(one) for one in wanted if one and one in text), -1)
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def line_in_toml(text: str, error: tomllib.TOMLDecodeError) -> int:
    """Return the line at which a text stops being TOML: its last where the error names the end of the document."""
    named = re.search(r"at line (\d+)", str(error))
    return int(named[1]) if named else text.rstrip().count("\n") + 1


def read(file: Path) -> str:
    """Return a text of the project.

    Raises:
        GuideError: it cannot be read, or is not UTF-8.
    """
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise GuideError(file, 0, f"it cannot be read ({error.strerror})", "make it a readable file") from None
    except UnicodeDecodeError as error:
        line = file.read_bytes().count(b"\n", 0, error.start) + 1
        raise GuideError(file, line, "a character here is not UTF-8", "save the file in UTF-8") from None


def near(name: str, names: Iterable[str]) -> str:
    """Return the known names that look like `name`, or the first few, for the cure of an unknown one."""
    known = sorted(names)
    if not known:
        return "there is none"
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return "did you mean " + " or ".join(f"`{n}`" for n in close) if close else "known: " + ", ".join(known[:12])


def printable(text: str) -> str:
    """Return a text as UTF-8 can hold it: half of a character in UTF-16 stands as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()


class GuideError(PluginError):
    """A mistake in a page, a program or a record. MkDocs stops the build and prints the message, also with `-q`.

    Args:
        file: the file to correct, absolute or relative to the project.
        line: its line, counted from 1; 0 where the whole file is meant.
        cause: what is wrong, as a sentence without a full stop.
        cure: how to correct it, as an imperative without a full stop.
    """

    def __init__(self, file: str | Path, line: int, cause: str, cure: str) -> None:
        """Format the message: `file:line: cause`, then `Fix: cure`, each with a full stop."""
        path = Path(file)
        shown = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()
        self.file, self.line, self.cause, self.cure = shown, line, printable(cause), printable(cure)
        where = f"{shown}:{line}" if line else shown
        super().__init__(f"{where}: {self.cause}. Fix: {self.cure}.")
