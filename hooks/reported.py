"""`/// reported`: an error text that others met and that cannot be provoked here; its content is its cause and fix."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from markdown.extensions.toc import slugify

from hooks import links, place
from hooks.markup import GuideBlock, sub, tag
from hooks.used import Use, used

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.etree.ElementTree import Element

THREAD = re.compile(r"/(?P<repository>[^/]+/[^/]+)/(?:issues|pull|discussions)/(?P<number>\d+)$")
WORDS = 7  # of the text make its id


def _said(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise ValueError("it is read as something else than text: put it into quotes")
    text = (value or "").strip("\n")
    if not text.strip():
        raise ValueError("it is empty")
    return text


class Reported(GuideBlock):
    """`/// reported | https://thread` with `text:`, `needs:`, and cause and fix as its content.

    The text stands in the index of errors, with the thread in place of a program. `needs` says what this project lacks
    to provoke it, such as `a GPU`; what needs nothing is provoked by a program, and shown by `/// error`.
    """

    NAME = "reported"
    SHAPE = "/// reported | https://thread, then `text:` and `needs:`, then its cause and fix"
    CLASS = "error-entry"
    CONTENT = True
    OPTIONS: ClassVar[dict[str, tuple[Any, Callable[[Any], Any]]]] = {"text": ("", _said), "needs": ("", _said)}

    def build(self, block: Element, content: list[Element]) -> None:
        """Show the text, then cause and fix, then where it was reported and why no program provokes it."""
        address = urlsplit(self.argument) if links.readable(self.argument) else None
        if not address or address.scheme != "https" or not address.netloc:
            raise self.error(f"`{self.argument}` is no address of a report", f"write `{self.SHAPE}`")
        for name, option in self.options.items():
            if name in self.OPTIONS and not option:
                raise self.error(f"`/// {self.NAME}` has no option `{name}`", f"write `{self.SHAPE}`")
        text = self.options["text"]
        ident = f"reported-{slugify(' '.join(text.split()[:WORDS]), '-')}"
        known = used(self.md).reported
        if any(error.id == ident for error in known):
            raise self.error(f"a second error `{ident}` on this page", "remove it, or begin its text elsewhere")
        known.append(Use("", self.argument, place.current().file, ident, text))
        block.set("id", ident)
        holder = sub(block, "div", class_="guide-error highlight language-text")
        holder.text = self.stash(tag("pre", tag("code", html.escape(text, quote=False) + "\n")))
        block.extend(content)
        needs = html.escape(self.options["needs"])
        said = f"Reported in {thread(self.argument)} · provoked by no program here: it needs {needs}"
        sub(block, "p", self.stash(said), class_="guide-stamp")


def thread(address: str) -> str:
    """Return the link to a report as HTML: `owner/name#1` for a thread on GitHub, otherwise its host."""
    parts = urlsplit(address)
    found = THREAD.search(parts.path) if parts.netloc == "github.com" else None
    words = f"{found['repository']}#{found['number']}" if found else parts.netloc
    return tag("a", html.escape(words), href=address)
