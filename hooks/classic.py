"""ES modules as one classic script: a browser loads no module from a file.

It takes apart only the forms that `docs/assets/widgets/` uses: `import { a, b } from "./c.js"`, `import()` of a
neighbour named by a template, and `export` before `const`, of one name, or `function`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks.errors import GuideError

if TYPE_CHECKING:
    from collections.abc import Mapping

_IMPORT = re.compile(r'^import (?P<names>\{\s*\w+(?:,\s*\w+)*,?\s*\}) from "\./(?P<file>[\w-]+\.js)";$', re.MULTILINE)
_DYNAMIC = re.compile(r"await import\(`\./(?P<file>[^`]*)`\)")
_EXPORT = re.compile(r"^export (?=(?:const|function) (?P<name>\w+))", re.MULTILINE)
# What has no meaning outside a module, or would fetch.
_ONLY_MODULE = re.compile(r"\bimport\.meta\b")
_LEFT = re.compile(r"^[ \t]*(?:import|export)\b.*", re.MULTILINE)
# A second name, of which `_EXPORT` knows nothing: a comma before anything in which one may stand.
_SECOND = re.compile(r"""^export const \w+ = [^\n(\[{"'`/]*,.*""", re.MULTILINE)


def script(modules: Mapping[str, str], folder: str) -> str:
    """Return modules as one classic script that does what importing the last of them does.

    Args:
        modules: their texts by file name, each after those that it imports. One that needs to know its own address is
            left out: what it would fetch from there, a page that was opened from a file cannot have.
        folder: where they lie in the project, for messages.

    Raises:
        GuideError: a module uses a form that is not known.
    """
    parts = []
    for name, text in modules.items():
        if _ONLY_MODULE.search(text):
            continue
        exported = ", ".join(found["name"] for found in _EXPORT.finditer(text))
        plain = _EXPORT.sub("", _IMPORT.sub(r'const \g<names> = modules["\g<file>"];', text))
        # One that was left out never arrives, so that what stands in its place stays.
        plain = _DYNAMIC.sub(r"(modules[`\g<file>`] ?? await new Promise(() => {}))", plain)
        if left := _LEFT.search(plain) or _SECOND.search(text):
            line = text[: text.find(left[0].strip())].count("\n") + 1
            cause = f"`{left[0].strip()}` is a form that a page opened from a file cannot have"
            cure = 'write `import { a } from "./b.js"`, `export const a` or `export function a`, each on one line'
            raise GuideError(f"{folder}/{name}", line, cause, cure)
        parts.append(f'modules["{name}"] = (() => {{\n{plain}\nreturn {{ {exported} }};\n}})();')
    return '(() => {\n"use strict";\nconst modules = {};\n' + "\n".join(parts) + "\n})();\n"
