"""Leave out of the site what the theme brings and no page can use: 1 MB for other languages, 1.3 MB for debuggers.

Of the first, the search loads nothing for English: what it needs for that is in its own script.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_UNUSED = re.compile(r"assets/javascripts/lunr/.*|assets/(?:javascripts|stylesheets)/.*\.map")
_SCRIPT = re.compile(r"assets/javascripts/.*\.js")
# Says where a debugger finds the source of a script.
_MAP = re.compile(r"\n//# sourceMappingURL=\S+\s*$")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take them off the list; the scripts that name one lose that line."""
    for file in [*files]:
        if _UNUSED.fullmatch(file.src_uri):
            files.remove(file)
        elif _SCRIPT.fullmatch(file.src_uri) and _MAP.search(text := file.content_string):
            files.remove(file)
            files.append(File.generated(config, file.src_uri, content=_MAP.sub("\n", text)))
    return files
