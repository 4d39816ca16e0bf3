"""Join the site's own style sheets, and its own scripts, into one file each: two requests instead of a dozen.

The lists stay in mkdocs.yml as MkDocs knows them, so a builder that ignores hooks serves the same files one by one.
In the built site the theme's style sheets are joined to the site's own.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from hooks import loud, widget
from hooks.errors import GuideError, line_of, read

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_SHEET = re.compile(r'<link rel="stylesheet" href="([^"]*/)?([^"/]+\.css)">\s*')
# What a style sheet fetches, from where it lies.
_FETCHED = re.compile(r"""url\(\s*+(?!["']?data:)|@import""")
_STRING = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
# What begins first holds the other.
_STRING_OR_COMMENT = re.compile(rf"{_STRING.pattern}|/\*.*?\*/", re.DOTALL)


def squeeze(css: str) -> str:
    """Return a style sheet without comments, indentation and line breaks; strings are left alone."""
    pieces = _STRING.split(_STRING_OR_COMMENT.sub(lambda found: found[1] or "", css))
    pieces[::2] = [re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", piece)) for piece in pieces[::2]]
    return "".join(pieces).strip()


def strip(script: str) -> str:
    """Return a script without indentation and comment lines; one with a text over several lines is left alone."""
    if any(line.count("`") % 2 for line in script.splitlines()):
        return script.strip()
    script = re.sub(r"^[ ]*/\*(?:(?!\*/).)*\*/[ ]*$", "", script, flags=re.DOTALL | re.MULTILINE)
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def join(paths: list[str], docs: Path) -> str:
    """Return the files one after another, style sheets squeezed.

    Raises:
        GuideError: a listed file does not exist, or is not UTF-8.
    """
    texts = []
    for path in paths:
        file = docs / path
        if not file.is_file():
            cause, cure = f"`{path}` does not exist in docs/", "write it or take it off the list"
            raise GuideError("mkdocs.yml", line_of("mkdocs.yml", path), cause, cure)
        text = read(file)
        texts.append(squeeze(text) if path.endswith(".css") else f"{strip(text)}\n;")
    return "\n".join(texts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the listed files by one style sheet and one script, named by their content so that caches never lie."""
    docs = Path(config.docs_dir)
    for key, suffix in (("extra_css", "css"), ("extra_javascript", "js")):
        paths = [str(path) for path in config[key]]
        if not paths:
            continue
        text = join(paths, docs)
        for path in paths:
            if file := files.get_file_from_path(path):
                files.remove(file)
        name = f"assets/guide.{sha256(text.encode()).hexdigest()[:8]}.{suffix}"
        files.append(File.generated(config, name, content=text))
        config[key] = [name]
    # Modules, which pages with drawings fetch one by one.
    for file in [one for one in files if one.src_uri.startswith(f"{widget.FOLDER}/") and one.src_uri.endswith(".js")]:
        files.remove(file)
        text = strip(read(Path(file.abs_src_path or "")))
        files.append(File.generated(config, file.src_uri, content=f"{text}\n"))
    return files


def joined(html: str, names: list[str], name: str) -> str:
    """Return a page that links one style sheet, in the place of the first, instead of several.

    Args:
        html: the page.
        names: the style sheets that were joined.
        name: the new one, in the folder of the last.
    """
    folder = next(link[1] or "" for link in _SHEET.finditer(html) if link[2] == names[-1])
    first = f'<link rel="stylesheet" href="{folder}{name}">'

    def replace(link: re.Match[str]) -> str:
        return link[0] if link[2] not in names else first if link[2] == names[0] else ""

    return _SHEET.sub(replace, html)


def on_post_build(config: MkDocsConfig) -> None:
    """Join the style sheets that every page links; a preview, which renders pages one by one, keeps them apart."""
    if loud.serving():
        return
    site = Path(config.site_dir)
    pages = {file: file.read_text("utf-8") for file in site.rglob("*.html")}
    linked = [[link[2] for link in _SHEET.finditer(html)] for html in pages.values()]
    sheets = {file.name: file for file in site.rglob("*.css")}
    # One that the site does not have, the check of all links names.
    shared = [name for name in linked[0] if name in sheets and all(name in names for names in linked)]
    texts = {name: sheets[name].read_text("utf-8") for name in shared}
    names = [name for name, text in texts.items() if not _FETCHED.search(text)]
    if len(names) < 2:
        return
    text = "\n".join(texts[name].removeprefix('@charset "UTF-8";') for name in names)
    new = sheets[names[-1]].with_name(f"style.{sha256(text.encode()).hexdigest()[:8]}.css")
    new.write_text(f'@charset "UTF-8";{text}', "utf-8")
    for name in names:
        sheets[name].unlink()
    for file, html in pages.items():
        file.write_text(joined(html, names, new.name), "utf-8")
