"""Drop from the style sheets what nothing on the site can use: features that are off, blocks that no page has.

A rule goes when its selector needs a class that no page has and no script gives to an element, or an attribute's value
that stands nowhere. A custom property goes when nothing refers to it.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import tinycss2  # type: ignore[import-untyped]
from tinycss2.ast import (  # type: ignore[import-untyped]
    AtRule,
    Declaration,
    Node,
    QualifiedRule,
    SquareBracketsBlock,
)

from hooks import loud
from hooks.cache import remember

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mkdocs.config.defaults import MkDocsConfig

_WORD = re.compile(r"[\w-]+")
_PROPERTY = re.compile(r"var\(\s*(--[\w-]+)")
_CLASS = re.compile(r'\sclass="([^"]*)"')
_ATTRIBUTE = re.compile(r'\s(?:dir|type)="([^"]*)"')
# Where a script names classes that it gives: `class: "a"`, `className = "a"`, `classList.add("a")`, ("class", "a").
_GIVEN = re.compile(
    r"""(?:\bclass(?:Name)?["']?\s*[:=]\s*|classList\.(?:add|toggle|replace)\(\s*|["']class["']\s*,\s*)"""
    r"""(["'`])(?P<names>.*?)\1"""
)
_TEMPLATE = re.compile(r"`([^`]*)`")
# `fig-${kind}`: any class may begin so.
_BEGINNING = re.compile(r"([\w-]{3,})\$\{")
# The theme's tables without a class. An attribute that every element has costs much: when a class changes anywhere, a
# browser looks again at all that lies inside that element, which for the root is the whole page.
_UNNAMED = "table:not([class])"
_TABLE = re.compile(r"""<table class="([^"]+)"|"table",\s*\{\s*class(?:Name)?:\s*"([^"]+)\"""")
_NESTED = {"media", "supports"}
# Attributes that scripts do not set: their values are looked up in the pages alone.
_FIXED = {"dir", "type"}


def words(texts: Iterable[str]) -> set[str]:
    """Return every word of the texts."""
    return {word for text in texts for word in _WORD.findall(text)}


class Used:
    """What the elements of the site can have: classes, and values of attributes."""

    def __init__(self, pages: list[str], scripts: list[str]) -> None:
        """Read the pages and the scripts of the site.

        Args:
            pages: their HTML.
            scripts: their text.
        """
        given = [found["names"] for script in scripts for found in _GIVEN.finditer(script)]
        pieces = [text for script in scripts for text in _TEMPLATE.findall(script)]
        written = {names for page in pages for names in _CLASS.findall(page)}
        self.scripts = scripts
        self.classes = words([*written, *given, *pieces])
        # Any word of a script, not only those that it gives in a known way.
        self.named = self.classes | words(scripts)
        self.beginnings = tuple({word for script in scripts for word in _BEGINNING.findall(script)}) or ("\0",)
        self.fixed = words({value for page in pages for value in _ATTRIBUTE.findall(page)})
        self.texts = [*scripts, *pages]
        self._seen: dict[str, bool] = {}

    def fits(self, selector: list[Node], *, named: bool) -> bool:
        """Tell whether an element can match; what a selector has in brackets, such as `:is()`, is not looked at.

        Args:
            selector: the parts of the selector.
            named: whether any word of a script counts as a class.
        """
        classes = self.named if named else self.classes
        for before, token in zip([None, *selector], selector, strict=False):
            if token.type == "ident" and before is not None and before == ".":
                if token.value not in classes and not token.value.startswith(self.beginnings):
                    return False
            elif isinstance(token, SquareBracketsBlock) and not self._has(token):
                return False
        return True

    def _has(self, attribute: SquareBracketsBlock) -> bool:
        content = [part for part in attribute.content if part.type != "whitespace"]
        if len(content) != 3 or content[1] != "=":
            return True
        asked = _WORD.findall(content[2].value)
        return all(word in self.fixed if content[0].value in _FIXED else self._stands(word) for word in asked)

    def _stands(self, word: str) -> bool:
        """Tell whether a word stands anywhere. Few are asked for, so each is looked up when it is."""
        if word not in self._seen:
            whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
            self._seen[word] = any(word in text and whole.search(text) for text in self.texts)
        return self._seen[word]


def selectors(prelude: list[Node]) -> list[list[Node]]:
    """Return the selectors of a rule, split at its commas."""
    parts: list[list[Node]] = [[]]
    for node in prelude:
        if node == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def parsed(text: str | list[Node]) -> list[Node]:
    """Return the rules of a style sheet, or of a rule that holds others."""
    return list(tinycss2.parse_rule_list(text, skip_comments=True, skip_whitespace=True))


def kept(rules: list[Node], used: Used, *, named: bool) -> str:
    """Return the rules that an element of the site can match."""
    text = []
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            live = [
                tinycss2.serialize(part).strip() for part in selectors(rule.prelude) if used.fits(part, named=named)
            ]
            text.append(f"{','.join(live)}{{{tinycss2.serialize(rule.content)}}}" if live else "")
        elif isinstance(rule, AtRule) and rule.lower_at_keyword in _NESTED and rule.content is not None:
            inner = kept(parsed(rule.content), used, named=named)
            text.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}" if inner else "")
        else:
            text.append(rule.serialize())
    return "".join(text)


