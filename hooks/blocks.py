"""Every block of code of a page, read from the HTML that MkDocs makes of it: what is checked is what a reader sees."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass, field

from hooks import shown
from hooks.errors import GuideError, line_in
from hooks.fences import ANY_SNIPPET, Fence, fences
from hooks.languages import LANGUAGES
from hooks.needs import ATTRIBUTE


@dataclass(frozen=True)
class Block:
    """A block of code on a page.

    Attributes:
        page: the page's path in the project.
        line: the line of its fence in the source.
        end: the line that closes it.
        language: as its header names it.
        code: the text a reader sees.
        id: its anchor; empty where it has none.
        origin: `path` or `path:section` under `snippets/` that it shows; empty for a block written in the page.
        run: `no` when it cannot run where the checks run.
        why: the reason given to the reader.
        needs: the imports that it comes with, one in each line.
        attributes: the rest of what its header says (`data-message`).
    """

    page: str
    line: int
    end: int
    language: str
    code: str
    id: str = ""
    origin: str = ""
    run: str = ""
    why: str = ""
    needs: str = ""
    attributes: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def sha256(self) -> str:
        """The hash of the text a reader sees."""
        return hashlib.sha256(self.code.encode()).hexdigest()

    @property
    def program(self) -> str:
        """The program it shows a part of; empty where it shows none."""
        return self.origin.partition(":")[0]

    @property
    def section(self) -> str:
        """The section of the program; empty where it shows the whole of it."""
        return self.origin.partition(":")[2]

    @property
    def name(self) -> str:
        """A name that a person can read and select: `mirrored.py:fit[line 31]`."""
        return f"{self.origin.rpartition('/')[2] or self.language}[line {self.line}]"


def blocks_of(*, html: str, source: str, file: str) -> list[Block]:
    """Return the blocks of a page in the order in which a reader meets them.

    Args:
        html: the page as Python-Markdown rendered it.
        source: the page as its author wrote it.
        file: the page's path, for messages.

    Raises:
        GuideError: for anything that would leave a block out or unchecked.
    """
    written = fences(source, file)
    seen = _shown(html, file, source)
    blocks = []
    for at, fence in enumerate(written):
        if at < len(seen) and _same(fence, seen[at][1]):
            blocks.append(_block(fence, *seen[at], file))
        elif at + 1 < len(seen) and _same(fence, seen[at + 1][1]) and not fence.snippet:
            raise _foreign(seen[at][1], file, source)
        else:
            raise _hidden(fence, file)
    if len(seen) > len(written):
        raise _foreign(seen[len(written)][1], file, source)
    return blocks


def _shown(html: str, file: str, source: str) -> list[tuple[dict[str, str], str]]:
    """Return the attributes and the text of each block of code in the HTML, without those drawn from records."""
    found = []
    for code in shown.read(html).codes:
        if code.generated:
            continue
        if code.box is None or not code.is_code:
            raise _foreign(code.text, file, source)
        found.append((code.box, code.text))
    return found


def _block(fence: Fence, box: dict[str, str], code: str, file: str) -> Block:
    language = fence.language
    if language not in LANGUAGES:
        cause = f"nothing checks the language {language!r}"
        raise GuideError(file, fence.line, cause, f"use one of {', '.join(sorted(LANGUAGES))}")
    data = {key: value for key, value in box.items() if key.startswith("data-")}
    run, why, needs = data.pop("data-run", ""), data.pop("data-why", "").strip(), data.pop(ATTRIBUTE, "")
    if run not in ("", "no"):
        raise GuideError(file, fence.line, f'data-run="{run}" means nothing', 'write data-run="no" or leave it out')
    if (run == "no") != bool(why):
        cause = 'data-run="no" without a reason' if run else "data-why without data-run"
        raise GuideError(file, fence.line, cause, 'write data-run="no" data-why="why it cannot run here"')
    if run and not LANGUAGES[language].runs:
        cause = f"a {language} block is never run, so it cannot be kept from running"
        raise GuideError(file, fence.line, cause, 'remove data-run="no"')
    if language == "text" and is_python(code):
        raise GuideError(file, fence.line, "this text is Python code", "name its language: python")
    snippets = sum(bool(ANY_SNIPPET.match(line)) for line in fence.body)
    if snippets and not fence.snippet and "8<" not in code:
        cause = "a snippet that is not the whole of its fence, or is not written as path or path:section"
        raise GuideError(file, fence.line, cause, 'write one line: --8<-- "folder/program.py:section"')
    origin = fence.snippet if "8<" not in code else ""
    if run and origin and language == "python":
        cause = f"this block shows {origin}, and programs are run"
        raise GuideError(file, fence.line, cause, 'remove data-run="no" and data-why')
    return Block(file, fence.line, fence.end, language, code, box.get("id", ""), origin, run, why, needs, data)


def uses_tensorflow(code: str) -> bool:
    """Tell whether a block imports TensorFlow or Keras, and so wants devices set up before it runs."""
    return re.search(r"(?m)^\s*(?:import|from)\s+(?:tensorflow|keras|tf_keras)\b", code) is not None


def is_python(code: str) -> bool:
    """Tell whether a text parses as Python that does something, and so should not be labelled text."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return False
    doing = (ast.Import, ast.ImportFrom, ast.Assign, ast.Call, ast.FunctionDef, ast.ClassDef, ast.With, ast.For)
    return any(isinstance(node, doing) for node in ast.walk(tree))


def _same(fence: Fence, code: str) -> bool:
    """Tell whether a fence written in the page holds the text shown; where it shows a file, the snippet check tells."""
    if fence.snippet:
        return True
    if any(ANY_SNIPPET.match(line) for line in fence.body):
        return True
    return _bare("\n".join(fence.body).replace(";--8<", "--8<")) == _bare(code)


def _bare(text: str) -> str:
    return "".join(character for character in text if not character.isspace() and character != ">")


def _hidden(fence: Fence, file: str) -> GuideError:
    cause = "this fence does not appear on the page as it stands here (in a comment, a broken list, a raw tag?)"
    return GuideError(file, fence.line, cause, "write it so that it renders as a block of its own")


def _foreign(code: str, file: str, source: str) -> GuideError:
    start = code.strip().split("\n")[0]
    cause = f"code that is not in a fence: {start!r}"
    return GuideError(file, line_in(source, start.strip()), cause, "write it as a fence that names its language")