def without(rules: list[Node], properties: set[str]) -> str:
    """Return the rules without the declarations of some custom properties."""
    text = []
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            parts = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
            live = [part for part in parts if not (isinstance(part, Declaration) and part.name in properties)]
            body = ";".join(part.serialize().rstrip(";") for part in live)
            text.append(f"{tinycss2.serialize(rule.prelude)}{{{body}}}" if body else "")
        elif isinstance(rule, AtRule) and rule.lower_at_keyword in _NESTED and rule.content is not None:
            inner = without(parsed(rule.content), properties)
            text.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        else:
            text.append(rule.serialize())
    return "".join(text)


def named_tables(css: str, texts: Iterable[str]) -> str:
    """Return a style sheet that tells tables without a class by the classes that the others have.

    Args:
        css: the style sheet.
        texts: all pages and scripts.
    """
    if _UNNAMED not in css:
        return css
    classes = sorted({"." + (page or script).split()[0] for text in texts for page, script in _TABLE.findall(text)})
    return css.replace(_UNNAMED, f"table:not({','.join(classes)})" if classes else "table")


def prune(css: str, used: Used, others: list[str], *, named: bool) -> str:
    """Return a style sheet without what the site cannot use.

    Args:
        css: the style sheet.
        used: what the site can have.
        others: the other style sheets, which may refer to this one's properties.
        named: whether to keep every class that a script names; the theme's scripts name many that they only look for.
    """
    css = named_tables(kept(parsed(css), used, named=named), used.texts)
    wanted = set(_PROPERTY.findall("\n".join([css, *others, *used.scripts])))
    declared = set(re.findall(r"(?<=[{;])\s*(--[\w-]+)(?=\s*:)", css))
    unused = {name for name in declared - wanted if not any(name in script for script in used.scripts)}
    return without(parsed(css), unused) if unused else css


def _pruned(sheets: dict[Path, str], pages: list[str], scripts: list[str]) -> dict[Path, str]:
    """Return the style sheets without what these pages and scripts cannot use."""

    def make() -> list[str]:
        used = Used(pages, scripts)
        return [
            prune(
                css,
                used,
                [text for other, text in sheets.items() if other != file],
                named="stylesheets" not in file.parts,
            )
            for file, css in sheets.items()
        ]

    inputs = [*(f"{file.parent.name}/{file.name}" for file in sheets), *sheets.values(), *pages, "", *scripts]
    return dict(zip(sheets, remember("sheets", inputs, make), strict=True))


def on_post_build(config: MkDocsConfig) -> None:
    """Rewrite the style sheets in the built site, each under a new name: no cache holds another version of it.

    A preview keeps them whole: it shows pages that come and go.
    """
    if loud.serving():
        return
    site = Path(config.site_dir)
    pages = {file: file.read_text("utf-8") for file in sorted(site.rglob("*.html"))}
    # Code that a script puts into a card is markup too.
    scripts = [file.read_text("utf-8") for kind in ("*.js", "*.py.txt") for file in sorted(site.rglob(kind))]
    files = sorted([*site.glob("assets/stylesheets/*.css"), *site.glob("assets/*.css")])
    sheets = {file: file.read_text("utf-8") for file in files}
    for file, text in _pruned(sheets, list(pages.values()), scripts).items():
        named = file.with_name(f"{file.name.split('.')[0]}.{sha256(text.encode()).hexdigest()[:8]}.css")
        file.unlink()
        named.write_text(text, "utf-8")
        pages = {page: html.replace(file.name, named.name) for page, html in pages.items()}
    for page, html in pages.items():
        page.write_text(html, "utf-8")
